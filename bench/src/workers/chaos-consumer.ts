// Consumers for `chaos`, with one connection: they note what they see, and where they are, for the process that checks it.
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import {
  type Consumer,
  type ConsumerOptions,
  connect,
  type EventPlace,
  type Session,
  type SharedObject,
} from "@jecho/client";
import {
  type Channel,
  ChaosEvent,
  checkOf,
  type MeaningName,
  meaningOf,
  NOTICE,
  NOTICES,
  type Raised,
} from "../chaos/event.ts";
import { optionsOf, type Way } from "../chaos/way.ts";
import { setClock } from "../clock.ts";
import { block, serve } from "../worker.ts";

export interface Connect {
  /** The gateway's, and those of the others that it goes on at. */
  readonly port: number;
  readonly others?: readonly number[];
  readonly way: Way;
  readonly token?: string;
}

export interface Subscribe {
  /** Its number among those here. */
  readonly index: number;
  readonly channel: Channel;
  readonly meaning: MeaningName;
  /** Place where it begins; now, where that is undefined. */
  readonly from: EventPlace | number | undefined;
}

/** The time from which on a consumer has to see what is raised; and how many events of those that it asked for it was told to be missing. */
export interface Subscribed {
  readonly atMs: number;
  readonly missing: number;
}

/** The shared object in this process, and what this process set its own fields to last: its copy may show something else. */
export interface Steered {
  readonly set: Readonly<Record<string, number>>;
  readonly state: Readonly<Record<string, number>>;
}

/** How a consumer is doing. */
export interface State {
  readonly state: Consumer<Raised>["status"]["state"];
  readonly place: EventPlace | undefined;
  /** Why it has ended, if it has. */
  readonly code: string | undefined;
  /** Where its modulator runs, as it was told. */
  readonly places: string;
}

export interface Taken {
  /** In the order in which it came, `SEEN_NUMBERS` for each. */
  readonly seen: Uint32Array;
  readonly states: readonly (State | undefined)[];
  /** Errors with single events, and how often. */
  readonly errors: ReadonlyMap<string, number>;
}

/** The shared object that all processes of consumers steer, and the time from one change of each to the next. */
const STEERED = "chaos/steered";
const STEER_MS = 200;
/** Fields that a process sets in turn: a change that is lost shows until the field's next turn, after 5 s. */
const FIELDS = 25;

/** Time that a slow application takes for an event, events that it works on at once, and bytes that may wait for it: some 40 events, where up to 1,000 come in a second. */
const SLOW_MS = 100;
const SLOW_AT_ONCE = 4;
const SLOW_BYTES = 2 << 10;

let slow: Way["slow"];
let seen: number[] = [];
let errors = new Map<string, number>();
let session: Session;
let steered: SharedObject<Record<string, number>>;
let steering: NodeJS.Timeout | undefined;
let changes = 0;
/** Numbers that the fields of this process were set to last. */
const set: Record<string, number> = {};
const consumers: (Consumer<Raised> | undefined)[] = [];
const fail = ({ code }: { readonly code: string }): void => {
  errors.set(code, (errors.get(code) ?? 0) + 1);
};

const note = (index: number) => {
  return ({ producer, life, n, first, count, check }: Raised): unknown => {
    if (check === checkOf(producer, life, n)) seen.push(index, producer, life, first, n, count);
    else seen.push(index, NOTICE, NOTICES.corrupt, 1, 0, 0);
    return slow && delay(SLOW_MS);
  };
};
const listening = (index: number): ConsumerOptions => ({
  ...(slow !== undefined && {
    inboxEvents: SLOW_AT_ONCE,
    queue: { whenFull: slow, limitBytes: SLOW_BYTES },
  }),
  onMissed: ({ events }) => void seen.push(index, NOTICE, NOTICES.missed, events, 0, 0),
  onRestart: () => void seen.push(index, NOTICE, NOTICES.restarted, 1, 0, 0),
  onError: error => {
    fail(error);
    // An event that came and could not be read: it has been told.
    if (error.code === "EVENT_INVALID") seen.push(index, NOTICE, NOTICES.missed, 1, 0, 0);
  },
});

function add(index: number, consumer: Consumer<Raised>): Subscribed {
  consumers[index] = consumer;
  // With a listener its end is no error of the session.
  consumer.onStatus(() => {});
  return { atMs: Number(process.hrtime.bigint()) / 1e6, missing: consumer.status.missing ?? 0 };
}

const open = ({ port, others = [], way, token: handover }: Connect): void => {
  slow = way.slow;
  session = connect(`127.0.0.1:${port}`, {
    others: others.map(other => `127.0.0.1:${other}`),
    backoff: { firstMs: 20, mostMs: 200 },
    onError: fail,
    ...optionsOf(way, "viewers"),
    ...(handover !== undefined && { handover }),
  });
};

serve({
  connect: open,
  async subscribe({ index, channel, meaning, from }: Subscribe) {
    const { modulator, as, of, isNew } = meaningOf(meaning);
    const consumer = await session
      .channel(of === undefined ? channel : `${channel}#${of}`, ChaosEvent)
      .subscribe(note(index), {
        ...listening(index),
        label: String(index),
        ...(modulator !== undefined && {
          modulator: isNew ? { ...modulator, key: randomUUID() } : modulator,
        }),
        ...(as !== undefined && { as }),
        ...(from !== undefined && { from }),
      });
    return add(index, consumer);
  },
  /** Has a consumer go on with another modulator than anybody has. What hinders that is told by its status. */
  change({ index, meaning }: Pick<Subscribe, "index" | "meaning">): void {
    const { modulator } = meaningOf(meaning);
    consumers[index]
      ?.reset(modulator === undefined ? {} : { modulator: { ...modulator, key: randomUUID() } })
      .catch(fail);
  },
  /** Ends a consumer, which goes on as another one. */
  close: (index: number) => consumers[index]?.close(),
  block,
  setClock,
  /** Changes fields of the shared object, in turn, all the time. */
  steer(): void {
    steered ??= session.share({}, { id: STEERED });
    clearInterval(steering);
    const change = (): void => {
      const field = `${process.pid} ${changes % FIELDS}`;
      set[field] = changes++;
      steered.update({ [field]: set[field] });
    };
    change();
    steering = setInterval(change, STEER_MS);
  },
  /** Changes nothing more. */
  rest(): Steered {
    clearInterval(steering);
    return { set, state: steered.state };
  },
  /** A token for another process. */
  handover: async () => (await session.handover()).token,
  async takeOver(asked: Connect) {
    open(asked);
    for (const subscription of (await session.inheritance()).subscriptions) {
      const index = Number(subscription.label);
      add(index, await subscription.takeOver(note(index), { type: ChaosEvent, ...listening(index) }));
    }
  },
  /** Takes what came since the last time. */
  take(): Taken {
    const states = consumers.map(consumer => {
      if (consumer === undefined) return undefined;
      const { state, error } = consumer.status;
      const places = consumer.placements.map(({ at, code }) => (code === undefined ? at : `${at} (${code})`));
      return { state, place: consumer.place, code: error?.code, places: places.join(", ") };
    });
    const taken = { seen: Uint32Array.from(seen), states, errors };
    seen = [];
    errors = new Map();
    return taken;
  },
});
