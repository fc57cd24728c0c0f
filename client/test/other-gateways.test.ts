import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, modulatorFrom, type Session } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { createGateway, createToken, createTokenKeys, type Gateway } from "@jecho/server";
import { expect, inject, test } from "vitest";
import { Inbox, moe, PATIENT_GATEWAY, type Rig, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { place: inject("place"), backoff: { firstMs: 20, mostMs: 100 } };

const another = (options = {}): Promise<Gateway> => createGateway({ ...PATIENT_GATEWAY, ...options });
const connectionsOf = (gateway: Gateway) => () => gateway.stats().connections;
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

/** The name of a channel at that gateway, as a user of it hands it on. */
async function handedOn(gateway: Gateway, name: string): Promise<string> {
  await using there = connect(gateway.address, { ...QUICK, name: "who hands on" });
  await there.ready();
  return there.channel(name).url;
}

/** A session at a gateway, and a producer at another one. */
async function producerAt(rig: Rig, gateway: Gateway, session: Session = rig.session()) {
  return session.channel(await handedOn(gateway, "a"), Tick).produce();
}

test("CHAN-11: all channels of another gateway share a connection, which ends with the last endpoint there", async () => {
  await using there = await another();
  await using rig = await startRig();
  const session = rig.session();
  const got = new Inbox<string>();
  const names = ["a", "b", "a#odd"];
  const at = await Promise.all(names.map(name => handedOn(there, name)));
  expect(at).toEqual([
    `jecho://${there.identity}/a?at=${there.address}`,
    `jecho://${there.identity}/b?at=${there.address}`,
    `jecho://${there.identity}/a?at=${there.address}#odd`,
  ]);
  await expect.poll(connectionsOf(there)).toBe(0);
  const odd = modulatorFrom((event: typeof Tick.event) => event.n % 2 === 1);
  const [a, b, derived] = at as [string, string, string];
  const here = await session.channel("a", Tick).subscribe(({ n }) => got.put(`here ${n}`));
  const consumers = [
    await session.channel(a, Tick).subscribe(({ n }) => got.put(`odd ${n}`), { modulator: odd, as: "odd" }),
    await session.channel(derived, Tick).subscribe(({ n }) => got.put(`derived ${n}`)),
    await session.channel(b, Tick).subscribe(({ n }) => got.put(`b ${n}`)),
  ];
  const producers = await Promise.all([a, b].map(name => session.channel(name, Tick).produce()));
  expect(consumers.map(({ channel }) => channel)).toEqual([a, derived, b]);
  expect(there.stats().connections).toBe(1);
  expect((await session.channel(a).types()).map(({ name }) => name)).toEqual([Tick.name]);
  for (const producer of producers) for (const n of [1, 2]) await producer.publishSync({ n, note: "" });
  expect(got.all.toSorted()).toEqual(["b 1", "b 2", "derived 1", "odd 1"]);
  // Nothing of it is at this session's own gateway.
  expect((await session.overview()).of.map(({ name }) => name)).toEqual(["a"]);
  for (const endpoint of [...consumers, ...producers]) await endpoint.close();
  await expect.poll(connectionsOf(there)).toBe(0);
  const again = await session.channel(b, Tick).subscribe(() => {});
  expect(there.stats().connections).toBe(1);
  await again.close();
  await here.close();
});

test("CHAN-11, RES-1: at another gateway nothing is lost while modulators change and connections break", async () => {
  await using there = await another();
  await using way = await startCutter(there.address);
  await using rig = await startRig();
  const session = rig.session();
  const name = `jecho://${there.identity}/a?at=${way.address}`;
  const producer = await producerAt(rig, there);
  const got = new Inbox<number>();
  const all = (least: number) =>
    modulatorFrom(
      (event: typeof Tick.event, { parameters }: { parameters: { least: number } }) =>
        event.n >= parameters.least,
      { parameters: { least } },
    );
  const consumer = await session.channel(name, Tick).subscribe(({ n }) => got.put(n), { modulator: all(-1) });
  const states: string[] = [];
  session.onStatus(({ state }) => states.push(state));
  const rounds = 4;
  for (let round = 0; round < rounds; round++) {
    const publish = (from: number): void => {
      for (let n = from; n < from + 50; n++) producer.publish({ n, note: "" });
    };
    publish(round * 100);
    const reset = consumer.reset({ modulator: all(-2 - round) });
    publish(round * 100 + 50);
    await reset;
    const broken = whenState(consumer, "reconnecting");
    way.cut();
    await broken;
    await whenState(consumer, "live");
  }
  expect(await got.take(rounds * 100)).toEqual(upTo(rounds * 100));
  // The session's own gateway has nothing to do with it.
  expect([session.status.state, ...states]).toEqual(["live"]);
});

test("CHAN-11: a name leads to no gateway but that of its identity, and to none that nobody says the address of", async () => {
  await using there = await another();
  await using rig = await startRig();
  const session = rig.session();
  const { identity, address } = there;
  const refusals = [
    [`jecho://${identity}/a`, "neither the name nor the session's neighbours say where"],
    [`jecho://${identity}/a?at=${rig.gateway.address}`, rig.gateway.identity],
    [`jecho://${rig.gateway.identity.replace(/.$/, x => (x === "0" ? "1" : "0"))}/a?at=${address}`, identity],
  ] as const;
  for (const [name, why] of refusals) {
    const channel = session.channel(name, Tick);
    const elsewhere = { code: "CHANNEL_ELSEWHERE", message: expect.stringContaining(why) };
    await expect(channel.subscribe(() => {})).rejects.toMatchObject(elsewhere);
    await expect(channel.produce()).rejects.toMatchObject(elsewhere);
    await expect(channel.types()).rejects.toMatchObject(elsewhere);
    await expect(session.at(name)).rejects.toMatchObject(elsewhere);
  }
  expect(await session.at("a")).toBe(session);
  await expect.poll(connectionsOf(there)).toBe(0);
});

test("CHAN-11: who says another gateway's identity gets nothing that is meant for that one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  try {
    const historyFile = join(folder, "true");
    await (await another({ historyFile })).close();
    await cp(historyFile, join(folder, "false"));
    await using there = await another({ historyFile });
    await using impostor = await another({ historyFile: join(folder, "false") });
    expect(impostor.identity).toBe(there.identity);
    await using rig = await startRig();
    const session = rig.session();
    const misled = await session.channel(`jecho://${impostor.address}/a`, Tick).produce();
    await expect(session.channel(`jecho://${there.identity}/a`, Tick).produce()).rejects.toMatchObject({
      code: "CHANNEL_ELSEWHERE",
    });
    const producer = await session.channel(`jecho://${there.address}/a`, Tick).produce();
    expect([connectionsOf(there)(), connectionsOf(impostor)()]).toEqual([1, 1]);
    // What the application says itself goes before what stands in a name.
    const knowing = rig.session({ neighbours: [{ address: there.address }] });
    const got = new Inbox<number>();
    for (const at of ["", `?at=${impostor.address}`])
      await knowing.channel(`jecho://${there.identity}/a${at}`, Tick).subscribe(({ n }) => got.put(n));
    misled.publish({ n: 1, note: "" });
    await session.flush();
    await producer.publishSync({ n: 2, note: "" });
    expect(got.all).toEqual([2, 2]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("CHAN-11, RIGHT-1: no token is shown at an address that only a name says; neighbours get theirs", async () => {
  const { signing, checking } = await createTokenKeys();
  const tokens = { keys: checking };
  const tokenOf = (subject: string) =>
    createToken(signing, { subject, can: ["publish:**", "subscribe:**"], seconds: 1000 });
  await using rig = await startRig({ tokens });
  await using there = await another({ tokens });
  const name = await (async () => {
    await using from = connect(there.address, { ...QUICK, token: await tokenOf("eve") });
    await from.ready();
    return from.channel("a").url;
  })();
  const strange = rig.session({ token: await tokenOf("ana") });
  // It would have been taken there, too.
  const refused = { code: "TOKEN_INVALID" };
  await expect(strange.channel(name, Tick).produce()).rejects.toMatchObject(refused);
  await expect(strange.channel(name, Tick).subscribe(() => {})).rejects.toMatchObject(refused);
  expect(strange.status.state).toBe("live");
  const known = rig.session({
    token: await tokenOf("ana"),
    neighbours: [{ address: there.address, token: () => tokenOf("bob") }],
  });
  const got = new Inbox<string | undefined>();
  const short = `jecho://${there.identity}/a`;
  await known.channel(short, Tick).subscribe((_, { by }) => got.put(by));
  const producer = await known.channel(name, Tick).produce();
  await producer.publishSync({ n: 1, note: "" });
  expect(got.all).toEqual(["bob"]);
  expect([known.subject, (await known.at(name)).subject]).toEqual(["ana", "bob"]);
  expect(known.channel(short).url).toBe(name);
  for (const neighbours of [
    [{ address: "~" }],
    [{ address: "a:1", token: 7 }],
    [{ address: "a:1", name: "b" }],
  ])
    expect(() => rig.session({ neighbours: neighbours as never })).toThrow(
      expect.objectContaining({ code: "ARGUMENT_INVALID" }),
    );
});

test("CHAN-11: modulators at another gateway read objects that are shared there", async () => {
  await using there = await another();
  await using rig = await startRig();
  const session = rig.session();
  const name = await handedOn(there, "a");
  const producer = await producerAt(rig, there);
  const above = moe("enqueue(event) { if (event.n >= this.objects.limit.least) super.enqueue(event); }");
  const limit = session.share({ least: 2 });
  const reading = (object: typeof limit) =>
    session
      .channel(name, Tick)
      .subscribe(({ n }) => got.put(n), { modulator: { ...above, objects: { limit: object } } });
  const got = new Inbox<number>();
  await expect(reading(limit)).rejects.toMatchObject({ code: "OBJECT_UNKNOWN" });
  const at = await session.at(name);
  expect([at.address, at.gateway]).toEqual([there.address, there.identity]);
  const consumer = await reading(at.share({ least: 2 }));
  for (const n of [1, 2, 3]) await producer.publishSync({ n, note: "" });
  expect(got.all).toEqual([2, 3]);
  // The application has that session, and says itself when it is over.
  await consumer.close();
  await producer.close();
  await at.flush();
  expect(at.status.state).toBe("live");
  await session.close();
  expect(at.status.state).toBe("closed");
});

test("CHAN-11: a session with endpoints at another gateway is not handed over", async () => {
  await using there = await another();
  await using rig = await startRig();
  const session = rig.session();
  await session.channel("a", Tick).subscribe(() => {});
  const consumer = await session.channel(await handedOn(there, "a"), Tick).subscribe(() => {});
  await expect(session.handover()).rejects.toMatchObject({ code: "HANDOVER_INVALID" });
  await consumer.close();
  await expect(session.handover()).resolves.toMatchObject({ token: expect.any(String) });
});

test("CHAN-11: flush and close wait for what was raised at other gateways, and a broken one is told", async () => {
  await using rig = await startRig();
  const there = await another();
  const got = new Inbox<number>();
  const session = rig.session();
  const name = await handedOn(there, "a");
  await using consuming = connect(there.address, { ...QUICK, name: "consuming" });
  await consuming.channel("a", Tick).subscribe(({ n }) => got.put(n));
  const producer = await session.channel(name, Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 0, note: "" });
  await session.flush();
  for (const n of [1, 2, 3]) producer.publish({ n, note: "" });
  await session.close();
  await expect.poll(connectionsOf(there)).toBe(1);
  expect(await got.take(4)).toEqual(upTo(4));
  const second = rig.session();
  await second.ready();
  await consuming.close();
  await there.close();
  await expect(second.channel(name, Tick).produce()).rejects.toMatchObject({
    code: "CONNECTION_LOST",
    retry: true,
  });
});
