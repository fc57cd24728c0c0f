import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type Session, type SubscribeOptions, type } from "@jecho/client";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "./run-command.ts";
import { Workers } from "./workers-rig.ts";

const Count = type("Count", { n: "uint32" });
/** Names of channels: all but certainly, each of two workers is the home of some. */
const NAMES = Array.from({ length: 6 }, (_, i) => `counts/${i}`);
const KEPT = { history: { events: 100_000 } };
const EVEN = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }
}`,
};
const PAUSE_MS = 2;

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** The beginning of the names of histories' files in a folder of their own. */
async function newHistory(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "history");
}

function open(address: string): Session {
  const session = connect(address, { backoff: { firstMs: 20, mostMs: 200 } });
  onTestFinished(() => session.close());
  return session;
}

async function hear(session: Session, name: string, options: SubscribeOptions = {}) {
  const all: number[] = [];
  const consumer = await session.channel(name, Count).subscribe(({ n }) => void all.push(n), options);
  return { all, consumer };
}

test("CLU-10, HIST-5: when all workers have been started again the past of each channel is there, and only with as many of them", async () => {
  const history = await newHistory();
  const first = await Workers.start("--history", history);
  const session = open(first.address);
  for (const name of NAMES) {
    const producer = await session.channel(name, Count).produce(KEPT);
    for (const n of upTo(50)) await producer.publishWhenReady({ n });
  }
  await session.flush();
  const { url } = session.channel("counts/0");
  await session.close();
  expect(await first.end()).toBe(0);

  for (const [words, why] of [
    [["--workers", "3"], "has the channels of gateway 1 of 2, and this is gateway 1 of 3"],
    [[], "was begun with --workers"],
  ] as const) {
    const refused = await runCommand(["gateway", "--port", "0", ...words, "--history", history]);
    expect(refused.err).toContain(why);
    expect(refused.code).not.toBe(0);
  }
  const second = await Workers.start("--history", history);
  const later = open(second.address);
  for (const name of NAMES) {
    const { all, consumer } = await hear(later, name, { from: 1 });
    await expect.poll(() => all).toEqual(upTo(50));
    expect(consumer.stats.missed).toBe(0);
  }
  expect(later.channel("counts/0").url.split("?")[0]).toBe(url.split("?")[0]);
  await later.close();
  expect(await second.end()).toBe(0);
});

test("CLU-10, HIST-5: workers that are exchanged under load lose no event, nor the past", async () => {
  const workers = await Workers.start("--history", await newHistory());
  const [producing, consuming] = [open(workers.address), open(workers.address)];
  const channels = await Promise.all(
    NAMES.map(async (name, i) => {
      const producer = await producing.channel(name, Count).produce(KEPT);
      const isFiltered = i === 0;
      const heard = await hear(consuming, name, isFiltered ? { modulator: EVEN } : {});
      return { name, isFiltered, producer, ...heard };
    }),
  );
  let isOver = false;
  const raised = Promise.all(
    channels.map(async ({ producer }) => {
      let n = 0;
      for (; !isOver; await delay(PAUSE_MS)) await producer.publishWhenReady({ n: ++n });
      // The filter lets the last one through, too.
      do await producer.publishWhenReady({ n: ++n });
      while (n % 2 !== 0);
      return n;
    }),
  );
  process.kill(workers.child.pid as number, "SIGHUP");
  await expect.poll(() => workers.said).toContain("2 workers have been exchanged");
  isOver = true;
  for (const [i, count] of (await raised).entries()) {
    const { name, isFiltered, all, consumer } = channels[i] as (typeof channels)[number];
    const late = await hear(consuming, name, { from: 1 });
    await expect.poll(() => [all.at(-1), late.all.at(-1)]).toEqual([count, count]);
    expect(all).toEqual(upTo(count).filter(n => !isFiltered || n % 2 === 0));
    expect(late.all).toEqual(upTo(count));
    expect([consumer.stats.missed, late.consumer.stats.missed]).toEqual([0, 0]);
  }
  await Promise.all([producing.close(), consuming.close()]);
  expect(await workers.end()).toBe(0);
});
