import { type ErrorCode, JechoError } from "@jecho/shared";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import type { ControlRequest, PortNotice, PortRequest } from "./port.ts";

/** One end of a way between threads, on which messages pass in order. */
export interface MessageEnd {
  /** Whether both sides see memory that is posted. */
  readonly sharesMemory: boolean;
  post(message: unknown, transfer?: ArrayBuffer[]): void;
  /** @param failed the other side could not begin, or ended without having been asked to */
  listen(receive: (message: unknown) => void, failed: (why: string) => void): void;
  close(): void;
}

/** Messages of the application's side. The first is `attach`. */
export type ToPlace =
  | { readonly is: "attach"; readonly options: ConcentratorOptions }
  | PortRequest
  | Handled
  | Wake
  /** The page is frozen and takes nothing, or goes on. */
  | { readonly is: "frozen"; readonly frozen: boolean }
  /** Bytes of events have been handed to their consumers. */
  | { readonly is: "eventsTaken"; readonly bytes: number };

/** Messages of the place, which sends several at once, and between them `BatchedRuns`. */
export type FromPlace = { readonly is: "ready" } | { readonly is: "closed" } | PortNotice;

type HandledRequest = Extract<ControlRequest, { is: "handled" }>;

/**
 * The requests of the kind `handled` of one turn: values in a row. There is one for each consumer and synchronous event; from thread to thread
 * it takes 0.25 us, and 1.2 as an object, which counts where a process has many consumers.
 */
export type Handled = (number | string)[];
/** Values of each of them. */
const HANDLED = 8;

export function addHandled(
  to: Handled,
  { endpoint, channel, producer, raised, outcome: { consumers, failed, message, missing } }: HandledRequest,
): void {
  to.push(endpoint, channel, producer, raised, consumers, failed, message, missing);
}

export function visitHandled(all: Handled, visit: (request: HandledRequest) => void): void {
  for (let i = 0; i < all.length; i += HANDLED) {
    visit({
      is: "handled",
      endpoint: all[i] as number,
      channel: all[i + 1] as number,
      producer: all[i + 2] as number,
      raised: all[i + 3] as number,
      outcome: {
        consumers: all[i + 4] as number,
        failed: all[i + 5] as number,
        message: all[i + 6] as string,
        missing: all[i + 7] as number,
      },
    });
  }
}

/**
 * A request of the kind `wake`: twice the queue's number, and one more where `now` is true. There is one for each burst of events; it takes the
 * application's thread 0.35 us, and 1.35 as an object, where publishing an event takes 2 to 3.
 */
export type Wake = number;

interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** The notice as data that can be cloned: an error's class would be lost on the way. */
export function toPlain(notice: FromPlace): unknown {
  if (notice.is === "status" && notice.status.error !== undefined) {
    return { ...notice, status: { ...notice.status, error: plainOf(notice.status.error) } };
  }
  if (notice.is === "answer" && notice.answer instanceof JechoError) {
    return { is: "answer", question: notice.question, error: plainOf(notice.answer) };
  }
  return "error" in notice ? { ...notice, error: plainOf(notice.error) } : notice;
}

export function fromPlain(plain: unknown): FromPlace {
  const notice = plain as FromPlace;
  if (notice.is === "status" && notice.status.error !== undefined) {
    return { ...notice, status: { ...notice.status, error: errorOf(notice.status.error) } };
  }
  if (notice.is === "answer" && "error" in notice) {
    return { is: "answer", question: notice.question, answer: errorOf(notice.error as PlainError) };
  }
  return "error" in notice ? { ...notice, error: errorOf(notice.error) } : notice;
}

function plainOf({ code, message }: JechoError): PlainError {
  return { code, message };
}

function errorOf({ code, message }: PlainError): JechoError {
  return new JechoError(code, message);
}
