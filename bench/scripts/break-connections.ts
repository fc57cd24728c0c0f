/**
 * `node bench/scripts/break-connections.ts [SEED] [MINUTES] [TIER] [WHERE] [KIND,...] [SLOW]`: a gateway, two producers, and consumers whose modulators run with
 * the consumers, with the producers, or beside the gateway (WHERE: consumers, producers, gateway), in one process but for the last of these. Connections break every half second, consumers go on in new sessions, producers begin anew,
 * and others come for a moment, of which some do not answer the gateway for a while, and some go behind a burst, or as their connection breaks.
 * `chaos` does the same to real processes, and takes a hundred times as long to meet what only happens here and there; its checker judges
 * here, too. TIER is that of the consumers' modulators. With SLOW, a policy of their queues, the consumers do not keep up.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Consumer, connect, type EventPlace, type Producer, type Session } from "@jecho/client";
import { startModulating } from "@jecho/client/modulating";
import { createGateway, type GatewayOptions } from "@jecho/server";
import { Account, add, emptyVerdict, type Judgement, type Source } from "../src/chaos/checker.ts";
import { Cutter } from "../src/chaos/cutter.ts";
import {
  type Channel,
  ChaosEvent,
  checkOf,
  DIRECT,
  EVEN_NAME,
  isKept,
  MARK,
  type MeaningName,
  meaningOf,
  NOTICE,
  NOTICES,
  type Raised,
  URGENT_LIFE,
} from "../src/chaos/event.ts";
import { Random } from "../src/chaos/random.ts";
import { optionsOf, type Way } from "../src/chaos/way.ts";

const [seed = "1", minutes = "5", tier = "hosted", where = "consumers", only = "", slow = ""] =
  process.argv.slice(2);
const FAULTS = 5;
const QUIET_MS = 25_000;
/** So short that producers come back as other ones, and that nobody waits for one that does not answer for long, too. */
const TIMES = { resumeWindowMs: 1500, heartbeatMs: 1000, requestTimeoutMs: 3000 };
const CHANNELS: readonly Channel[] = ["chaos/kept", "chaos/live"];
const MEANINGS: readonly MeaningName[] = ["all", "even", "counted", "gathered", "third", "fourth", "named"];

/** Time that a slow consumer takes for an event, events that it works on at once, and bytes that may wait for it: some 40 events. */
const SLOW_MS = 20;
const SLOW_AT_ONCE = 4;
const SLOW_BYTES = 2 << 10;
const queue =
  slow === ""
    ? {}
    : {
        inboxEvents: SLOW_AT_ONCE,
        queue: { whenFull: slow as "drop-oldest" | "latest" | "disconnect", limitBytes: SLOW_BYTES },
      };

const random = new Random(Number(seed));
const folder = await mkdtemp(join(tmpdir(), "jecho-breaks-"));
const gatewayOptions: GatewayOptions = {
  ...TIMES,
  historyFile: join(folder, "history"),
  ...(where === "gateway" && { modulating: startModulating }),
};
let gateway = await createGateway(gatewayOptions);
const { port } = gateway;
const ways = { producer: await Cutter.start(port), consumer: await Cutter.start(port) };
const quick = { backoff: { firstMs: 20, mostMs: 100 }, onError: () => {} };
const way: Way = { place: "here", tier: tier as Way["tier"] };
/** A session of consumers, by the channel that they are on: those of one that is kept may go on in another session. */
const consuming = (name: Channel): Session =>
  connect(`127.0.0.1:${ways.consumer.port}`, { name, ...quick, ...optionsOf(way, "breaks") });
const sessions: Record<string, Session> = Object.fromEntries(CHANNELS.map(name => [name, consuming(name)]));

/** A producer's usual or urgent events on a channel. */
interface Line {
  readonly producer: Producer<Raised>;
  readonly source: Source;
  /** Step from one number to the next: what is published into the channel of even events is even. */
  readonly step: number;
}

const sources: Source[] = [];
/** A process that produces on both channels, and is another one with each life. */
class Producing {
  readonly #number: number;
  readonly #port: number;
  #life = 0;
  #session: Session | undefined;
  lines: Line[] = [];

  constructor(number: number, { port }: Cutter) {
    this.#number = number;
    this.#port = port;
  }

