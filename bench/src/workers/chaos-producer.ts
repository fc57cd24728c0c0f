// A producer for `chaos`: raises events on all channels without a pause, in each of the ways there are, until it is killed or told to stop.
import { connect, type JechoError, type Producer, type Session } from "@jecho/client";
import {
  type Channel,
  ChaosEvent,
  channelsOf,
  checkOf,
  DIRECT,
  DIRECT_CHANNELS,
  EVEN_NAME,
  isKept,
  LaterChaosEvent,
  type Raised,
  URGENT_LIFE,
} from "../chaos/event.ts";
import { optionsOf, type Way } from "../chaos/way.ts";
import { setClock } from "../clock.ts";
import { block, serve } from "../worker.ts";

export interface StartProducer {
  /** The gateway's, and those of the others that it goes on at. */
  readonly port: number;
  readonly others: readonly number[];
  readonly id: number;
  readonly life: number;
  /** Events that it raises on each channel in a round, and the time from one round to the next. */
  readonly batch: number;
  readonly everyMs: number;
  /** Whether it runs modulators itself. */
  readonly modulates: boolean;
  readonly way: Way;
  /** Whether it offers what modulators need. */
  readonly serves: boolean;
  /** Whether it is a later version of the program, whose events have one field more. */
  readonly isLater: boolean;
}

/** Events that it raised on a channel, and up to where it was told that the gateway has taken them. */
export interface Account {
  readonly channel: Channel;
  readonly producer: number;
  readonly life: number;
  readonly raised: number;
  readonly confirmed: number;
  /** Since the last time. */
  readonly marks: { n: number; atMs: number }[];
}

/** Producers that a process opens on one channel, one after the other, have lives with numbers so far apart. */
const ANEW = 0x400;
const SYNC_TIMEOUT_MS = 300;
/** One synchronous event in so many rounds. */
const SYNC_EVERY = 10;
const NO_FILLER = new Uint8Array(0);
const HISTORY = { history: { events: 2_000_000 } };
const DELEGATE = { delegate: { services: { isEven: (n: number) => n % 2 === 0 } } };

/** Events that are raised on one channel, in one order. */
class Line {
  readonly channel: Channel;
  readonly life: number;
  readonly #producer: Producer<Raised>;
  readonly id: number;
  readonly isUrgent: boolean;
  raised = 0;
  confirmed = 0;
  marks: { n: number; atMs: number }[] = [];

  constructor(channel: Channel, producer: Producer<Raised>, id: number, life: number, isUrgent: boolean) {
    this.channel = channel;
    this.life = isUrgent ? URGENT_LIFE + life : life;
    this.#producer = producer;
    this.id = id;
    this.isUrgent = isUrgent;
  }

  raise(events: number, filler = NO_FILLER): void {
    this.marks.push({ n: this.raised, atMs: Number(process.hrtime.bigint()) / 1e6 });
    for (let i = 0; i < events; i++) {
      // Even ones alone belong where it publishes.
      if (this.isDirect) this.raised += this.raised % 2;
      try {
        if (this.isUrgent) this.#producer.publishUrgent(this.#event(filler));
        else this.#producer.publish(this.#event(filler));
      } catch (error) {
        // The queue is full while there is no connection: the same event again, later.
        if ((error as JechoError).code === "QUEUE_FULL") return;
        throw error;
      }
      this.raised++;
    }
  }

  /** Whether it publishes into the channel of even events. */
  get isDirect(): boolean {
    return this.id >= DIRECT;
  }

  /** All that it raised is taken, and it raises nothing more. */
  close(): Promise<void> {
    return this.#producer.close();
  }

