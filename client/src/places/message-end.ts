import { type ErrorCode, JechoError } from "@jecho/shared";
import type { Modulator } from "@jecho/shared/internal";
import type { ConcentratorOptions } from "../concentrator/parts.ts";
import type { Placement } from "../placement.ts";
import type { ControlRequest, PortNotice, PortRequest } from "../port.ts";

/** One end of a way between threads, on which messages pass in order. */
export interface MessageEnd {
  /** Is memory that is posted seen by both sides? */
  readonly sharesMemory: boolean;
  post(message: unknown, transfer?: ArrayBuffer[]): void;
  /** @param failed the other side could not begin, or ended without having been asked to */
  listen(receive: (message: unknown) => void, failed: (why: string) => void): void;
  close(): void;
}

/** What the application's side sends. The first is `attach`. */
export type ToPlace =
  | { readonly is: "attach"; readonly options: ConcentratorOptions }
  | PortRequest
  | Handled
  | RequestRow
  | Wake
  /** The page is frozen and takes nothing, or goes on. */
  | { readonly is: "frozen"; readonly frozen: boolean }
  /** So many bytes of events have been handed to their consumers. */
  | { readonly is: "eventsTaken"; readonly bytes: number };

/** What the place tells. It sends several at once, and between them `Runs`. */
export type FromPlace = { readonly is: "ready" } | { readonly is: "closed" } | PortNotice;

/** Requests of the kind `handled`, which are many: values in a row, for objects take several times as long from thread to thread. */
export type Handled = (number | string)[];
/** Values of each of them. */
const HANDLED = 8;

/** Other requests that somebody waits for, in a row for the same reason, behind their kinds. */
export type RequestRow = UpdatedRow | ResetRow;
type UpdatedRow = [
  is: "updateObject",
  endpoint: number,
  version: number,
  state: string,
  /** The copy and the number of each write that was taken. */
  ...taken: number[],
];
/** Values before those. */
const UPDATED = 4;
type ResetRow = [is: "resetConsumer", endpoint: number, reset: number] | ModulatedRow;
type ModulatedRow = [
  is: "resetConsumer",
  endpoint: number,
  reset: number,
  source: string,
  parameters: string,
  key: string,
  compares: boolean,
  capabilities: number,
  /** The capabilities, and five values of each object. */
  ...rest: (string | number | boolean)[],
];
/** Values before those. */
const RESET = 8;

type RowRequest = Extract<ControlRequest, { is: RequestRow[0] }>;

export function hasRow(request: PortRequest): request is RowRequest {
  return request.is === "updateObject" || request.is === "resetConsumer";
}

export function toRow(request: RowRequest): RequestRow {
  const { is, endpoint } = request;
  if (is === "updateObject") {
    const row: UpdatedRow = [is, endpoint, request.version, request.state];
    for (const { copy, write } of request.taken) row.push(copy, write);
    return row;
  }
  const { reset, modulator } = request;
  if (modulator === undefined) return [is, endpoint, reset];
  const { source, parameters, key, compares, capabilities, objects } = modulator;
  const row: ModulatedRow = [is, endpoint, reset, source, parameters, key, compares, capabilities.length];
  for (const capability of capabilities) row.push(capability);
  for (const { name, object, version, state, lazy } of objects) row.push(name, object, version, state, lazy);
  return row;
}

export function isRow(values: RequestRow | Handled): values is RequestRow {
  return typeof values[0] === "string";
}

/** The kind is said anew: the text of one that was sent is another string, which takes longer to compare. */
export function fromRow(row: RequestRow): RowRequest {
  if (row[0] === "updateObject") {
    const taken: { copy: number; write: number }[] = [];
    for (let i = UPDATED; i < row.length; i += 2)
      taken.push({ copy: row[i] as number, write: row[i + 1] as number });
    return { is: "updateObject", endpoint: row[1], version: row[2], state: row[3], taken };
  }
  return {
    is: "resetConsumer",
    endpoint: row[1],
    reset: row[2],
    modulator: row.length < RESET ? undefined : modulatorOf(row as ModulatedRow),
  };
}

function modulatorOf(row: ModulatedRow): Modulator {
  const first = RESET + row[7];
  const objects: Modulator["objects"][number][] = [];
  for (let i = first; i < row.length; i += 5)
    objects.push({
      name: row[i] as string,
      object: row[i + 1] as string,
      version: row[i + 2] as number,
      state: row[i + 3] as string,
      lazy: row[i + 4] as boolean,
    });
  const capabilities = row.slice(RESET, first) as string[];
  return { source: row[3], parameters: row[4], key: row[5], compares: row[6], capabilities, objects };
}

