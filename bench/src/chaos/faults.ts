import { setTimeout as delay } from "node:timers/promises";
import type { TestNats } from "@jecho/e2e/nats";
import { childrenOf, descendantsOf } from "../processes.ts";
import type { Source } from "./checker.ts";
import type { ConsumerParty } from "./consumer-party.ts";
import { type Cutter, UNNOTICED_MS } from "./cutter.ts";
import { fill, flipBit, whyNoDisk } from "./disk.ts";
import { MARK } from "./event.ts";
import type { ProducerParty } from "./producer-party.ts";
import type { Random } from "./random.ts";
import type { World } from "./world.ts";

/** Disturbs a world, and leaves everybody there as they were: running, and connected as far as that is up to them. */
type Fault = (world: World, random: Random) => Promise<void>;

/** Longer than anybody waits for another one to come back after a new connection. */
const ABOVE_HOLD_MS = 2700;
/** Time in which everybody goes on raising and steering, at connections that are dead and that nobody knows to be: up to what heartbeats take to show it. */
const UNHEARD_MS = [0, 3000] as const;
/** Longer than modulators, events and names are kept for whoever is away. */
const AWAY_MS = [31_000, 40_000] as const;
/** The network's time corrects a clock; somebody sets one by hand; a battery is empty. */
const CLOCK_STEPS_MS = [500, 20_000, 3_600_000, 1e10] as const;
/** Some are too short to be noticed, some longer than a connection is silent before it is given up, some longer than a hold. */
const STOPS_MS = [200, 1000, 3500, 6500] as const;
/** How long gateways do not reach one another: unnoticed, noticed, and longer than anything is kept. */
const APART_MS = [300, 2000, 5000, 12_000, 33_000] as const;
/** Ways to part gateways: their connections are refused, wait, or are dead and nobody is told. */
const PARTINGS: readonly ((cutter: Cutter) => void)[] = [
  cutter => {
    cutter.refuses = true;
    cutter.cut();
  },
  cutter => cutter.hold(),
  cutter => {
    cutter.silence();
    cutter.hold();
  },
];
/** How long a machine sleeps: less than connections may be silent, and longer than anything is kept. */
const SLEEPS_MS = [300, 3500, 12_000, 40_000] as const;