  /** Raises a synchronous event; where the connection breaks meanwhile it fails and still counts. */
  async raiseSync(): Promise<void> {
    const before = this.#producer.stats.events;
    const acknowledged = this.#producer
      .publishSync(this.#event(), { timeoutMs: SYNC_TIMEOUT_MS })
      .catch(() => {});
    // Where its queue is full it is raised later, or not at all.
    const isRaised = this.#producer.stats.events > before;
    if (isRaised) this.raised++;
    await acknowledged;
    if (!isRaised && this.#producer.stats.events > before) this.raised++;
  }

  #event(filler = NO_FILLER): Raised {
    const [producer, life, n] = [this.id, this.life, this.raised];
    return { producer, life, n, first: n, count: 0, check: checkOf(producer, life, n), filler };
  }
}

let session: Session;
let lines: Line[] = [];
/** Lines of producers that were closed. */
const closed: Line[] = [];
let times = 0;
let options: StartProducer;
let running = true;
let ended: Promise<void> = Promise.resolve();

async function open(started: StartProducer): Promise<void> {
  options = started;
  const { port, others, modulates } = started;
  session = connect(`127.0.0.1:${port}`, {
    others: others.map(other => `127.0.0.1:${other}`),
    backoff: { firstMs: 20, mostMs: 200 },
    // Faults make trouble all the time.
    onError: () => {},
    ...optionsOf(started.way, "simulations", modulates),
  });
  lines = await produce();
}

async function produce(): Promise<Line[]> {
  const { id, modulates, serves, isLater } = options;
  const life = options.life + ANEW * times++;
  const opened: Line[] = [];
  const add = (channel: Channel, producer: unknown, id: number): void => {
    for (const isUrgent of [false, true])
      opened.push(new Line(channel, producer as Producer<Raised>, id, life, isUrgent));
  };
  const typeOfEvents = isLater ? LaterChaosEvent : ChaosEvent;
  for (const channel of channelsOf(modulates)) {
    const wanted = { ...(isKept(channel) && HISTORY), ...(serves && DELEGATE) };
    add(channel, await session.channel(channel, typeOfEvents).produce(wanted), id);
    if (!DIRECT_CHANNELS.includes(channel)) continue;
    const direct = await session.channel(`${channel}#${EVEN_NAME}`, typeOfEvents).produce();
    add(channel, direct, DIRECT + id);
  }
  return opened;
}

async function raise(): Promise<void> {
  for (let round = 0; running; round++) {
    for (const line of lines) {
      if (!running) return;
      line.raise(line.isUrgent || line.isDirect ? 1 : options.batch);
      if (round % SYNC_EVERY === 0 && !line.isUrgent && !line.isDirect) await line.raiseSync();
    }
    void confirm();
    await new Promise(resolve => setTimeout(resolve, options.everyMs));
  }
}

async function confirm(): Promise<void> {
  const asked = lines;
  const upTo = asked.map(({ raised }) => raised);
  const isTaken = await session.flush().then(
    () => true,
    () => false,
  );
  if (!isTaken) return;
  for (const [i, line] of asked.entries()) line.confirmed = Math.max(line.confirmed, upTo[i] as number);
}

function account(): Account[] {
  return [...closed, ...lines].map(line => {
    const { channel, id, life, raised, confirmed, marks } = line;
    line.marks = [];
    return { channel, producer: id, life, raised, confirmed, marks };
  });
}

function begin(): void {
  running = true;
  ended = raise();
  // Whoever waits for it is told.
  ended.catch(() => {});
}

serve({
  async start(started: StartProducer) {
    await open(started);
    begin();
  },
  /** Raises nothing more, for it is about to be killed, while what it raised is on its way. */
  last() {
    running = false;
    return account();
  },
  /** Raises nothing more, until it is told to go on. */
  async pause() {
    running = false;
    await ended;
    return account();
  },
  /** So many more on each channel, of so many bytes more than usual. */
  nudge({ events, bytes }: { events: number; bytes: number }) {
    const filler = new Uint8Array(bytes);
    for (const line of lines) line.raise(events, filler);
    return account();
  },
  flush: () => session.flush(),
  /** Closes its producers, and goes on with others in the same session. */
  async reopen() {
    const wasRunning = running;
    running = false;
    await ended;
    // Both lines of a channel are one producer's.
    await Promise.all(lines.filter(({ isUrgent }) => !isUrgent).map(line => line.close()));
    closed.push(...lines);
    for (const line of lines) line.confirmed = line.raised;
    lines = await produce();
    if (wasRunning) begin();
    return account();
  },
  block,
  setClock,
  resume: begin,
  /** Raises so many on each channel and is gone: killed by who started it, or by itself. */
  async brief({ events, flushes, closes }: { events: number; flushes: boolean; closes: boolean }) {
    for (const line of lines) line.raise(events);
    const accounts = account();
    if (flushes) await session.flush();
    if (closes) await session.close();
    return accounts;
  },
  exit: () => process.exit(0),
});
