import { type Consumer, connect, type Modulator, type Producer, type Session } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, onTestFinished, test } from "vitest";
import { EVEN, Inbox, moe, type Rig, startRig, Tick } from "./rig.ts";

type Event = typeof Tick.event;

/** The channel, what is made of that, and what is made of that. */
const NAMES = ["a", "a#evens", "a#thirds"] as const;
/** An event of this number passes all filters. */
const ALL = 2 * 3 * 5 * 7 * 11;
const ROUNDS = 60;
const EVENTS = 3;

const multiplesOf = (k: number): Modulator =>
  k === 2 ? EVEN : moe(`enqueue(event) { if (event.n % ${k} === 0) super.enqueue(event); }`);

/** A consumer by the channel that it reads, and the filter that it has. */
interface Kind {
  readonly of: (typeof NAMES)[number];
  readonly filter?: number;
  readonly as?: string;
}

const MAKERS: readonly Kind[] = [
  { of: "a", filter: 2, as: "evens" },
  { of: "a#evens", filter: 3, as: "thirds" },
];
const OTHERS: readonly Kind[] = [
  { of: "a" },
  { of: "a#evens" },
  { of: "a#thirds" },
  { of: "a", filter: 11 },
  { of: "a#evens", filter: 7 },
  { of: "a#thirds", filter: 5 },
];

/** Whether a consumer of this kind gets an event that was published into that channel. */
function gets({ of, filter, as }: Kind, published: string, n: number): boolean {
  const level = NAMES.indexOf(of);
  const from = NAMES.indexOf(published as (typeof NAMES)[number]);
  // Events published where a modulator's output goes pass that modulator by.
  if (as !== undefined && from === level + 1) return true;
  if (from > level || (from < 1 && level >= 1 && n % 2 !== 0) || (from < 2 && level === 2 && n % 3 !== 0))
    return false;
  return filter === undefined || n % filter === 0;
}

class Viewer {
  readonly kind: Kind;
  readonly session: Session;
  readonly seen = new Inbox<number>();
  readonly expected: number[] = [];
  consumer: Consumer<Event> | undefined;

  constructor(kind: Kind, session: Session) {
    this.kind = kind;
    this.session = session;
  }

  async open(): Promise<void> {
    const { of, filter, as } = this.kind;
    this.consumer = await this.session.channel(of, Tick).subscribe(({ n }) => this.seen.put(n), {
      ...(filter !== undefined && { modulator: multiplesOf(filter) }),
      ...(as !== undefined && { as }),
    });
  }
}

/** A process that produces, behind a way that is cut. */
class Producing {
  readonly producers = new Map<string, Producer<Event>>();
  readonly cut: () => void;
  readonly #connect: () => Session;
  session: Session;

  private constructor(connect: () => Session, cut: () => void) {
    this.#connect = connect;
    this.cut = cut;
    this.session = connect();
  }

  static async start(rig: Rig, most: number): Promise<Producing> {
    const cutter = await startCutter(rig.gateway.address);
    const backoff = { firstMs: 20, mostMs: 100 };
    const make = (): Session => connect(cutter.address, { backoff, modulators: { most } });
    const producing = new Producing(make, () => cutter.cut());
    onTestFinished(async () => {
      await producing.session.close();
      await cutter[Symbol.asyncDispose]();
    });
    return producing;
  }

  async open(name: string): Promise<void> {
    if (!this.producers.has(name))
      this.producers.set(name, (await this.session.channel(name, Tick).produce()) as Producer<Event>);
  }

  async close(name: string): Promise<void> {
    const producer = this.producers.get(name);
    this.producers.delete(name);
    await producer?.close();
  }

  async openAllAnew(): Promise<void> {
    const names = [...this.producers.keys()];
    await Promise.all(names.map(name => this.close(name)));
    await Promise.all(names.map(name => this.open(name)));
  }

  async beginAnew(): Promise<void> {
    this.producers.clear();
    await this.session.close();
    this.session = this.#connect();
  }
}

// Each of these has found something.
test.each([3, 8, 10, 159])(
  "CHAN-9, MOE-17, DEL-2: whoever comes, goes or loses its connection, each gets what is published anywhere once (seed %i)",
  async seed => {
    let state = seed * 7919 + 1;
    const below = (count: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return Math.floor((state / 2 ** 32) * count);
    };
    await using rig = await startRig();
    const processes = [
      await Producing.start(rig, 100),
      await Producing.start(rig, 100),
      await Producing.start(rig, 0),
    ];
    const viewers: Viewer[] = [];
    const join = async (kind: Kind, session: Session): Promise<void> => {
      const viewer = new Viewer(kind, session);
      await viewer.open();
      viewers.push(viewer);
    };
    for (const kind of MAKERS) await join(kind, rig.session());
    let n = 0;
    const done: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const number = below(processes.length);
      const process = processes[number] as Producing;
      const what = below(10);
      const name = NAMES[below(NAMES.length)] as string;
      // Where a process' producers run no modulators, what is behind two of its channels begins anew with each connection.
      const mayOpen = number < 2 || process.producers.size === 0;
      done.push(`${what} of ${number}, ${name}`);
      if (what < 3) {
        if (mayOpen) await process.open(name);
      } else if (what < 5) await process.close(name);
      else if (what === 5) await process.openAllAnew();
      else if (what === 6) process.cut();
      else if (what === 7) {
        const kind = OTHERS[below(OTHERS.length)] as Kind;
        await join(kind, below(3) === 0 ? process.session : rig.session());
      } else if (what === 8) {
        const [gone] = viewers.splice(MAKERS.length + below(viewers.length - MAKERS.length), 1);
        await gone?.consumer?.close();
      } else {
        for (const gone of viewers.filter(({ session }) => session === process.session))
          viewers.splice(viewers.indexOf(gone), 1);
        await process.beginAnew();
      }
      for (const { producers } of processes)
        for (const [published, producer] of producers)
          for (let i = 0; i < EVENTS; i++) {
            const step = published === "a" ? 1 : published === "a#evens" ? 2 : 6;
            const event = ALL * ++n + step * (below(2) === 0 ? 0 : below(9));
            producer.publish({ n: event, note: "" });
            for (const viewer of viewers)
              if (gets(viewer.kind, published, event)) viewer.expected.push(event);
          }
      for (const { session, producers } of processes) if (producers.size > 0) await session.flush();
      for (const { seen, expected, kind, consumer } of viewers) {
        await expect
          .poll(() => seen.all.length, {
            message: `${kind.of} ${kind.filter}: ${done.slice(-15).join("; ")}`,
          })
          .toBeGreaterThanOrEqual(expected.length);
        expect([...seen.all].sort((a, b) => a - b)).toEqual([...expected].sort((a, b) => a - b));
        expect(consumer?.stats.missed).toBe(0);
      }
    }
  },
);