export const FAULTS = {
  "gateway-killed": (world, random) => restartGateway(world, random, "SIGKILL"),
  "gateway-told-to-end": (world, random) => restartGateway(world, random, "SIGTERM"),
  "gateways-restarted-in-turn": async (world, random) => {
    for (const gateway of world.gateways) {
      await restartGateway(world, random, "SIGTERM", async () => {}, gateway);
      await world.back();
    }
  },
  "gateway-killed-again": async (world, random) => {
    const times = random.whole(2, 3);
    for (let i = 0; i < times; i++) {
      // In the middle of everybody's return.
      if (i > 0) await delay(random.between(0, 1500));
      await restartGateway(world, random, "SIGKILL");
    }
  },
  "gateway-stopped": (world, random) => {
    const gateway = random.pick(world.gateways);
    // A stopped gateway's channels get another home, which has nothing of producers that go meanwhile.
    if (world.gateways.length > 1) world.gatewayEnds(false);
    return stop(() => gateway.pid, random);
  },
  "nats-killed": (world, random) =>
    withNats(world, async nats => {
      await nats.kill();
      await delay(random.pick(STOPS_MS));
      await nats.restart();
    }),
  "nats-stopped": (world, random) =>
    withNats(world, async nats => {
      nats.signal("SIGSTOP");
      await delay(random.pick(STOPS_MS));
      nats.signal("SIGCONT");
    }),
  "gateways-cut": async (world, random) => {
    for (const cutter of parted(world, random)) cutter.cut();
  },
  "gateways-apart": (world, random) =>
    world.exclusively(world.between, async () => {
      const cutters = parted(world, random);
      const part = random.pick(PARTINGS);
      for (const cutter of cutters) part(cutter);
      // Each part may be the home of all channels meanwhile, and the others of a home have nothing of its producers that go.
      world.gatewayEnds(false);
      const ms = random.pick(APART_MS);
      world.returnsIn(ms);
      await delay(ms);
      for (const cutter of cutters) cutter.heal();
    }),
  "gateways-delayed": (world, random) =>
    world.exclusively(world.between, async () => {
      const cutters = parted(world, random);
      const slow = random.pick([{ delayMs: 100 }, { delayMs: 1000 }, { trickleBytes: 512 }]);
      for (const cutter of cutters) Object.assign(cutter, slow);
      world.gatewayEnds(false);
      world.returnsIn(ABOVE_HOLD_MS);
      await delay(random.between(1000, 6000));
      for (const cutter of cutters) cutter.heal();
    }),
  "producer-stopped": (world, random) =>
    withOne(world, world.producers, random, ({ worker }) => stop(() => worker.pid, random)),
  "consumer-stopped": (world, random) =>
    withOne(world, world.consumers, random, ({ worker }) => stop(() => worker.pid, random)),
  "application-busy": async (world, random) => {
    const ms = random.pick(STOPS_MS);
    const block = ({ worker }: ProducerParty | ConsumerParty): Promise<void> => worker.call("block", ms);
    if (random.next() < 0.5) await withOne(world, world.consumers, random, block);
    else await withOne(world, world.producers, random, block);
  },
  "host-stopped": (world, random) => stop(() => hostOf(world, random), random),
  "modulating-stopped": (world, random) => {
    const gateway = random.pick(world.gateways);
    return stop(() => gateway.modulating, random);
  },
  "stopped-for-long": (world, random) =>
    withOne(world, [...world.producers, ...world.consumers], random, async ({ worker }) => {
      const ms = random.between(...AWAY_MS);
      world.returnsIn(ms);
      await stopAll([worker.pid, ...descendantsOf(worker.pid)], ms, random);
    }),
  "machine-asleep": async (world, random) => {
    const ms = random.pick(SLEEPS_MS);
    world.returnsIn(ms);
    if (world.gateways.length > 1) world.gatewayEnds(false);
    await stopAll(descendantsOf(process.pid), ms, random);
    // Some machines' clocks go on meanwhile; where there are tokens, which are good for seconds, those of all that starts later would have to.
    const aheadMs = world.hasKeys ? 0 : random.pick([0, 3_600_000]);
    for (const party of [...world.gateways, ...world.producers, ...world.consumers])
      if (aheadMs > 0) await party.setClock(aheadMs);
  },
  "clock-set": (world, random) =>
    withOne(world, [...world.gateways, ...world.producers, ...world.consumers], random, party =>
      party.setClock(random.pick([-1, 1]) * random.pick(CLOCK_STEPS_MS)),
    ),
  cut: async (world, random) => {
    const cutters = random.next() < 0.3 ? world.cutters : [random.pick(world.cutters)];
    for (const cutter of cutters) cutter.cut();
  },
  "silent-cut": async (world, random) => {
    world.returnsIn(UNNOTICED_MS);
    random.pick(world.cutters).silence();
    await delay(random.between(...UNHEARD_MS));
  },
  "half-open": async (world, random) => {
    world.returnsIn(UNNOTICED_MS);
    random.pick(world.cutters).halve(random.pick(["near", "far"]));
    await delay(random.between(...UNHEARD_MS));
  },
  "away-for-long": (world, random) =>
    withOne(world, [...world.producers, ...world.consumers], random, async ({ cutter }) => {
      const ms = random.between(...AWAY_MS);
      world.returnsIn(ms);
      cutter.refuses = true;
      cutter.cut();
      await delay(ms);
      cutter.heal();
    }),
  delayed: async (world, random) => {
    const cutter = random.pick(world.cutters);
    cutter.delayMs = ABOVE_HOLD_MS;
    // Both greet each other, and then the producer opens its channels.
    world.returnsIn(4 * ABOVE_HOLD_MS);
    if (random.next() < 0.5) cutter.cut();
    else await restartGateway(world, random, "SIGKILL");
    await delay(random.between(6000, 10_000));
    cutter.heal();
  },
  trickle: async (world, random) => {
    const cutter = random.pick(world.cutters);
    cutter.trickleBytes = random.pick([64, 512, 2048]);
    if (random.next() < 0.5) cutter.cut();
    await delay(random.between(1000, 4000));
    cutter.heal();
  },
  "host-killed": (world, random) => killAgain(() => hostOf(world, random), random),
  "modulating-killed": (world, random) => {
    const gateway = random.pick(world.gateways);
    return killAgain(() => gateway.modulating, random);
  },
  "modulating-host-killed": (world, random) => {
    const gateway = random.pick(world.gateways);
    return killAgain(() => childrenOf(gateway.modulating ?? 0)[0], random);
  },
  "producer-killed": (world, random) =>
    withOne(world, world.producers, random, async producer => {
      world.lifeEnded(await producer.kill());
      await producer.start();
    }),
  "consumer-killed": (world, random) => withOne(world, world.consumers, random, consumer => consumer.kill()),
  "producer-opened-anew": (world, random) =>
    withOne(world, world.producers, random, producer => producer.reopen()),
  "consumer-opened-anew": (world, random) =>
    withOne(world, world.consumers, random, consumer => consumer.reopen(random)),
  "modulator-changed": (world, random) =>
    withOne(world, world.consumers, random, consumer => consumer.change(random)),
  handover: (world, random) =>
    withOne(world, world.consumers.slice(-1), random, consumer => consumer.handOver(() => {})),
  "handover-and-kill": async (world, random) => {
    let killed: Promise<void> = Promise.resolve();
    await withOne(world, world.consumers.slice(-1), random, consumer =>
      consumer.handOver(() => {
        if (random.next() < 0.5) consumer.cutter.cut();
        else killed = restartGateway(world, random, "SIGKILL");
      }),
    );
    await killed;
  },
  "producer-hangs-as-it-joins": (world, random) =>
    world.visit({}, async visitor => {
      const reached = visitor.cutter.holdAt(MARK);
      const started = visitor.start();
      started.catch(() => {});
      await Promise.race([reached, started]);
      await delay(random.pick([1500, 6000, 11_000]));
      visitor.cutter.heal();
      await started;
      return stayAndGo(visitor, random);
    }),
  "short-lived-producer": (world, random) =>
    world.visit({ modulates: random.next() < 0.7 }, async visitor => {
      await visitor.start();
      return visitor.goAfter(random.pick([1, 200, 2000]), {
        flushes: true,
        closes: random.next() < 0.7,
      });
    }),
  "producer-closes-behind-a-burst": (world, random) =>
    world.visit({ modulates: random.next() < 0.5 }, async visitor => {
      await visitor.start();
      return visitor.goAfter(random.pick([1000, 5000]), { flushes: false, closes: true });
    }),
  burst: (world, random) =>
    withOne(world, world.producers, random, producer =>
      producer.nudge(random.pick([500, 2000]), random.pick([500, 2000])),
    ),
  "producer-opened-anew-behind-a-burst": (world, random) =>
    withOne(world, world.producers, random, async producer => {
      await producer.nudge(random.pick([500, 2000]));
      await producer.reopen();
    }),
  "modulator-changed-around-a-close": (world, random) =>
    withOne(world, world.consumers, random, async consumer => {
      const changes = async (): Promise<void> => {
        await delay(random.pick([0, 0, 100, 1000]));
        await consumer.change(random);
      };
      await world.visit({ modulates: random.next() < 0.5 }, async visitor => {
        await visitor.start();
        const changed = random.next() < 0.5 ? changes() : undefined;
        const ended = await visitor.goAfter(random.pick([1, 200, 2000]), { flushes: false, closes: true });
        await (changed ?? changes());
        return ended;
      });
    }),
  "producer-without-service": (world, random) =>
    world.visit({ serves: false }, async visitor => {
      await visitor.start();
      return stayAndGo(visitor, random);
    }),
  "source-begins-while-away": (world, random) =>
    withOne(world, world.consumers, random, async consumer => {
      consumer.cutter.refuses = true;
      consumer.cutter.cut();
      await world.visit({ modulates: random.next() < 0.7 }, async visitor => {
        await visitor.start();
        await delay(random.pick([500, 7000]));
        consumer.cutter.heal();
        return stayAndGo(visitor, random);
      });
    }),
  "subscribed-while-producer-away": (world, random) =>
    withOne(world, world.producers, random, async ({ cutter }) => {
      cutter.refuses = true;
      cutter.cut();
      await withOne(world, world.consumers, random, async consumer => {
        await consumer.reopen(random);
        if (random.next() < 0.5) await consumer.change(random);
      });
      await delay(random.pick([0, 500, 7000]));
      cutter.heal();
    }),
  stranger: (world, random) =>
    world.visit({ isLater: true, modulates: random.next() < 0.7 }, async visitor => {
      await visitor.start();
      return stayAndGo(visitor, random);
    }),
  "reader-of-the-past": world => world.read(),
  "disk-full": async (world, random) => {
    const empty = await fill(world.folder);
    world.historyLost();
    await delay(random.between(500, 3000));
    const restarted = random.next() < 0.3 ? restartGateway(world, random, "SIGKILL") : undefined;
    await delay(random.between(500, 3000));
    await empty();
    await restarted;
  },
  "bit-flipped-in-file": async (world, random) => {
    const bits = random.pick([1, 1, 8, 64]);
    await restartGateway(world, random, random.pick(["SIGKILL", "SIGTERM"]), async () => {
      for (let i = 0; i < bits; i++) await flipBit(world.historyFile, random);
    });
    await world.read();
  },
  "bit-flipped-on-wire": async (world, random) => {
    const cutter = random.pick(world.cutters);
    const bits = random.whole(1, 3);
    for (let i = 0; i < bits; i++) {
      cutter.flip(random.pick(["near", "far"]), random.next());
      await delay(random.between(50, 500));
    }
  },
} satisfies Record<string, Fault>;
export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

