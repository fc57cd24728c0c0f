import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type JechoError, type Session, type } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

const options = { place: inject("place"), backoff: { firstMs: 20, mostMs: 100 } };

/** The numbers that come on channel `a` of a session. */
async function numbersAt(session: Session): Promise<Inbox<number>> {
  const inbox = new Inbox<number>();
  await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n));
  return inbox;
}

test("CON-2: sessions of one process share a connection, and where one ends the others go on", async () => {
  await using rig = await startRig();
  const { address } = rig.gateway;
  await using first = connect(address, options);
  await using second = connect(address, options);
  const [one, two] = [await numbersAt(first), await numbersAt(second)];
  expect(rig.gateway.stats().connections).toBe(1);
  const producer = await rig.session().channel("a", Tick).produce();
  await expect.poll(() => producer.demand.consumers).toBe(2);
  producer.publish({ n: 1, note: "" });
  await Promise.all([one.take(1), two.take(1)]);
  await first.close();
  expect(second.status.state).toBe("live");
  await expect.poll(() => producer.demand.consumers).toBe(1);
  producer.publish({ n: 2, note: "" });
  expect(await two.take(2)).toEqual([1, 2]);
  expect(one.all).toEqual([1]);
  await using third = connect(address, options);
  await third.ready();
  expect(rig.gateway.stats().connections).toBe(2);
  await Promise.all([second.close(), third.close()]);
  await using fourth = connect(address, options);
  const four = await numbersAt(fourth);
  producer.publish({ n: 3, note: "" });
  expect(await four.take(1)).toEqual([3]);
});

test("CON-2: a session that wants its connection otherwise has one of its own", async () => {
  await using rig = await startRig();
  const { address } = rig.gateway;
  const others = [{ name: "a viewer" }, { modulators: { most: 0 } }, { backoff: { firstMs: 30 } }, {}];
  const sessions = others.map(other => connect(address, { ...options, ...other }));
  await Promise.all(sessions.map(session => session.ready()));
  expect(rig.gateway.stats().connections).toBe(4);
  // What it raises waits in a queue of its own, whoever shares the connection.
  sessions.push(connect(address, { ...options, queue: { bytes: 1 << 16 } }));
  await Promise.all(sessions.map(session => session.ready()));
  expect(rig.gateway.stats().connections).toBe(4);
  await Promise.all(sessions.map(session => session.close()));
});

test("a session's name stands in the gateway's audit log", async () => {
  const auditFile = join(await mkdtemp(join(tmpdir(), "jecho-")), "audit.jsonl");
  await using rig = await startRig({ auditFile });
  await rig.session({ name: "weather station 7" }).ready();
  await rig.session({ name: "" }).ready();
  const programs = async (): Promise<(string | undefined)[]> =>
    Array.from((await readFile(auditFile, "utf8")).matchAll(/"program":"(.*?)"/g), ([, name]) => name);
  await expect.poll(programs).toEqual(["weather station 7", ""]);
});

test("CHAN-5: what a session raises comes to another one of its process without the wire, and crosses it once", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const elsewhere = rig.session();
  const away = new Inbox<number>();
  for (const _ of [1, 2]) await elsewhere.channel("a", Tick).subscribe(({ n }) => away.put(n));
  await using producing = connect(way.address, options);
  await using consuming = connect(way.address, options);
  const here = await numbersAt(consuming);
  const producer = await producing.channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(3);
  producer.publish({ n: 1, note: "" });
  expect(await away.take(2)).toEqual([1, 1]);
  // Nothing reaches the gateway now.
  way.hold();
  producer.publish({ n: 2, note: "" });
  expect(await here.take(2)).toEqual([1, 2]);
  expect(away.all).toEqual([1, 1]);
  way.release();
  expect(await away.take(4)).toEqual([1, 1, 2, 2]);
  expect(here.all).toEqual([1, 2]);
});

test("TYPE-12, CON-2: what is wrong with one session's producer is told to that session alone", async () => {
  await using rig = await startRig();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {});
  const told = [new Inbox<JechoError>(), new Inbox<JechoError>()] as const;
  const [first, second] = told.map(({ put }) =>
    connect(rig.gateway.address, { ...options, onError: put }),
  ) as [Session, Session];
  await second.channel("b", Tick).produce();
  await first.channel("a", type("Odd", { n: "string" })).produce();
  expect(await told[0].take(1)).toMatchObject([{ code: "TYPE_UNREAD" }]);
  // What the gateway answers later comes later.
  await second.channel("b").types();
  expect(rig.gateway.stats().connections).toBe(2);
  expect([told[0].all.length, told[1].all.length]).toEqual([1, 0]);
  await Promise.all([first.close(), second.close()]);
});
