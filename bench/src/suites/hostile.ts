import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createToken, createTokenKeys } from "@jecho/server";
import { runChaos } from "../chaos/chaos.ts";
import { sumOf } from "../chaos/checker.ts";
import { FAULT_NAMES, OF_NATS } from "../chaos/faults.ts";
import { rowsContained } from "../hostile/contained.ts";
import { FLOODS, PUSHES } from "../hostile/pushes.ts";
import { COLLECTS, GatewayProcess, Worker } from "../processes.ts";
import { atLeast, atMost } from "../report.ts";
import { ratios } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";
import type { Latencies } from "../workers/neighbours.ts";

const CONSUMERS = 5;
const EVERY_MS = 5;
const SUBJECT = "stranger";
/** Limits that a stranger reaches in a second or two. What is not here has its default. */
const LIMITS = {
  connections: 300,
  connectionsPerAddress: 250,
  connectionsPerSubject: 200,
  framesPerSecond: 20_000,
  bytesPerSecond: 64 << 20,
  endpointsPerConnection: 10_000,
  channels: 10_000,
  namesPerChannel: 100,
  typesPerChannel: 50,
  keptBytes: 64 << 20,
  connectionQueueBytes: 32 << 20,
  queueTotalBytes: 64 << 20,
  blockMs: 1000,
  historyTotalBytes: 64 << 20,
};
/**
 * Bytes by which the gateway may grow while one limit is pushed: history and queues of the bounds above and 64 MiB beyond these, twice a message and 16 MiB
 * that wait for their turn, and what the engine has not collected.
 */
const GROWTH_BYTES = 256 << 20;

/** Options of Node by which `deploy/` starts a gateway. */
const AS_DEPLOYED = ["--max-semi-space-size=1"];
/** Events by whose end the gateway has let go of what a stranger that leaves had. */
const PARTING_EVENTS = 100;

/** Rounds of a pair of gateways, and those before, in which their engines compile. */
const ROUNDS = 3;
const WARM_ROUNDS = 2;

/** Effect of strangers, hostile modulators and faults on those who behave. */
export const hostile: Suite = {
  name: "hostile",
  about: "hostile modulators, floods, limits that are pushed, faults: who is hurt; what rights cost",
  limitMs: 3_600_000,
  async run(context) {
    await rowsContained(context);
    await floods(context);
    await limits(context);
    await rights(context);
    await faults(context);
  },
};

async function faults({ report, quick, chaos }: Context): Promise<void> {
  const all = FAULT_NAMES.filter(name => !OF_NATS.has(name));
  const kinds = quick ? all.slice(0, 1) : all;
  const seed = chaos.seed ?? Math.floor(Math.random() * 2 ** 32);
  report.note(`faults: the seed is ${seed}`);
  const done = await runChaos({
    seed,
    kinds,
    faults: kinds.length,
    atOnce: 1,
    patienceMs: quick ? 3000 : 15_000,
  });
  const survived = [...done.kinds.values()].filter(({ ended }) => ended === 0).length;
  const verdict = sumOf(done.verdicts);
  report.metric("faults.survived", survived, `of ${kinds.length}`, atLeast(kinds.length));
  report.metric("faults.lost_untold", verdict.lostUntold - verdict.late, "events", atMost(0));
  for (const failure of done.failures) report.note(`faults: ${failure}`);
}

/** The latencies of those who behave, with and without a flood beside them, and how long the gateway works on it at a time. */
async function floods({ report, quick }: Context): Promise<void> {
  const events = quick ? 100 : 1000;
  const gateway = new Worker("turning-gateway", [], AS_DEPLOYED);
  const neighbours = new Worker("neighbours");
  const stranger = new Worker("stranger");
  try {
    const port = await gateway.call<number>("listen");
    await neighbours.call("open", { port, consumers: CONSUMERS });
    const tick = (count = events): Promise<Latencies> =>
      neighbours.call("tick", { events: count, everyMs: EVERY_MS });
    const push = (name: string, ms: number): Promise<void> =>
      stranger.call("push", { port, token: "", name, ms });
    await tick();
    const [without, during, turns]: [number[], number[], number[]] = [[], [], []];
    let missing = 0;
    for (const name of Object.keys(FLOODS)) {
      const before = await tick();
      const pushing = push(name, events * EVERY_MS);
      const beside = await tick();
      await pushing;
      await stranger.call("leave");
      await gateway.call("watch");
      await push(name, quick ? 300 : 3000);
      await stranger.call("leave");
      await tick(PARTING_EVENTS);
      const turnMs = await gateway.call<number>("longest");
      without.push(before.p99Ms);
      during.push(beside.p99Ms);
      turns.push(turnMs);
      missing += beside.missing;
      report.note(
        `faults.p99_of_others: ${name}: ${beside.p99Ms.toFixed(1)} ms, without ${before.p99Ms.toFixed(1)} ms; the longest turn ${turnMs.toFixed(1)} ms; ${beside.missing} events missing`,
      );
    }
    report.metric("faults.p99_of_others", ratios(during, without), "x", atMost(1.5));
    report.metric("faults.longest_turn", Math.max(...turns), "ms", atMost(100));
    report.metric("faults.missing_of_others", missing, "events", atMost(0));
  } finally {
    await Promise.all([gateway, neighbours, stranger].map(process => process.stop()));
  }
}

