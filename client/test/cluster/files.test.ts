import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway } from "@jecho/server";
import { expect, onTestFinished, test } from "vitest";
import { EVEN, Inbox, Tick } from "../rig.ts";
import { ClusterRig } from "./rig.ts";

/** Names of channels: all but certainly, each of two gateways is the home of some. */
const NAMES = Array.from({ length: 8 }, (_, i) => `sim/${i}`);

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** The file of each gateway in a folder of their own. */
async function newFiles(): Promise<(index: number) => string> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return index => join(folder, `history-${index}`);
}

test("CLU-10: of gateways with histories in files, channels wait for their home, have their past then, and others go on meanwhile", async () => {
  const fileOf = await newFiles();
  const rig = await ClusterRig.start(2, "TCP", index => ({ historyFile: fileOf(index) }));
  const [producing, consuming] = [rig.session(0), rig.session(1)];
  const hear = async (name: string, options = {}) => {
    const inbox = new Inbox<number>();
    const consumer = await consuming.channel(name, Tick).subscribe(({ n }) => inbox.put(n), options);
    return { inbox, consumer };
  };
  const channels = await Promise.all(
    NAMES.map(async name => {
      const heard = await hear(name);
      const filtered = await hear(name, { modulator: EVEN });
      const producer = await producing
        .channel(name, Tick)
        .produce({ history: { events: 1000, durable: true } });
      return { name, producer, filtered, ...heard };
    }),
  );
  const raise = (from: number, to: number): void => {
    for (const { producer } of channels) for (let n = from; n <= to; n++) producer.publish({ n, note: "" });
  };
  raise(1, 20);
  for (const { inbox } of channels) expect(await inbox.take(20)).toEqual(upTo(20));
  const staying = rig.gateways[0]?.stats().channels as number;
  expect(staying).toBeGreaterThan(0);
  expect(staying).toBeLessThan(NAMES.length);
  await rig.gateways[1]?.close();
  raise(21, 40);
  const going = () => channels.filter(({ inbox }) => inbox.all.at(-1) === 40);
  await expect.poll(() => going().length).toBe(staying);
  for (const { name, inbox } of going()) {
    const late = await hear(name, { from: 1 });
    expect(await late.inbox.take(40)).toEqual(upTo(40));
    expect(inbox.all).toEqual(upTo(40));
  }
  const { name, inbox } = going()[0] as (typeof channels)[number];
  (await rig.session(0).channel(name, Tick).produce()).publish({ n: 41, note: "" });
  expect(await inbox.take(41)).toEqual(upTo(41));
  const waiting = channels.filter(one => one.inbox.all.length < 40);
  for (const { inbox } of waiting) expect(inbox.all).toEqual(upTo(20));
  await rig.begin(1);
  for (const { filtered } of channels) {
    await expect.poll(() => filtered.inbox.all).toEqual(upTo(40).filter(n => n % 2 === 0));
    expect(filtered.consumer.stats.missed).toBe(0);
  }
  for (const { name, inbox, consumer } of waiting) {
    await expect.poll(() => inbox.all).toEqual(upTo(40));
    expect(consumer.stats.missed).toBe(0);
    const late = await hear(name, { from: 1 });
    expect(await late.inbox.take(40)).toEqual(upTo(40));
  }
});

test("CLU-10: a history's file is one gateway's of so many, and by NATS there is none", async () => {
  const fileOf = await newFiles();
  const rig = await ClusterRig.start(2, "TCP", index => ({ historyFile: fileOf(index) }));
  const session = rig.session(0);
  const kept = { history: { events: 10 } };
  for (const name of NAMES) (await session.channel(name, Tick).produce(kept)).publish({ n: 1, note: "" });
  await session.flush();
  await Promise.all(rig.gateways.map(gateway => gateway.close()));
  for (const index of [0, 1]) {
    const why = `has the channels of gateway ${index + 1} of 2, and this is gateway 1 of 1`;
    await expect(createGateway({ historyFile: fileOf(index) })).rejects.toMatchObject({
      code: "ARGUMENT_INVALID",
      message: expect.stringContaining(why),
    });
  }
  const cluster = { nats: { servers: ["nats://127.0.0.1:1"] } };
  await expect(createGateway({ historyFile: fileOf(0), cluster })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("joined by NATS keep no history in a file"),
  });
});
