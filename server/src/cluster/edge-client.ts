import type { ClientConnection } from "../connections/client-connection.ts";
import { joined, type PartOfAnswer } from "./answers.ts";

/** Most questions of a client for all gateways that wait for their answers. */
const MOST_ASKED = 8;

/** A message with events, or a question whether those before it are taken; they are confirmed in their order. */
export interface Unconfirmed {
  /** Messages to homes that it was made into, and that these have not confirmed. */
  left: number;
  /** Whether all of it has been handed on. */
  isWhole: boolean;
  bytes: number;
  /** The time of the client's, where it is a question. */
  readonly asked: number | undefined;
}

/** A client of this gateway that has something at another one. */
export class EdgeClient {
  readonly number: number;
  readonly connection: ClientConnection;
  /** Messages that a home has still to confirm, for each home where it has something. */
  readonly homes = new Map<number, Unconfirmed[]>();
  /** Members that it has something for, and that cannot be reached at the moment: it connects again when they can be, or are members no more. */
  readonly unreached = new Set<number>();
  readonly unconfirmed: Unconfirmed[] = [];
  /** The one at work. */
  current: Unconfirmed | undefined;
  readonly topics = new Set<EdgeTopic>();
  /** Bytes that wait for it, as its homes were told. */
  toldBytes = 0;
  /** Homes' answers that are told to the client as one, by their kind and its request, in the order in which they were asked. */
  readonly #parts = new Map<string, Map<number, PartOfAnswer | undefined>>();

  constructor(number: number, connection: ClientConnection) {
    this.number = number;
    this.connection = connection;
  }

  /** These gateways are to have an answer of this kind for it. @param request of the client's; 0 for what it goes on with */
  awaitParts(kind: PartOfAnswer["kind"], request: number, homes: Iterable<number>): void {
    const name = nameOf(kind, request);
    this.#parts.set(name, new Map(Array.from(homes, home => [home, undefined])));
    const [oldest = name] = this.#parts.keys();
    if (this.#parts.size > MOST_ASKED) this.#parts.delete(oldest);
  }

  /** A gateway has its part: the last one has all sent. @returns false where others have none */
  join(part: PartOfAnswer, home: number): boolean {
    const name = nameOf(part.kind, part.kind === "Inheritance" ? 0 : part.request);
    const parts = this.#parts.get(name);
    if (parts === undefined) return false;
    parts.set(home, part);
    const all = [...parts.values()].filter(one => one !== undefined);
    if (all.length < parts.size) return true;
    this.#parts.delete(name);
    this.connection.send(all.reduce(joined));
    return true;
  }
}

/** A topic of another gateway's that clients here take. */
export interface EdgeTopic {
  readonly name: string;
  readonly takers: Set<EdgeClient>;
  sinceLook: number;
}

/** A client may ask different things by one number. */
function nameOf(kind: PartOfAnswer["kind"], request: number): string {
  return `${kind} ${request}`;
}
