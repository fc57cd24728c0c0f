/**
 * `node bench/scripts/break-connections.ts [SEED] [MINUTES] [TIER]`: a gateway, a producer that runs no modulators, and consumers that
 * run theirs themselves, in one process, whose connections break every half second. `chaos` does the same to real processes, and takes a
 * hundred times as long to meet what only happens here and there; its checker judges here, too. TIER is that of the consumers' modulators.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Consumer, connect, type EventPlace, type Producer } from "@jecho/client";
import { createGateway, type GatewayOptions } from "@jecho/server";
import { Account, add, emptyVerdict, type Source } from "../src/chaos/checker.ts";
import { Cutter } from "../src/chaos/cutter.ts";
import {
  type Channel,
  ChaosEvent,
  checkOf,
  isKept,
  type MeaningName,
  meaningOf,
  NOTICE,
  NOTICES,
  type Raised,
  URGENT_LIFE,
} from "../src/chaos/event.ts";
import { Random } from "../src/chaos/random.ts";
import { optionsOf, type Way } from "../src/chaos/way.ts";

const [seed = "1", minutes = "5", tier = "hosted"] = process.argv.slice(2);
const FAULTS = 5;
const QUIET_MS = 25_000;
/** So short that producers come back as other ones, too. */
const TIMES = { resumeWindowMs: 1500, heartbeatMs: 1000 };
const CHANNELS: readonly Channel[] = ["chaos/kept", "chaos/live"];
const MEANINGS: readonly MeaningName[] = ["all", "even", "counted", "fourth"];

const random = new Random(Number(seed));
const folder = await mkdtemp(join(tmpdir(), "jecho-breaks-"));
const gatewayOptions: GatewayOptions = { ...TIMES, historyFile: join(folder, "history") };
let gateway = await createGateway(gatewayOptions);
const { port } = gateway;
const ways = { producer: await Cutter.start(port), consumer: await Cutter.start(port) };
const quick = { backoff: { firstMs: 20, mostMs: 100 }, onError: () => {} };
const way: Way = { place: "here", tier: tier as Way["tier"] };
const producing = connect(`127.0.0.1:${ways.producer.port}`, {
  name: "producer",
  ...quick,
  ...optionsOf(way, false),
});
const consuming = connect(`127.0.0.1:${ways.consumer.port}`, {
  name: "consumer",
  ...quick,
  ...optionsOf(way, true),
});

/** A producer's usual or urgent events on a channel. */
interface Line {
  readonly producer: Producer<Raised>;
  readonly source: Source;
}

const lines: Line[] = [];
for (const channel of CHANNELS) {
  const history = isKept(channel) ? { history: { events: 1_000_000 } } : {};
  const producer = (await producing.channel(channel, ChaosEvent).produce(history)) as Producer<Raised>;
  for (const life of [1, URGENT_LIFE + 1]) {
    const counts = { due: 0, raised: 0, isOver: false, marks: [] };
    lines.push({ producer, source: { producer: 1, life, channel, serves: false, ...counts } });
  }
}

let isRaising = false;

function raise(): void {
  for (const { producer, source } of isRaising ? lines : []) {
    const { life, raised: n, marks } = source;
    const isUrgent = life >= URGENT_LIFE;
    if (isUrgent && random.next() < 0.7) continue;
    try {
      const event = { producer: 1, life, n, first: n, count: 0, check: checkOf(1, life, n) };
      if (isUrgent) producer.publishUrgent(event);
      else producer.publish(event);
      marks.push({ n, atMs: performance.now() });
      source.raised++;
      source.due++;
    } catch {
      // Its queue is full while it has no connection: the same event again, later.
    }
  }
}

/** A consumer that is to be there at any time. */
class Seat {
  readonly channel: Channel;
  readonly account: Account;
  readonly #meaning: MeaningName;
  #consumer: Consumer<Raised> | undefined;

  constructor(channel: Channel, meaning: MeaningName) {
    this.channel = channel;
    this.account = new Account(`${channel} ${meaning}`, channel, meaningOf(meaning));
    this.#meaning = meaning;
  }