  /** Ends its life, if it has one, and begins the next. */
  async begin(): Promise<void> {
    await this.close();
    this.#life++;
    this.#session = connect(`127.0.0.1:${this.#port}`, {
      name: `producer ${this.#number}`,
      ...quick,
      ...optionsOf(way, "breaks", where === "producers"),
    });
    for (const channel of CHANNELS) {
      const history = isKept(channel) ? { history: { events: 1_000_000 } } : {};
      this.#add(channel, await this.#session.channel(channel, ChaosEvent).produce(history), 1);
      this.#add(channel, await this.#session.channel(`${channel}#${EVEN_NAME}`, ChaosEvent).produce(), 2);
    }
  }

  #add(channel: Channel, producer: unknown, step: number): void {
    const number = this.#number + (step === 1 ? 0 : DIRECT);
    for (const life of [this.#life, URGENT_LIFE + this.#life]) {
      const counts = { due: 0, raised: 0, isOver: false, marks: [] };
      const source = {
        producer: number,
        life,
        channel,
        serves: false,
        isDirect: number >= DIRECT,
        ...counts,
      };
      this.lines.push({ producer: producer as Producer<Raised>, source, step });
      sources.push(source);
    }
  }

  async flush(): Promise<void> {
    await this.#session?.flush();
  }

  /** Resolves when there is a connection: without one nobody can say what was raised. */
  async ready(): Promise<void> {
    await this.#session?.ready();
  }

  /** Ends its life, if it has one. */
  async close(): Promise<void> {
    for (const { source } of this.lines) source.isOver = true;
    this.lines = [];
    await this.#session?.close();
  }
}

const producing = [1, 2].map(number => new Producing(number, ways.producer));
const visiting = new Set<Producing>();
for (const one of producing) await one.begin();

let isRaising = false;

function raise(): void {
  if (!isRaising) return;
  for (const line of [...producing, ...visiting].flatMap(({ lines }) => lines))
    if (line.source.life < URGENT_LIFE || random.next() > 0.7) raiseOn(line);
}

function raiseOn({ producer, source, step }: Line): void {
  const { producer: number, life, raised, marks } = source;
  const n = Math.ceil(raised / step) * step;
  try {
    const filler = new Uint8Array(0);
    const event = { producer: number, life, n, first: n, count: 0, check: checkOf(number, life, n), filler };
    if (life >= URGENT_LIFE) producer.publishUrgent(event);
    else producer.publish(event);
    marks.push({ n, atMs: performance.now() });
    source.due += n + 1 - source.raised;
    source.raised = n + 1;
  } catch {
    // Its queue is full while it has no connection: the same event again, later.
  }
}

/** A consumer that is to be there at any time. */
class Seat {
  readonly channel: Channel;
  account: Account;
  readonly #meaning: MeaningName;
  #consumer: Consumer<Raised> | undefined;
  /** Number of its openings: what an earlier session hands on is not the seat's. */
  #openings = 0;

  constructor(channel: Channel, meaning: MeaningName) {
    this.channel = channel;
    this.#meaning = meaning;
    this.account = this.#newAccount();
  }

  #newAccount(): Account {
    return new Account(
      `${this.channel} ${this.#meaning}`,
      this.channel,
      meaningOf(this.#meaning),
      slow !== "",
    );
  }

