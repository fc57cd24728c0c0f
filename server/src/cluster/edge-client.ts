import { JechoError } from "@jecho/shared";
import { refusal } from "@jecho/shared/internal";
import type { ClientConnection } from "../connections/client-connection.ts";
import { joined, type PartOfAnswer } from "./answers.ts";

/** Most questions of a client for all gateways that wait for their answers. */
const MOST_ASKED = 64;

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
  readonly #asked = new Map<string, AskedOfAll>();

  constructor(number: number, connection: ClientConnection) {
    this.number = number;
    this.connection = connection;
  }

  /** These gateways are to have an answer of this kind for it. @param request of the client's; 0 for what it goes on with */
  awaitParts(kind: PartOfAnswer["kind"], request: number, homes: Iterable<number>): void {
    this.#asked.set(nameOf(kind, request), {
      request,
      parts: new Map(Array.from(homes, home => [home, undefined])),
    });
    const [oldest] = this.#asked;
    if (oldest === undefined || this.#asked.size <= MOST_ASKED) return;
    // A home may have refused it already: then the client waits for it no more.
    const [name, asked] = oldest;
    this.#asked.delete(name);
    const why = `at most ${MOST_ASKED} questions for all gateways wait for their answers`;
    if (asked.request === 0) return this.connection.end("OVERLOADED", why);
    this.connection.send(refusal(asked.request, new JechoError("OVERLOADED", why)));
  }

  /** A gateway has its part: the last one has all sent. @returns false where others have none */
  join(part: PartOfAnswer, home: number): boolean {
    const name = nameOf(part.kind, part.kind === "Inheritance" ? 0 : part.request);
    const parts = this.#asked.get(name)?.parts;
    if (parts === undefined) return false;
    parts.set(home, part);
    const all = [...parts.values()].filter(one => one !== undefined);
    if (all.length < parts.size) return true;
    this.#asked.delete(name);
    this.connection.send(all.reduce(joined));
    return true;
  }
}

/** A question for all gateways. */
interface AskedOfAll {
  /** The client's; 0 where it has asked nothing. */
  readonly request: number;
  /** The gateways' parts of the answer, as far as they have come. */
  readonly parts: Map<number, PartOfAnswer | undefined>;
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