/** Faults between gateways. */
export const OF_CLUSTERS: ReadonlySet<FaultName> = new Set([
  "gateways-cut",
  "gateways-apart",
  "gateways-delayed",
]);

/** Faults of the server that joins the gateways. */
export const OF_NATS: ReadonlySet<FaultName> = new Set(["nats-killed", "nats-stopped"]);

/** Why this cannot be done here; undefined where it can. */
export function whyNot(kind: FaultName): string | undefined {
  return kind === "disk-full" ? whyNoDisk() : undefined;
}

async function restartGateway(
  world: World,
  random: Random,
  signal: "SIGKILL" | "SIGTERM",
  meanwhile: () => Promise<void> = async () => {},
  gateway = random.pick(world.gateways),
): Promise<void> {
  const awayMs = random.pick([0, 300, 2000]);
  await world.exclusively(gateway, async () => {
    // The next home of a cluster's channels has nothing of their past, and the next gateway has nothing for consumers that are away.
    const isAway = world.consumers.some(
      ({ mayBeAway, areLive, cutter }) => mayBeAway || !areLive || cutter.mayBeDead,
    );
    const isOrderly = await gateway.end(signal);
    world.gatewayEnds(isOrderly && world.gateways.length === 1 && !isAway);
    await delay(awayMs);
    await meanwhile();
    await gateway.start();
  });
}

