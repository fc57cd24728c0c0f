import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { createGateway } from "@jecho/server";
import { expect, inject, test } from "vitest";
import { Inbox, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { place: inject("place"), backoff: { firstMs: 20, mostMs: 100 } };

test("CHAN-10: a channel is the same by each address of its gateway, and by its identity", async () => {
  await using rig = await startRig();
  const { port, identity } = rig.gateway;
  await using producing = connect(`127.0.0.1:${port}`, QUICK);
  await using consuming = connect(`localhost:${port}`, QUICK);
  const seen = new Inbox<string>();
  const names = [
    "a",
    `jecho://127.0.0.1:${port}/a`,
    `jecho://localhost:${port}/a`,
    `jecho://LOCALHOST:${port}/a`,
    `jecho://${identity}/a`,
  ];
  for (const name of names) {
    const channel = consuming.channel(name, Tick);
    expect(channel.name).toBe(name === "a" ? `jecho://localhost:${port}/a` : name);
    await channel.subscribe(({ n }) => seen.put(`${name} ${n}`));
  }
  expect([producing.gateway, consuming.gateway]).toEqual([identity, identity]);
  const producer = await producing.channel(`jecho://localhost:${port}/a`, Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(names.length);
  producer.publish({ n: 5, note: "" });
  expect((await seen.take(names.length)).toSorted()).toEqual(names.map(name => `${name} 5`).toSorted());
  const types = await consuming.channel(`jecho://${identity}/a`).types();
  expect(types.map(({ name }) => name)).toEqual([Tick.name]);
  // Who asked at another address is gone from there.
  await expect.poll(() => rig.gateway.stats().connections).toBe(2);
});

test("CHAN-10: where nobody can be asked, names of this machine with one port are one gateway's", async () => {
  await using rig = await startRig();
  const { port, address } = rig.gateway;
  await using session = connect(address, QUICK);
  // It listens at 127.0.0.1 alone.
  await session.channel(`jecho://[::1]:${port}/a`, Tick).subscribe(() => {});
  for (const nowhere of ["::1", "me@localhost:1", "localhost:1?x", "localhost:1#x", "localhost:99999"])
    expect(() => session.channel(`jecho://${nowhere}/a`)).toThrow(
      expect.objectContaining({ code: "CHANNEL_NAME_INVALID" }),
    );
  await expect(session.channel("jecho://[::1]:1/a", Tick).produce()).rejects.toMatchObject({
    code: "CONNECTION_LOST",
  });
});

test("CHAN-10: a channel of a gateway that does not answer can be tried again", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const open = (name: string, signal?: AbortSignal) =>
    session.channel(name, Tick).subscribe(() => {}, signal === undefined ? {} : { signal });
  await using way = await startCutter(rig.gateway.address);
  way.part();
  await expect(open(`jecho://${way.address}/a`)).rejects.toMatchObject({
    code: "CONNECTION_LOST",
    retry: true,
    message: expect.stringContaining(way.address),
  });
  way.join();
  way.hold();
  const aborting = new AbortController();
  const opening = open(`jecho://${way.address}/a`, aborting.signal);
  aborting.abort(new Error("enough"));
  await expect(opening).rejects.toThrow("enough");
  way.release();
  await (await open(`jecho://${way.address}/a`)).close();
});

test("CHAN-10: what is open goes on at a gateway that is started again, which is known by another identity then", async () => {
  let gateway = await createGateway();
  const { port, identity } = gateway;
  await using session = connect(gateway.address, QUICK);
  const seen = new Inbox<number>();
  const consumer = await session.channel(`jecho://${identity}/a`, Tick).subscribe(({ n }) => seen.put(n));
  await session.channel(`jecho://localhost:${port}/b`, Tick).subscribe(() => {});
  const broken = whenState(consumer, "reconnecting");
  await gateway.close();
  await broken;
  gateway = await createGateway({ port });
  await whenState(consumer, "live");
  expect(gateway.identity).not.toBe(identity);
  expect(session.gateway).toBe(gateway.identity);
  await expect(session.channel(`jecho://${identity}/a`, Tick).produce()).rejects.toMatchObject({
    code: "CHANNEL_ELSEWHERE",
  });
  // An address is asked anew who is there.
  await session.channel(`jecho://localhost:${port}/b`, Tick).subscribe(() => {});
  const producer = await session.channel(`jecho://${gateway.identity}/a`, Tick).produce();
  producer.publish({ n: 7, note: "" });
  expect(await seen.take(1)).toEqual([7]);
  await session.close();
  await gateway.close();
});

test("CHAN-10: a gateway that keeps its history in a file keeps its identity there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  try {
    const identities: string[] = [];
    for (const historyFile of ["a", "a", "b", undefined, undefined]) {
      await using gateway = await createGateway(
        historyFile === undefined ? {} : { historyFile: join(folder, historyFile) },
      );
      expect(gateway.identity).toMatch(/^~[0-9a-f]{24}$/);
      identities.push(gateway.identity);
    }
    expect(identities[0]).toBe(identities[1]);
    expect(new Set(identities).size).toBe(4);
  } finally {
    await rm(folder, { recursive: true });
  }
});
