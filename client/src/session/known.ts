import { JechoError, Type } from "@jecho/shared";
import { readBfbs, tokenOf } from "@jecho/shared/internal";
import type { Answer, Question } from "../places/port.ts";

/**
 * Types that are in use in this thread, by token. All sessions share one object for each, since readers of events are compiled for that
 * object.
 */
const inUse = new Map<bigint, WeakRef<Type>>();
const unused = new FinalizationRegistry<bigint>(token => {
  if (inUse.get(token)?.deref() === undefined) inUse.delete(token);
});

/** The one type object for a schema: this one, or an earlier one with the same schema. */
export function theOne(type: Type): Type {
  const known = inUse.get(type.token)?.deref();
  if (known !== undefined) return known;
  inUse.set(type.token, new WeakRef(type));
  unused.register(type, type.token);
  return type;
}

/** Types that a session knows. A writer's type is told before its events come; other types can be asked for. */
export class KnownTypes {
  readonly #ask: (about: Question) => Promise<Answer>;
  readonly #types = new Map<bigint, Type>();

  constructor(ask: (about: Question) => Promise<Answer>) {
    this.#ask = ask;
  }

  /** A type in canonical binary form; it is told for every consumer that may need it. */
  add(schema: Uint8Array): void {
    const token = tokenOf(schema);
    if (this.#types.has(token)) return;
    this.#types.set(token, inUse.get(token)?.deref() ?? theOne(new Type(readBfbs(schema), schema)));
  }

  get(token: bigint): Type | undefined {
    return this.#types.get(token);
  }

  /** @throws JechoError `TYPE_UNKNOWN`, or what ended the connection */
  async fetch(token: bigint): Promise<Type> {
    if (!this.#types.has(token)) await this.#ask({ token });
    const told = this.#types.get(token);
    if (told === undefined) throw new JechoError("TYPE_UNKNOWN", "the gateway answered with another type");
    return told;
  }

  /** The types that the present producers of a channel write. @throws JechoError what ended the connection */
  async ofChannel(channel: string): Promise<Type[]> {
    const tokens = (await this.#ask({ channel })) as readonly bigint[];
    return Promise.all(tokens.map(token => this.fetch(token)));
  }
}

/** Most names that are remembered; beyond it the oldest are forgotten. */
const MOST = 16_384;

/** The subjects of producers' tokens, as the gateway tells them before the first event of each. */
export class ProducerNames {
  readonly #names = new Map<string, string>();

  /** @param channel number of the replay in which the producer's number is another one's; 0 for whoever is there now */
  set(channel: number, producer: number, name: string): void {
    const key = `${channel}/${producer}`;
    this.#names.delete(key);
    if (name !== "" || channel !== 0) this.#names.set(key, name);
    if (this.#names.size <= MOST) return;
    for (const [oldest] of this.#names) {
      this.#names.delete(oldest);
      return;
    }
  }

  /** @returns undefined where it is not known */
  of(channel: number, producer: number): string | undefined {
    if (this.#names.size === 0) return undefined;
    return (this.#names.get(`${channel}/${producer}`) ?? this.#names.get(`0/${producer}`)) || undefined;
  }
}
