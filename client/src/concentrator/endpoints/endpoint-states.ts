import type { Modulator } from "@jecho/shared/internal";
import type { Successor } from "../incoming/successor.ts";

/*
 * The states of an endpoint. Each has what holds in it and in no other; what outlasts states stands with the endpoint
 * (`endpoint.ts`). `Endpoint.become` changes the state, checks the change against the tables below, and has all indexes follow.
 */

/** The endpoint was never open: it is asked for at the next connection. */
export interface New {
  readonly is: "new";
}

/** The endpoint was open until the connection broke: it is asked for again at the next one. */
export interface Away {
  readonly is: "away";
}

/** The consumer has left its channel for as long as its application's thread takes no events. */
export interface Resting {
  readonly is: "resting";
}

/** An opening waits for the answer to this request, or for its modulator to be compared up to the derived channel `newest`. */
export type Awaited = { readonly request: number } | { readonly newest: number };

/** The endpoint was asked for. */
export interface Asked<After> {
  readonly is: "asked";
  readonly awaits: Awaited;
  /** The state that it was asked for in, and goes back to where the connection breaks. */
  readonly after: After;
}

/** The endpoint was refused for a reason that passes: it is asked for again when the timer fires. */
export interface Retrying<After> {
  readonly is: "retrying";
  readonly timer: ReturnType<typeof setTimeout>;
  readonly after: After;
}

/** The endpoint has ended: its application closed it, the gateway refused it, or another device has it. */
export interface Gone {
  readonly is: "gone";
}

export const NEW: New = { is: "new" };
export const AWAY: Away = { is: "away" };
export const RESTING: Resting = { is: "resting" };
export const GONE: Gone = { is: "gone" };

/** Another modulator that a consumer is to have, or none. */
export interface Reset {
  readonly reset: number;
  modulator: Modulator | undefined;
}

/** The gateway has opened the channel of the next modulator, and the present one still owes events from before that begins. */
export interface Coming {
  readonly number: number;
  readonly channelNumber: number;
  readonly successor: Successor;
}

/** A reset that was asked for while the consumer goes on with the modulator that it has. */
export interface Change {
  readonly reset: Reset;
  readonly awaits: Awaited | Coming;
}

/** The consumer's numbers at the gateway. */
interface ConsumerAt {
  readonly number: number;
  /** The channel's, or derived channel's. */
  readonly channelNumber: number;
  /** The present epoch of that channel. */
  readonly epoch: number;
  readonly change: Change | undefined;
}

/** The consumer is sent the past, under the number `replay`; events of its own process wait. */
export interface Replaying extends ConsumerAt {
  readonly is: "replaying";
  readonly replay: number;
  /** Whether that is what came while it was away, which it is owed; otherwise it began in the past. */
  readonly comesBack: boolean;
}

export interface LiveConsumer extends ConsumerAt {
  readonly is: "live";
}

/** The producer's numbers at the gateway. */
interface ProducerAt {
  readonly number: number;
  readonly channelNumber: number;
}

/** The gateway has the producer, whose events count when all modulators are installed: from the first `Demand` on. */
export interface Installing extends ProducerAt {
  readonly is: "installing";
  readonly after: New | Away;
}

export interface LiveProducer extends ProducerAt {
  readonly is: "live";
}

export interface LiveCopy {
  readonly is: "live";
  readonly number: number;
}

export type OpenConsumerState = Replaying | LiveConsumer;
export type OpenProducerState = Installing | LiveProducer;

export type ProducerState = New | Away | Asked<New | Away> | Retrying<Away> | OpenProducerState | Gone;
export type CopyState = New | Away | Asked<New | Away> | Retrying<Away> | LiveCopy | Gone;
export type ConsumerState =
  | New
  | Away
  | Resting
  | Asked<New | Away | Resting>
  | Retrying<Away | Resting>
  | OpenConsumerState
  | Gone;
export type EndpointState = ProducerState | CopyState | ConsumerState;

/** The states that may follow each state. */
export type Transitions<State extends { readonly is: string }> = Readonly<
  Record<State["is"], readonly State["is"][]>
>;

export const PRODUCER_TRANSITIONS: Transitions<ProducerState> = {
  new: ["asked", "gone"],
  away: ["asked", "gone"],
  asked: ["installing", "retrying", "new", "away", "gone"],
  retrying: ["asked", "away", "gone"],
  installing: ["live", "installing", "new", "away", "gone"],
  // A derived channel that it publishes into has another number when it comes again.
  live: ["live", "away", "gone"],
  gone: [],
};

export const COPY_TRANSITIONS: Transitions<CopyState> = {
  new: ["asked", "gone"],
  away: ["asked", "gone"],
  asked: ["live", "retrying", "new", "away", "gone"],
  retrying: ["asked", "away", "gone"],
  live: ["away", "gone"],
  gone: [],
};

export const CONSUMER_TRANSITIONS: Transitions<ConsumerState> = {
  new: ["asked", "gone"],
  away: ["asked", "gone"],
  resting: ["asked", "gone"],
  // Once more where its modulator is compared with others.
  asked: ["asked", "replaying", "live", "retrying", "new", "away", "resting", "gone"],
  retrying: ["asked", "away", "resting", "gone"],
  // Once more where a reset is asked for, refused, or in force.
  replaying: ["replaying", "live", "resting", "retrying", "away", "gone"],
  live: ["replaying", "live", "resting", "retrying", "away", "gone"],
  gone: [],
};

/** The state of an endpoint that is asked for once the connection has broken; undefined where it need not be asked for. */
export function askedAfter(state: EndpointState): New | Away | Resting | undefined {
  switch (state.is) {
    case "new":
    case "away":
    case "resting":
      return state;
    case "asked":
    case "retrying":
      return state.after;
    default:
      return undefined;
  }
}

/** The channel of the next modulator, where that is open already. */
export function comingOf(state: { readonly change?: Change | undefined } | undefined): Coming | undefined {
  const awaits = state?.change?.awaits;
  return awaits !== undefined && "successor" in awaits ? awaits : undefined;
}
