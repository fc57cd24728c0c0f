import { type Modulator, type } from "@jecho/client";

/**
 * Event that is raised while everything is being killed: the producer, its how-manieth life, and the event's count `n` in that life. What
 * a modulator makes stands for the raised events from `first` to `n`; `count` is what the modulator has counted so far. `check` depends on
 * the other fields but `filler`, so that a flipped bit shows.
 */
export const ChaosEvent = type("ChaosEvent", {
  producer: "uint32",
  life: "uint32",
  n: "uint32",
  first: "uint32",
  count: "uint32",
  check: "uint32",
  filler: "uint8[]",
});
/** The same, as a later version of the program writes it. */
export const LaterChaosEvent = type("ChaosEvent", {
  note: "string",
  producer: "uint32",
  life: "uint32",
  n: "uint32",
  first: "uint32",
  count: "uint32",
  check: "uint32",
  filler: "uint8[]",
});
/** Urgent events, which keep an order of their own, are those of a life with a number from here on. */
export const URGENT_LIFE = 0x8000;
export type Raised = typeof ChaosEvent.event;

/** One channel with history, one without, and one for a modulator that needs a service of its producers. */
export const CHANNELS = ["chaos/kept", "chaos/live", "chaos/served"] as const;
export type Channel = (typeof CHANNELS)[number];
/** Producers that run no modulators are not there: nobody could offer the service in their stead. */
export const channelsOf = (modulates: boolean): readonly Channel[] =>
  modulates ? CHANNELS : ["chaos/kept", "chaos/live"];
export const isKept = (channel: Channel): boolean => channel === "chaos/kept";
/** Name of the channel of even events. */
export const EVEN_NAME = "even";
/** Numbers of producers that publish even events into that channel themselves are so much higher than those of their processes. */
export const DIRECT = 10_000;
/** Channels to whose even events producers add some of their own. */
export const DIRECT_CHANNELS: readonly Channel[] = ["chaos/kept", "chaos/live"];

/** Check of an event that was raised: `check` of what a modulator made of it says the same. */
export function checkOf(producer: number, life: number, n: number): number {
  return (Math.imul(producer, 0x9e3779b1) ^ Math.imul(life, 0x85ebca6b) ^ Math.imul(n + 1, 0xc2b2ae35)) >>> 0;
}

/** All modulators have this in their text, by which a proxy sees that one is being installed. */
export const MARK = "one-of-the-chaos-modulators";

const modulator = (body: string): Modulator => ({
  source: `// ${MARK}
import { FifoModulator, unpack } from "jecho:moe";
export default class extends FifoModulator {
${body}
}`,
});

/** How a consumer sees what was raised. */
export interface Meaning {
  /** Step from one event that it sees to the next. */
  readonly step: number;
  /** None: it sees the channel itself. */
  readonly modulator?: Modulator;
  /** The name that the modulator's channel is given. */
  readonly as?: string;
  /** The derived channel that it subscribes to. */
  readonly of?: string;
  /** Whether it sees what is published into the channel of even events. */
  readonly seesDirect?: boolean;
  /** Its modulator is left out at producers that do not offer what it needs. */
  readonly needsService?: boolean;
  /** Its modulator equals nobody else's. */
  readonly isNew?: boolean;
  /** Whether what it sees carries what the modulator has counted. */
  readonly counts?: boolean;
  /** Whether what it sees stands for several events, which the modulator keeps in its own fields meanwhile. */
  readonly gathers?: boolean;
}

export const MEANINGS = {
  all: { step: 1 },
  /** A filter. */
  even: {
    step: 2,
    seesDirect: true,
    as: EVEN_NAME,
    modulator: modulator("enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }"),
  },
  /** A transform with state. */
  counted: {
    step: 1,
    counts: true,
    modulator: modulator(`counts = new Map();
enqueue(event) {
  const source = event.producer + " " + event.life;
  const count = 1 + (this.counts.get(source) ?? 0);
  this.counts.set(source, count);
  super.enqueue({ ...unpack(event), count });
}`),
  },
  /** A modulator that makes one event now and then of all that came meanwhile. */
  gathered: {
    step: 1,
    gathers: true,
    modulator: modulator(`static periodMs = 25;
gathered = new Map();
enqueue(event) {
  const source = event.producer + " " + event.life;
  this.gathered.set(source, { ...unpack(event), first: this.gathered.get(source)?.first ?? event.n });
}
period() {
  for (const event of this.gathered.values()) super.enqueue(event);
  this.gathered.clear();
}`),
  },
  /** A filter behind the filter of even events. */
  fourth: {
    step: 4,
    seesDirect: true,
    of: EVEN_NAME,
    modulator: modulator("enqueue(event) { if (event.n % 4 === 0) super.enqueue(event); }"),
  },
  /** Reads the channel of even events by its name. */
  named: { step: 2, seesDirect: true, of: EVEN_NAME },
  /** A filter that one consumer of a channel alone has, and that takes its time: behind a burst it is late. */
  third: {
    step: 3,
    modulator: modulator(`mixed = 0;
enqueue(event) {
  for (let i = 0; i < 2000; i++) this.mixed = Math.imul(this.mixed ^ i, 0x9e3779b1);
  if (event.n % 3 === 0) super.enqueue(event);
}`),
  },
  /** A filter that nobody has had before. */
  fresh: {
    step: 2,
    isNew: true,
    modulator: modulator("enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }"),
  },
  /** A filter that needs a service of the producer. */
  served: {
    step: 2,
    needsService: true,
    modulator: modulator(`static needs = ["services.isEven"];
enqueue(event) { if (this.moe.services.isEven(event.n)) super.enqueue(event); }`),
  },
} satisfies Record<string, Meaning>;
export type MeaningName = keyof typeof MEANINGS;
/** Meanings that consumers of a channel have. */
export const meaningsOf = (channel: Channel): readonly MeaningName[] =>
  channel === "chaos/served"
    ? ["all", "served"]
    : ["all", "even", "counted", "gathered", "fourth", "named", "third"];
export const meaningOf = (name: MeaningName): Meaning => MEANINGS[name];

/** Numbers for each thing that a consumer notes, in its order: consumer, producer, life, first, n, count. */
export const SEEN_NUMBERS = 6;
/** In the place of the producer: what is no event. */
export const NOTICE = 0;
/** In the place of the life: which notice; what it says follows. */
export const NOTICES = { missed: 1, restarted: 2, corrupt: 3 } as const;