/** A request of the kind `wake`, one for each burst of events: twice the queue's number, and one more where `now` is true. */
export type Wake = number;

type HandledRequest = Extract<ControlRequest, { is: "handled" }>;

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

interface PlainError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A notice of the kind `processed`, in a row as above. */
type Processed = [
  endpoint: number,
  raised: number,
  consumers: number,
  failed: number,
  message: string,
  missing: number,
];

/** A notice of the kind `state`, likewise. */
type State = [
  is: "state",
  endpoint: number,
  state: string,
  /** The id and the name of each reader. */
  ...readers: (number | string)[],
];
/** Values before those. */
const STATE = 3;

/** A notice that a consumer is open, likewise: where its modulator runs, and the objects that are read on its events' way. */
type OpenedRow = [
  is: "opened",
  endpoint: number,
  reset: number,
  replays: boolean,
  placements: number,
  /** Of each placement where it is, why, and the number of its producers, behind which these follow; then the objects. */
  ...rest: (string | number | bigint | undefined)[],
];
/** Values before those. */
const OPENED = 5;

/** The notice as data that can be cloned: an error's class would be lost on the way. */
export function toPlain(notice: FromPlace): unknown {
  if (notice.is === "state") {
    const row: State = [notice.is, notice.endpoint, notice.state];
    for (const { id, name } of notice.readers) row.push(id, name);
    return row;
  }
  if (notice.is === "opened" && notice.placements !== undefined && notice.recovered === undefined) {
    const { is, endpoint, reset, replays = false, placements, objects = [] } = notice;
    const row: OpenedRow = [is, endpoint, reset, replays, placements.length];
    for (const { at, code, why, producers } of placements) {
      row.push(at, code, why, producers.length);
      for (const producer of producers) row.push(producer);
    }
    for (const object of objects) row.push(object);
    return row;
  }
  if (notice.is === "processed") {
    const { consumers, failed, message, missing } = notice.outcome;
    return [notice.endpoint, notice.raised, consumers, failed, message, missing] satisfies Processed;
  }
  if (notice.is === "status" && notice.status.error !== undefined) {
    return { ...notice, status: { ...notice.status, error: plainOf(notice.status.error) } };
  }
  if (notice.is === "answer" && notice.answer instanceof JechoError) {
    return { is: "answer", question: notice.question, error: plainOf(notice.answer) };
  }
  return "error" in notice ? { ...notice, error: plainOf(notice.error) } : notice;
}

export function fromPlain(plain: unknown): FromPlace {
  if (Array.isArray(plain)) return noticeOf(plain as State | OpenedRow | Processed);
  const notice = plain as FromPlace;
  if (notice.is === "status" && notice.status.error !== undefined) {
    return { ...notice, status: { ...notice.status, error: errorOf(notice.status.error) } };
  }
  if (notice.is === "answer" && "error" in notice) {
    return { is: "answer", question: notice.question, answer: errorOf(notice.error as PlainError) };
  }
  return "error" in notice ? { ...notice, error: errorOf(notice.error) } : notice;
}

/** As in `fromRow`. */
function noticeOf(row: State | OpenedRow | Processed): PortNotice {
  switch (row[0]) {
    case "state": {
      const readers: { id: number; name: string }[] = [];
      for (let i = STATE; i < row.length; i += 2)
        readers.push({ id: row[i] as number, name: row[i + 1] as string });
      return { is: "state", endpoint: row[1], state: row[2], readers };
    }
    case "opened": {
      const placements: Placement[] = [];
      let i = OPENED;
      while (placements.length < row[4]) {
        const end = i + 4 + (row[i + 3] as number);
        placements.push({
          at: row[i] as Placement["at"],
          code: row[i + 1] as Placement["code"],
          why: row[i + 2] as string,
          producers: row.slice(i + 4, end) as number[],
        });
        i = end;
      }
      const objects = row.slice(i) as bigint[];
      return { is: "opened", endpoint: row[1], reset: row[2], replays: row[3], placements, objects };
    }
    default: {
      const [endpoint, raised, consumers, failed, message, missing] = row;
      return { is: "processed", endpoint, raised, outcome: { consumers, failed, message, missing } };
    }
  }
}

function plainOf({ code, message }: JechoError): PlainError {
  return { code, message };
}

function errorOf({ code, message }: PlainError): JechoError {
  return new JechoError(code, message);
}