interface Keys {
  readonly folder: string;
  readonly file: string;
  token(subject: string): Promise<string>;
}

async function makeKeys(): Promise<Keys> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-hostile-"));
  const { signing, checking } = await createTokenKeys();
  const file = join(folder, "keys.json");
  await writeFile(file, JSON.stringify(checking));
  return { folder, file, token: subject => createToken(signing, { subject, can: ["*:**"] }) };
}

/** Each limit of SECURITY.md's table is pushed by a stranger. */
async function limits({ report, quick }: Context): Promise<void> {
  const keys = await makeKeys();
  const options = Object.entries(LIMITS).flatMap(([name, value]) => ["--limit", `${name}=${value}`]);
  const gateway = await GatewayProcess.start(["--keys", keys.file, ...options], 0, COLLECTS);
  const stranger = new Worker("stranger");
  try {
    const token = await keys.token(SUBJECT);
    const names = Object.keys(PUSHES);
    let bounded = 0;
    for (const name of names) {
      const before = gateway.memoryBytes();
      await stranger.call("push", { port: gateway.port, token, name, ms: quick ? 500 : 30_000 });
      gateway.collect();
      const grownMiB = Math.round((gateway.memoryBytes() - before) / 2 ** 20);
      const isBounded = !gateway.ended && grownMiB * 2 ** 20 <= GROWTH_BYTES;
      if (isBounded) bounded++;
      report.note(`limits.bounded: ${name}: ${isBounded ? "" : "NOT "}bounded, ${grownMiB} MiB more`);
      await stranger.call("leave");
    }
    report.metric("limits.bounded", bounded, `of ${names.length}`, atLeast(names.length));
  } finally {
    await Promise.all([gateway, stranger].map(process => process.stop()));
    await rm(keys.folder, { recursive: true });
  }
}

/**
 * The CPU that a delivery costs a gateway with keys, against one without. Two processes of the same program differ by some percent, as their engines compile it: so
 * each pair is new.
 */
async function rights({ report, quick }: Context): Promise<void> {
  const keys = await makeKeys();
  const costs: [number[], number[]] = [[], []];
  try {
    for (let pair = 0; pair < (quick ? 3 : 15); pair++) {
      // Whoever is first has colder caches.
      const order = pair % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
      const cost = await pairCosts(keys, order, quick ? 300 : 1500);
      for (const i of order) costs[i].push(cost[i]);
    }
    report.metric("auth.cost_per_message", ratios(costs[1], costs[0]), "x", atMost(1.03));
  } finally {
    await rm(keys.folder, { recursive: true });
  }
}

/** CPU in ms of a delivery at a new gateway without keys and at one with them, which take turns in this order. */
async function pairCosts(
  keys: Keys,
  order: readonly (0 | 1)[],
  rushMs: number,
): Promise<readonly [number, number]> {
  const gateways = [await GatewayProcess.start(), await GatewayProcess.start(["--keys", keys.file])] as const;
  const crowds = [new Worker("neighbours"), new Worker("neighbours")] as const;
  try {
    for (const i of order) {
      const token = i === 1 ? await keys.token("ana") : undefined;
      await crowds[i].call("open", { port: gateways[i].port, consumers: CONSUMERS, token });
    }
    const cpuMs = [0, 0] as [number, number];
    const events = [0, 0] as [number, number];
    for (let round = -WARM_ROUNDS; round < ROUNDS; round++)
      for (const i of order) {
        const before = gateways[i].threadsCpuMs();
        const delivered = await crowds[i].call<number>("rush", rushMs);
        if (round < 0) continue;
        cpuMs[i] += gateways[i].threadsCpuMs() - before;
        events[i] += delivered;
      }
    return [cpuMs[0] / events[0], cpuMs[1] / events[1]];
  } finally {
    await Promise.all([...gateways, ...crowds].map(process => process.stop()));
  }
}
