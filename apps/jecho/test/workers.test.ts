import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Consumer, connect, type Session, type } from "@jecho/client";
import { expect, onTestFinished, test } from "vitest";
import { runCommand } from "./run-command.ts";
import { Workers } from "./workers-rig.ts";

const Count = type("Count", { n: "uint32" });
type Counts = { readonly n: number };
const EVEN = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }
}`,
};
const CONSUMERS = 8;
const CHANNELS = 16;
const PAUSE_MS = 1;

/** A consumer in a session of its own, and all that it had. */
interface Heard {
  readonly all: number[];
  readonly consumer: Consumer<Counts>;
  /** The times that its connection broke. */
  readonly cuts: () => number;
}

/** A producer that raises as long as it is told to, and consumers of which some are at each worker. */
async function share(address: string) {
  const sessions: Session[] = [];
  const open = (): Session => {
    const session = connect(address, { backoff: { firstMs: 20, mostMs: 200 } });
    sessions.push(session);
    return session;
  };
  const leave = async (): Promise<void> => {
    await Promise.all(sessions.splice(0).map(session => session.close()));
  };
  onTestFinished(leave);
  const hear = async (options = {}): Promise<Heard> => {
    const session = open();
    let cuts = 0;
    session.onStatus(({ state }) => {
      if (state === "reconnecting") cuts++;
    });
    const all: number[] = [];
    const consumer = await session.channel("counts", Count).subscribe(({ n }) => void all.push(n), options);
    return { all, consumer, cuts: () => cuts };
  };
  const producer = await open().channel("counts", Count).produce();
  const plain = await Promise.all(Array.from({ length: CONSUMERS }, () => hear()));
  const filtered = await hear({ modulator: EVEN });
  const allThere = () => expect.poll(() => producer.demand.total).toBe(CONSUMERS + 1);
  await allThere();
  let raised = 0;
  const raiseUntil = async (isOver: () => boolean): Promise<void> => {
    for (; !isOver(); await delay(PAUSE_MS)) await producer.publishWhenReady({ n: ++raised });
    await allThere();
    // The filter lets the last one through, too.
    do await producer.publishWhenReady({ n: ++raised });
    while (raised % 2 !== 0);
    for (const { all } of [...plain, filtered]) await expect.poll(() => all.at(-1)).toBe(raised);
  };
  return { plain, filtered, raiseUntil, leave };
}

/** Workers whose ports for operators follow `port`. Another test may have one of these: then others are taken. */
async function startWithOperations(): Promise<{ port: number; workers: Workers }> {
  for (;;) {
    const server = createServer().listen(0);
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    try {
      return { port, workers: await Workers.start("--server", "ws", "--operations-port", String(port)) };
    } catch (error) {
      if (!String(error).includes("another program has this port")) throw error;
    }
  }
}

const isInOrder = (all: readonly number[]): boolean =>
  all.every((n, i) => i === 0 || n > (all[i - 1] as number));

test("CLU-1, CLU-3: workers of one gateway share channels, and are exchanged under load without the loss of an event", async () => {
  const workers = await Workers.start();
  const { plain, filtered, raiseUntil, leave } = await share(workers.address);
  const former = workers.processes;
  const reloading = runCommand(["reload", String(workers.child.pid)]);
  await raiseUntil(() => workers.said.includes("2 workers have been exchanged"));
  expect(await reloading).toMatchObject({ code: 0 });
  expect(workers.processes.filter(pid => former.includes(pid))).toEqual([]);
  const wanted = Array.from({ length: plain[0]?.all.at(-1) ?? 0 }, (_, i) => i + 1);
  for (const { all, consumer, cuts } of plain) {
    expect(all).toEqual(wanted);
    expect(consumer.stats.missed).toBe(0);
    expect(cuts()).toBeGreaterThan(0);
  }
  expect(filtered.all).toEqual(wanted.filter(n => n % 2 === 0));
  expect(filtered.consumer.stats.missed).toBe(0);
  await leave();
  expect(await workers.end()).toBe(0);
});

test("CLU-3, DEL-4: a worker that is killed is started again, and costs its clients a reconnection", async () => {
  const workers = await Workers.start();
  const { plain, raiseUntil, leave } = await share(workers.address);
  for (const [i, pid] of workers.processes.entries()) {
    process.kill(pid, "SIGKILL");
    await raiseUntil(() => workers.processes[i] !== pid);
  }
  // What the killed one had confirmed and not handed on is told.
  const last = plain[0]?.all.at(-1) as number;
  for (const { all, consumer, cuts } of plain) {
    expect(isInOrder(all)).toBe(true);
    expect(all.length + consumer.stats.missed).toBe(last);
    expect(cuts()).toBeGreaterThan(0);
  }
  await leave();
  expect(await workers.end()).toBe(0);
});

test("CLU-3: a worker that hangs is exchanged like the others", async () => {
  const workers = await Workers.start("--drain", "0");
  const former = workers.processes;
  // A stopped process takes no signal but the last one.
  process.kill(former[1] as number, "SIGSTOP");
  const reloading = runCommand(["reload", String(workers.child.pid)]);
  await expect.poll(() => workers.said, { timeout: 60_000 }).toContain("2 workers have been exchanged");
  expect(await reloading).toMatchObject({ code: 0 });
  expect(workers.processes.filter(pid => former.includes(pid))).toEqual([]);
  expect(await workers.end()).toBe(0);
});

test("CLU-3, MOE-18: each worker has a process for modulators of its own, whichever port others share", async () => {
  const workers = await Workers.start("--modulators");
  const session = connect(workers.address, { modulators: { most: 0 } });
  onTestFinished(() => session.close());
  // As many as have homes at both, all but certainly.
  const channels = Array.from({ length: CHANNELS }, (_, i) => session.channel(`counts/${i}`, Count));
  const heard = await Promise.all(
    channels.map(async channel => {
      const producer = await channel.produce();
      const all: number[] = [];
      const consumer = await channel.subscribe(({ n }) => void all.push(n), { modulator: EVEN });
      return { producer, all, consumer };
    }),
  );
  expect(new Set(heard.flatMap(({ consumer }) => consumer.placements.map(({ at }) => at)))).toEqual(
    new Set(["gateway"]),
  );
  for (const { producer } of heard) for (const n of [1, 2, 3, 4]) producer.publish({ n });
  for (const { all } of heard) await expect.poll(() => all).toEqual([2, 4]);
  await session.close();
  expect(await workers.end()).toBe(0);
});

test("what belongs to one process cannot go with workers, and a port that somebody has is not shared", async () => {
  const address = "127.0.0.1:7222";
  const cluster = ["--cluster", address, "--cluster-self", address, "--cluster-secret", "x"];
  const misuse = await runCommand(["gateway", "--workers", "2", ...cluster]);
  expect(misuse).toMatchObject({ code: 2, err: expect.stringContaining("--workers cannot go with") });
  const { port, workers } = await startWithOperations();
  for (const worker of [port, port + 1])
    expect(await fetch(`http://127.0.0.1:${worker}/readyz`)).toMatchObject({ status: 200 });
  const [, taken = ""] = workers.address.split(":");
  const second = await runCommand(["gateway", "--workers", "2", "--port", taken]);
  expect(second).toMatchObject({ code: 1, err: expect.stringContaining("another program has this port") });
  expect(await workers.end()).toBe(0);
});