  async open(from?: EventPlace): Promise<void> {
    const { modulator, as, of } = meaningOf(this.#meaning);
    const name = of === undefined ? this.channel : `${this.channel}#${of}`;
    const note = (...numbers: number[]): void => this.account.take(Uint32Array.from([0, ...numbers]), 0);
    this.#consumer = await consuming
      .channel(name, ChaosEvent)
      .subscribe(({ producer, life, n, first, count }) => note(producer, life, first, n, count), {
        onMissed: ({ events }) => note(NOTICE, NOTICES.missed, events, 0, 0),
        onRestart: () => note(NOTICE, NOTICES.restarted, 1, 0, 0),
        onError: () => {},
        ...(modulator !== undefined && { modulator }),
        ...(as !== undefined && { as }),
        ...(from !== undefined && { from }),
      });
  }

  /** Goes on at its place as another consumer. */
  async reopen(): Promise<void> {
    // A consumer has no place before any event.
    if (this.#consumer?.place === undefined) return;
    await this.#consumer.close();
    this.account.moved();
    await this.open(this.#consumer.place);
  }
}

const seats = CHANNELS.flatMap(channel => MEANINGS.map(meaning => new Seat(channel, meaning)));
for (const seat of seats) {
  await seat.open();
  seat.account.subscribed(0);
}

const some = (): Cutter => random.pick([ways.producer, ways.consumer]);

const FAULT_KINDS = {
  cut: () => some().cut(),
  silence: () => some().silence(),
  async away() {
    const cutter = some();
    cutter.refuses = true;
    cutter.cut();
    await delay(random.between(0, 2500));
    cutter.refuses = false;
  },
  async delay() {
    const cutter = some();
    cutter.delayMs = random.between(100, 1500);
    await delay(random.between(0, 2000));
    cutter.heal();
  },
  async restart() {
    await gateway.close();
    await delay(random.between(0, 300));
    gateway = await createGateway({ ...gatewayOptions, port });
  },
  // Events on a channel without history that are raised while nobody listens are nobody's.
  reopen: () => random.pick(seats.filter(({ channel }) => isKept(channel))).reopen(),
} satisfies Record<string, () => unknown>;
type FaultKind = keyof typeof FAULT_KINDS;
const KINDS = Object.keys(FAULT_KINDS) as FaultKind[];

const sourcesOf = (channel: Channel): Source[] =>
  lines.map(({ source }) => source).filter(source => source.channel === channel);
const raising = setInterval(raise, 2);
const until = performance.now() + Number(minutes) * 60_000;
const sum = emptyVerdict();
let faults = 0;
while (performance.now() < until) {
  isRaising = true;
  const done: FaultKind[] = [];
  for (let i = 0; i < FAULTS; i++) {
    const first = random.pick(KINDS);
    const second = random.next() < 0.4 ? random.pick(KINDS.filter(kind => kind !== first)) : undefined;
    done.push(first, ...(second === undefined ? [] : [second]));
    await Promise.all([FAULT_KINDS[first](), second && FAULT_KINDS[second]()]);
    await delay(random.between(0, 600));
  }
  faults += done.length;
  isRaising = false;
  for (const cutter of Object.values(ways)) cutter.heal();
  await producing.flush();
  const quiet = performance.now() + QUIET_MS;
  const isOwed = (): boolean => seats.some(({ account, channel }) => account.owed(sourcesOf(channel)) > 0);
  while (isOwed() && performance.now() < quiet) await delay(50);
  for (const { account, channel } of seats) {
    const { verdict, notes } = account.close(sourcesOf(channel), true, true);
    add(sum, verdict);
    const { lostUntold, duplicated, reordered, restartedUntold, corrupt } = verdict;
    if (lostUntold + duplicated + reordered + restartedUntold + corrupt > 0)
      console.log(`after ${faults} faults, the last ones ${done.join(", ")}\n${notes.join("\n")}`);
  }
}
clearInterval(raising);
console.log(`seed ${seed}: ${faults} faults`, sum);
await Promise.all([producing.close(), consuming.close()]);
for (const cutter of Object.values(ways)) cutter.close();
await gateway.close();
await rm(folder, { recursive: true });