/** Ways on which nothing is to pass: between two gateways, from one to another, or between one and all others. */
function parted({ between, gateways }: World, random: Random): Cutter[] {
  const of = random.pick(gateways);
  const theirs = between.filter(({ ends }) => ends.includes(of));
  const one = random.pick(theirs);
  const parted = random.pick([
    theirs,
    theirs.filter(({ ends }) => ends.every(end => one.ends.includes(end))),
    [one],
  ]);
  return parted.map(({ cutter }) => cutter);
}

/** The server that joins the gateways, where there is one. */
async function withNats(world: World, disturb: (nats: TestNats) => Promise<void>): Promise<void> {
  const { nats } = world;
  if (nats !== undefined) await world.exclusively(nats, () => disturb(nats));
}

/** Disturbs one of the parties, which nobody else disturbs meanwhile. */
function withOne<P extends object>(
  world: World,
  parties: readonly P[],
  random: Random,
  disturb: (party: P) => Promise<void>,
): Promise<void> {
  const party = random.pick(parties);
  return world.exclusively(party, () => disturb(party));
}

/** Stops a process for a while. */
async function stop(find: () => number | undefined, random: Random): Promise<void> {
  const ms = random.pick(STOPS_MS);
  const pid = find();
  if (pid === undefined) return;
  signal(pid, "SIGSTOP");
  try {
    await delay(ms);
  } finally {
    signal(pid, "SIGCONT");
  }
}

/** Kills a process, and what comes in its place. */
async function killAgain(find: () => number | undefined, random: Random): Promise<void> {
  const times = random.whole(1, 3);
  for (let i = 0; i < times; i++) {
    if (i > 0) await delay(random.between(200, 1500));
    const pid = find();
    if (pid !== undefined) signal(pid, "SIGKILL");
  }
}

/** Stops processes, which go on one after the other. */
async function stopAll(pids: readonly number[], ms: number, random: Random): Promise<void> {
  for (const pid of pids) signal(pid, "SIGSTOP");
  const left = [...pids];
  try {
    await delay(ms);
  } finally {
    while (left.length > 0) {
      for (const pid of left.splice(random.whole(0, left.length - 1), 1)) signal(pid, "SIGCONT");
      if (random.next() < 0.3) await delay(random.between(0, 300));
    }
  }
}

function hostOf(world: World, random: Random): number | undefined {
  return random.pick(world.producers.filter(({ options }) => options.modulates)).hosts[0];
}

/** Signals a process, which may have ended by itself meanwhile. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {}
}

async function stayAndGo(visitor: ProducerParty, random: Random): Promise<readonly Source[]> {
  await delay(random.between(300, 1500));
  if (random.next() < 0.3) return visitor.kill();
  return visitor.goAfter(1, { flushes: true, closes: true });
}
