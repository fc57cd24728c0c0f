import type { Value } from "@jecho/modulators";
import type { Offer } from "@jecho/modulators/internal";
import type { JechoError } from "@jecho/shared";
import type {
  HeldPlace,
  History,
  Inheritance,
  Modulator,
  ObjectUpdate,
  Place,
  Queue,
} from "@jecho/shared/internal";
import type { Demand } from "./demand.ts";
import type { Status } from "./status.ts";
import type { Outcome } from "./tally.ts";

/*
 * The narrow way between endpoints and their concentrator: messages for control, a ring for events that are raised.
 * Nothing else passes, and all of it could pass between threads, so the concentrator can run wherever the port leads.
 */

/** What endpoints ask of the concentrator. Endpoints are known by the numbers that the session gave them. */
export type PortRequest =
  | {
      readonly is: "openProducer";
      readonly endpoint: number;
      readonly channel: string;
      readonly schema: Uint8Array;
      readonly token: bigint;
      /** What its delegate offers to modulators, if it has one. */
      readonly offers: readonly Offer[] | undefined;
      /** The present views of its state, by name. */
      readonly context: ReadonlyMap<string, Value>;
      readonly history: History;
      readonly key: string;
    }
  /** A view of a producer's state, as it is from now on. */
  | { readonly is: "context"; readonly endpoint: number; readonly name: string; readonly value: Value }
  | {
      readonly is: "openConsumer";
      readonly endpoint: number;
      readonly channel: string;
      readonly schema: Uint8Array;
      readonly modulator: Modulator | undefined;
      readonly queue: Queue;
      readonly label: string;
      readonly from: Place | undefined;
      /** What another device has had of it. */
      readonly sources: HeldPlace["sources"];
    }
  /** The application can take no more events of this consumer for now, or can again. */
  | { readonly is: "flow"; readonly endpoint: number; readonly ready: boolean }
  /** A producer does not wait for its synchronous event any longer. */
  | { readonly is: "giveUp"; readonly endpoint: number; readonly raised: number }
  | { readonly is: "flush"; readonly flush: number }
  /** Changes a consumer's modulator; answered by `opened` or `refused` with this `reset`. */
  | {
      readonly is: "resetConsumer";
      readonly endpoint: number;
      readonly reset: number;
      readonly modulator: Modulator | undefined;
    }
  /** A consumer's handler has ended on a synchronous event. */
  | {
      readonly is: "handled";
      readonly endpoint: number;
      readonly channel: number;
      readonly producer: number;
      readonly raised: number;
      readonly outcome: Outcome;
    }
  | { readonly is: "closeEndpoint"; readonly endpoint: number }
  | { readonly is: "ask"; readonly question: number; readonly about: Question }
  | { readonly is: "updateObject"; readonly update: ObjectUpdate }
  | { readonly is: "close" };

/** What one may ask the gateway: a type by its token, the tokens of what a channel's producers write, a token for a handover. */
export type Question =
  | { readonly token: bigint }
  | { readonly channel: string }
  | { readonly handover: true };
/** A handover token, or tokens of types; none where the type that was asked for has been told by `type` before. */
export type Answer = readonly bigint[] | { readonly token: string; readonly validMs: number };

/** What the concentrator tells. */
export type PortNotice =
  | { readonly is: "status"; readonly status: Status }
  /** The endpoint is open, for the first time, again after a reconnect, or with its new modulator (`reset` not 0). */
  | {
      readonly is: "opened";
      readonly endpoint: number;
      readonly reset: number;
      /** Of a consumer that is opened again: does it go on without a gap, as far as the gateway knows? */
      readonly recovered?: boolean;
      readonly missing?: number;
      readonly replays?: boolean;
    }
  /** The past has been sent; what comes now is live. */
  | { readonly is: "replayed"; readonly endpoint: number }
  /** Events that will not come; so many of them because this process did not keep up. */
  | { readonly is: "missing"; readonly endpoint: number; readonly events: number; readonly dropped: number }
  /** Everything that was raised before was taken by the gateway, or is wanted by nobody. */
  | { readonly is: "flushed"; readonly flush: number }
  | { readonly is: "inheritance"; readonly inheritance: Inheritance }
  | { readonly is: "refused"; readonly endpoint: number; readonly reset: number; readonly error: JechoError }
  /** The endpoint's connection broke; it is opened again by itself. */
  | { readonly is: "interrupted"; readonly endpoint: number }
  | { readonly is: "demand"; readonly endpoint: number; readonly demand: Demand }
  /** Events that were raised from this count on and went nowhere, for there was no connection. */
  | { readonly is: "dropped"; readonly endpoint: number; readonly raised: number; readonly events: number }
  /** All consumers have handled the synchronous event that was raised with this count. */
  | {
      readonly is: "processed";
      readonly endpoint: number;
      readonly raised: number;
      readonly outcome: Outcome;
    }
  /** The names of the views that modulators need now. */
  | { readonly is: "needs"; readonly endpoint: number; readonly names: readonly string[] }
  /** A modulator called a control, or logged a line. */
  | {
      readonly is: "called";
      readonly endpoint: number;
      readonly name: string;
      readonly values: readonly Value[];
    }
  | { readonly is: "type"; readonly schema: Uint8Array }
  | { readonly is: "answer"; readonly question: number; readonly answer: Answer | JechoError }
  /** A run of events, as a frame, for these consumers, from its event `first` on. */
  | {
      readonly is: "events";
      readonly endpoints: readonly number[];
      readonly frame: Uint8Array;
      readonly first: number;
    }
  /** Something went wrong that no endpoint can be named for. */
  | { readonly is: "fault"; readonly error: JechoError };

/** The concentrator's face to a port. */
export interface PortServer {
  handle(request: PortRequest): void;
  /** Sends everything that is in the ring, now. */
  drain(): void;
  /** There are events in the ring. */
  wake(): void;
}
