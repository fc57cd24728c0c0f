import type { Value } from "@jecho/modulators";
import type { Offer } from "@jecho/modulators/internal";
import type { ErrorCode, JechoError } from "@jecho/shared";
import type {
  Compared,
  CopyUpdate,
  EventsFrame,
  HeldPlace,
  History,
  Inheritance,
  Modulator,
  ObjectWrite,
  Overview,
  Place,
  Queue,
} from "@jecho/shared/internal";
import type { Outcome } from "../concentrator/incoming/tally.ts";
import type { NamedSource } from "../consumer/handled-sources.ts";
import type { Placement } from "../consumer/placement.ts";
import type { TracedRun } from "../options/tracing.ts";
import type { Demand, StateOfReaders } from "../producer/demand.ts";
import type { Status } from "../session/status.ts";

/*
 * The connection between endpoints and their concentrator: messages for control, rings for raised events. Both can pass between threads
 * (errors as their code and text), so the concentrator may run in any place: see places/.
 */

/** A session's request. Endpoints, queues and questions are known by the numbers that the session gave them. */
export type PortRequest = ControlRequest | QueueRequest;

/** An endpoint's request to the concentrator. */
export type ControlRequest =
  | {
      readonly is: "openProducer";
      readonly endpoint: number;
      readonly channel: string;
      readonly schema: Uint8Array;
      readonly token: bigint;
      /** Offers of the producer's delegate to modulators, if there is one. */
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
      readonly as: string;
      readonly from: Place | undefined;
      /** Counts that another device has had of it. */
      readonly sources: HeldPlace["sources"];
      /** Time since the first of these devices began; Infinity where nobody knows. */
      readonly sinceMs: number;
    }
  /** The application can take no more events of this consumer for now, or can again. */
  | { readonly is: "flow"; readonly endpoint: number; readonly ready: boolean }
  /** A producer does not wait for its synchronous event any longer. */
  | { readonly is: "giveUp"; readonly endpoint: number; readonly raised: number }
  | { readonly is: "label"; readonly endpoint: number; readonly label: string }
  /** Changes a consumer's modulator; answered by `opened` or `refused` with this `reset`. */
  | {
      readonly is: "resetConsumer";
      readonly endpoint: number;
      readonly reset: number;
      readonly modulator: Modulator | undefined;
    }
  /** The answer to `compare`: the modulator that the consumer's is equal to, if there is one, or why that cannot be said. */
  | {
      readonly is: "compared";
      readonly endpoint: number;
      readonly reset: number;
      readonly newest: number;
      readonly equal: Compared | undefined;
      readonly failure: string;
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
  /** Opens a copy of a shared object: of one that there is (version 0), or a new one. */
  | {
      readonly is: "openObject";
      readonly endpoint: number;
      readonly object: string;
      readonly lazy: boolean;
      readonly version: number;
      readonly state: string;
    }
  /** The master copy's newest state, and the writes of other copies that it has taken. */
  | {
      readonly is: "updateObject";
      readonly endpoint: number;
      readonly version: number;
      readonly state: string;
      readonly taken: readonly { readonly copy: number; readonly write: number }[];
    }
  /** Changes of a copy that is not the master. */
  | { readonly is: "writeObject"; readonly endpoint: number; readonly write: number; readonly patch: string }
  | { readonly is: "pullObject"; readonly endpoint: number }
  /** The answer to `tokenWanted`: a token, or why there is none. */
  | { readonly is: "token"; readonly token: string; readonly failure: string }
  /** The network may have changed: checks whether the gateway is still there. */
  | { readonly is: "probe" }
  | { readonly is: "close" };

/** A message about a queue of raised events. */
export type QueueRequest =
  | {
      readonly is: "openQueue";
      readonly queue: number;
      /** A ring's; undefined where the two sides share no memory, so that records come as `records`. */
      readonly memory: ArrayBufferLike | undefined;
      /** Whether the writer drops the oldest when the ring is full. */
      readonly drops: boolean;
      readonly batchDelayMs: number;
      /** Whether the queue's events go before those in other queues. */
      readonly urgent: boolean;
    }
  /** A queue whose reader slept has records. `now`: they must not wait for a batch. */
  | { readonly is: "wake"; readonly queue: number; readonly now: boolean }
  /** Records, as they lie in a ring. Answered by `recordsTaken`. */
  | { readonly is: "records"; readonly queue: number; readonly bytes: Uint8Array<ArrayBuffer> }
  /** Ends a queue; its records still go out. */
  | { readonly is: "closeQueue"; readonly queue: number };

/**
 * A question to the gateway: for a type by its token, the tokens of what a channel's producers write, a token for a
 * handover, the end of a subject's connections, what runs on the channels of a pattern; and to another address, which gateway is there.
 */
export type Question =
  | { readonly token: bigint }
  | { readonly channel: string }
  | { readonly handover: true }
  | { readonly kick: string }
  | { readonly overview: string }
  | { readonly gatewayAt: string }
  /** To the concentrator: answered once everything that was raised before was taken by the gateway, or is wanted by nobody. */
  | { readonly flush: true };
/** A handover token, a number of ended connections, a gateway's identity, or tokens of types: none where `type` told the type before, and for a flush. */
export type Answer =
  | readonly bigint[]
  | { readonly token: string; readonly validMs: number }
  | { readonly connections: number }
  | { readonly overview: Overview }
  | { readonly gateway: string };

/** A notice to a session. */
export type PortNotice = SessionNotice | EndpointNotice;

/** A notice that is not about one endpoint. */
export type SessionNotice =
  | { readonly is: "status"; readonly status: Status }
  /** The identity of the gateway that the connection is with. */
  | { readonly is: "gateway"; readonly gateway: string }
  /** The gateway has taken the session's token, which is this subject's. */
  | { readonly is: "admitted"; readonly subject: string }
  /** The subject of a producer's token, or "": of whoever has the number now, or, with a channel, in that replay. */
  | { readonly is: "named"; readonly channel: number; readonly producer: number; readonly name: string }
  /** The gateway wants a token, or soon a newer one. */
  | { readonly is: "tokenWanted" }
  | { readonly is: "inheritance"; readonly inheritance: Inheritance }
  | { readonly is: "type"; readonly schema: Uint8Array }
  | { readonly is: "answer"; readonly question: number; readonly answer: Answer | JechoError }
  /** An error of no single endpoint. */
  | { readonly is: "fault"; readonly error: JechoError }
  /** The queue asked for room, and there is some. */
  | { readonly is: "room"; readonly queue: number }
  /** Bytes of `records` have been handed on. */
  | { readonly is: "recordsTaken"; readonly queue: number; readonly bytes: number }
  /** The concentrator has ended unasked: nothing more comes. */
  | { readonly is: "gone"; readonly error: JechoError };

/** A notice to an endpoint. */
export type EndpointNotice =
  /** The endpoint is open, for the first time, again after a reconnect, or with its new modulator (`reset` not 0). */
  | {
      readonly is: "opened";
      readonly endpoint: number;
      readonly reset: number;
      /** A producer's source. */
      readonly source?: bigint;
      /** For a consumer that is opened again or asks for the past, as in `Status`. */
      readonly recovered?: boolean;
      readonly missing?: number;
      readonly replays?: boolean;
      readonly placements?: readonly Placement[];
      /** Tags of the shared objects that modulators read on its events' way. */
      readonly objects?: readonly bigint[];
    }
  /** Before the consumer's modulator is installed, it is to be compared with these. */
  | {
      readonly is: "compare";
      readonly endpoint: number;
      readonly reset: number;
      /** Names what has been compared, for the answer. */
      readonly newest: number;
      readonly modulators: readonly Compared[];
    }
  /** The consumer's modulator goes on, but it began anew, without the state that it had, or cannot read what one writes. */
  | { readonly is: "impaired"; readonly endpoint: number; readonly error: JechoError }
  /** The source of the runs that come under a producer's number from now on, of a modulator's output. */
  | ({ readonly is: "source"; readonly endpoint: number } & NamedSource)
  /** Where the consumer's modulator runs has changed. */
  | { readonly is: "placed"; readonly endpoint: number; readonly placements: readonly Placement[] }
  /** The past has been sent; what comes now is live. */
  | { readonly is: "replayed"; readonly endpoint: number }
  /** Events that will not come; so many of them because this process did not keep up. */
  | { readonly is: "missing"; readonly endpoint: number; readonly events: number; readonly dropped: number }
  | { readonly is: "refused"; readonly endpoint: number; readonly reset: number; readonly error: JechoError }
  /** The endpoint's connection broke; it is opened again by itself. */
  | { readonly is: "interrupted"; readonly endpoint: number }
  | { readonly is: "demand"; readonly endpoint: number; readonly demand: Demand }
  /** Nothing else of the demand has changed. */
  | ({ readonly is: "state"; readonly endpoint: number } & StateOfReaders)
  /** Events that were raised from this count on and went nowhere: there was no connection, or, with a code, for that. */
  | {
      readonly is: "dropped";
      readonly endpoint: number;
      readonly raised: number;
      readonly events: number;
      readonly code?: ErrorCode;
    }
  /** All consumers have handled the synchronous event that was raised with this count. */
  | {
      readonly is: "processed";
      readonly endpoint: number;
      readonly raised: number;
      readonly outcome: Outcome;
    }
  /** A modulator of this process has made something of the producer's events: where sessions trace. */
  | {
      readonly is: "modulated";
      readonly endpoint: number;
      readonly run: Omit<TracedRun, "channel" | "source">;
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
  /** A shared object is newer, or has another master. */
  | { readonly is: "object"; readonly endpoint: number; readonly update: CopyUpdate }
  /** For the master copy: another copy's write. */
  | { readonly is: "written"; readonly endpoint: number; readonly write: ObjectWrite };

/** A session's listener at its port, called in order. */
export interface PortListener {
  notify(notice: PortNotice): void;
  /** A run of events, verified, for this consumer from its event `first` on. It stays as it is until the turn ends. */
  receive(endpoint: number, frame: EventsFrame, first: number): void;
}

/** A port to a concentrator at one place. */
export interface PlacePort {
  post(request: PortRequest): void;
  /** Memory that both sides see; undefined where they share none. */
  memory(bytes: number): ArrayBufferLike | undefined;
  /** Empties the queues at once: where the concentrator is in this very thread. */
  drainHere?(): void;
  /** Resolves when what was raised has been through the modulators and taken, or after 30 s, and the connection is closed. */
  close(): Promise<void>;
}

/** The application's end of a port, wherever that leads. */
export interface Port extends PlacePort {
  /** Resolves when it is known where the concentrator runs; queues are opened after that. */
  readonly settled: Promise<void>;
  /** Requests that have been posted. Events say how many came before them. */
  readonly posted: number;
}