  async open(from?: EventPlace | number): Promise<void> {
    const opening = ++this.#openings;
    const { modulator, as, of } = meaningOf(this.#meaning);
    const name = of === undefined ? this.channel : `${this.channel}#${of}`;
    const note = (...numbers: number[]): void => {
      if (opening === this.#openings) this.account.take(Uint32Array.from([0, ...numbers]), 0);
    };
    const take = ({ producer, life, n, first, count }: Raised): unknown => {
      note(producer, life, first, n, count);
      return slow === "" ? undefined : delay(SLOW_MS);
    };
    this.#consumer = await (sessions[this.channel] as Session).channel(name, ChaosEvent).subscribe(take, {
      ...queue,
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
    if (!this.hasPlace) return;
    await this.#consumer?.close();
    await this.goOn();
  }

  /** Ends, and another one begins with what is raised from then on. */
  async beginAnew(): Promise<void> {
    await this.#consumer?.close();
    judge(this.account.close([], true, true));
    this.account = this.#newAccount();
    await this.open();
    this.account.subscribed(performance.now());
  }

  /** Goes on in another session, of which its last one knows nothing. */
  async goOn(): Promise<void> {
    this.account.moved();
    // One that has no place yet is owed all that there is.
    await this.open(this.#consumer?.place ?? 1);
  }

  /** Has its modulator changed for an equal one that nobody has. */
  change(): void {
    const { modulator } = meaningOf(this.#meaning);
    if (modulator === undefined || this.#consumer === undefined) return;
    this.account.changes();
    this.#consumer.reset({ modulator: { ...modulator, key: randomUUID() } }).catch(() => {});
  }

  get mayChange(): boolean {
    return this.#meaning === "third" || this.#meaning === "fourth";
  }

  /** A consumer has no place before any event. */
  get hasPlace(): boolean {
    return this.#consumer?.place !== undefined;
  }

  get isBehind(): boolean {
    return meaningOf(this.#meaning).of !== undefined;
  }

  get sources(): Source[] {
    return sources.filter(({ channel }) => channel === this.channel);
  }
}

const sum = emptyVerdict();
let faults = 0;
/** Faults of this round. */
let done: string[] = [];

function judge({ verdict, notes }: Judgement): void {
  add(sum, verdict);
  const { lostUntold, duplicated, reordered, restartedUntold, corrupt } = verdict;
  if (lostUntold + duplicated + reordered + restartedUntold + corrupt > 0)
    console.log(`after ${faults} faults, the last ones ${done.join(", ")}\n${notes.join("\n")}`);
}

const seats = CHANNELS.flatMap(channel => MEANINGS.map(meaning => new Seat(channel, meaning)));
for (const seat of seats) {
  await seat.open();
  seat.account.subscribed(0);
}

/** The consumers of the channel with history go on in another session, as if their process had been killed. */
async function restartConsumers(): Promise<void> {
  const name = CHANNELS.find(isKept) as Channel;
  const session = sessions[name] as Session;
  ways.consumer.refuses = true;
  ways.consumer.cut();
  const closed = session.close();
  ways.consumer.refuses = false;
  sessions[name] = consuming(name);
  const kept = seats.filter(({ channel }) => channel === name);
  // Derived channels have their names once their modulators are there.
  await Promise.all(kept.filter(({ isBehind }) => !isBehind).map(seat => seat.goOn()));
  await Promise.all(kept.filter(({ isBehind }) => isBehind).map(seat => seat.goOn()));
  await closed;
}

let moving = Promise.resolve();
/** Moves consumers when all that were moved before are open. */
function move(act: () => Promise<void>): Promise<void> {
  moving = moving.then(act);
  return moving;
}

let visitors = 0;
let isRestarted = false;
/** Sources of producers that have gone in this round. */
const gone: Source[] = [];

/** A producer comes, and goes after a moment; what it sends may be held as it joins, so that it does not answer. */
async function visit(): Promise<void> {
  const cutter = await Cutter.start(port);
  const visitor = new Producing(100 + visitors++, cutter);
  const isHeld = random.next() < 0.7;
  if (isHeld) void cutter.holdAt(MARK);
  const begun = visitor.begin();
  await Promise.race([begun, delay(isHeld ? random.pick([100, 1000, 2500, 5000]) : 5000)]);
  cutter.heal();
  await begun;
  visiting.add(visitor);
  await delay(random.between(50, 1000));
  visiting.delete(visitor);
  const burst = random.pick([0, 0, 30, 300]);
  for (const line of visitor.lines) for (let i = 0; i < burst; i++) raiseOn(line);
  const leavesAtOnce = random.next() < 0.5;
  if (leavesAtOnce && random.next() < 0.5) cutter.cut();
  if (!leavesAtOnce) {
    await visitor.flush();
    await visitor.ready();
  }
  gone.push(...visitor.lines.map(({ source }) => source));
  await visitor.close();
  cutter.close();
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
    isRestarted = true;
    await gateway.close();
    await delay(random.between(0, 300));
    gateway = await createGateway({ ...gatewayOptions, port });
  },
  // Events on a channel without history that are raised while nobody listens are nobody's.
  reopen: () => move(() => random.pick(seats.filter(({ channel }) => isKept(channel))).reopen()),
  again: () => move(restartConsumers),
  visit,
  anew: () => move(() => random.pick(seats.filter(({ channel }) => !isKept(channel))).beginAnew()),
  change: () => move(async () => random.pick(seats.filter(({ mayChange }) => mayChange)).change()),
} satisfies Record<string, () => unknown>;
type FaultKind = keyof typeof FAULT_KINDS;
const KINDS = (Object.keys(FAULT_KINDS) as FaultKind[]).filter(
  kind => only === "" || only.split(",").includes(kind),
);

const raising = setInterval(raise, 2);
isRaising = true;
// A modulator behind another has no past: what came before is not owed to a consumer of it that goes on without a place.
while (seats.some(seat => seat.isBehind && !seat.hasPlace)) await delay(20);
const until = performance.now() + Number(minutes) * 60_000;
while (performance.now() < until) {
  isRaising = true;
  done = [];
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
  await Promise.all(producing.map(one => one.flush()));
  // Nobody knows any more what a gateway that has ended had of producers that have gone, where no file has it.
  if (isRestarted) for (const source of gone) if (!isKept(source.channel)) source.due = 0;
  // Nobody wants what is published into a derived channel while its consumers are not known.
  const mayBeUnknown = isRestarted || done.some(kind => kind === "away" || kind === "silence");
  if (mayBeUnknown) for (const source of gone) if (source.isDirect) source.due = 0;
  const quiet = performance.now() + QUIET_MS;
  const isOwed = (): boolean => seats.some(({ account, sources }) => account.owed(sources) > 0);
  while (isOwed() && performance.now() < quiet) await delay(50);
  for (const { account, sources } of seats) judge(account.close(sources, true, true));
  isRestarted = false;
  gone.length = 0;
  if (random.next() < 0.5) await random.pick(producing).begin();
}
clearInterval(raising);
console.log(`seed ${seed}: ${faults} faults`, sum);
await Promise.all([...producing, ...Object.values(sessions)].map(one => one.close()));
for (const cutter of Object.values(ways)) cutter.close();
await gateway.close();
await rm(folder, { recursive: true });
