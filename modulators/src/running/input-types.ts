import { JechoError, type Type } from "@jecho/shared";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { typeOf } from "./known-types.ts";

/** The types of one modulator's input, numbered as its sandbox knows them, and which of them it can read. */
export class InputTypes {
  readonly #find: (token: bigint) => Uint8Array | undefined;
  readonly #tell: (mismatch: JechoError) => void;
  /** Types that the sandbox knows, in the order of its numbers, from 1. */
  readonly #types: Type[] = [];
  /** The type that the modulator was written for; undefined where it takes any. */
  #reads: Type | undefined;
  #sandbox: Pick<Sandbox, "addType" | "checksInput" | "mismatchOf"> | undefined;
  /** Whether the modulator may be unable to read some type. */
  #isPicky = false;
  /** Whether the modulator can read events, by their token. */
  readonly #readable = new Map<bigint, boolean>();
  /** Token of the newest run that it could read: most runs have the same. */
  #newest: bigint | undefined;
  /** The type that was looked up last, and its number. */
  #numbered: Type | undefined;
  #number = 0;

  /**
   * @param find the schema of what the channel's producers write, by its token
   * @param tell called once for each writer whose type cannot be read
   */
  constructor(find: (token: bigint) => Uint8Array | undefined, tell: (mismatch: JechoError) => void) {
    this.#find = find;
    this.#tell = tell;
  }

  get size(): number {
    return this.#types.length;
  }

  get schemas(): readonly Uint8Array[] {
    return this.#types.map(({ schema }) => schema);
  }

  get reads(): Type | undefined {
    return this.#reads;
  }

  /**
   * Tells a sandbox the known types: the modulator runs in it from now on.
   *
   * @param schema of what it was written for. @throws JechoError `TYPE_INVALID`
   */
  readIn(
    sandbox: Pick<Sandbox, "addType" | "checksInput" | "mismatchOf">,
    schema: Uint8Array | undefined,
  ): void {
    this.#sandbox = sandbox;
    this.#reads = schema && typeOf(schema);
    this.#isPicky = schema !== undefined || sandbox.checksInput;
    this.#readable.clear();
    this.#newest = undefined;
  }

  at(number: number): Type | undefined {
    return this.#types[number - 1];
  }

  /** A further type. @returns its number */
  add(schema: Uint8Array): number {
    return this.#types.push(typeOf(schema));
  }

  /**
   * The number of the type with this token; 0 for opaque bytes. Tells the sandbox a new type.
   *
   * @throws JechoError `TYPE_UNKNOWN`
   */
  numberOf(token: bigint): number {
    if (token === 0n) return 0;
    if (token === this.#numbered?.token) return this.#number;
    for (let i = 0; i < this.#types.length; i++) {
      const type = this.#types[i] as Type;
      if (type.token !== token) continue;
      this.#numbered = type;
      this.#number = i + 1;
      return this.#number;
    }
    const schema = this.#schemaOf(token);
    this.#sandbox?.addType(schema);
    return this.add(schema);
  }

  /**
   * Whether the modulator may be given events with this token.
   *
   * @param producer who raised them
   * @throws JechoError `TYPE_UNKNOWN`, or the modulator's failure in looking at the type
   */
  canRead(token: bigint, producer: number): boolean {
    if (!this.#isPicky || token === this.#newest) return true;
    let can = this.#readable.get(token);
    if (can === undefined) {
      can = this.#match(token, producer);
      this.#readable.set(token, can);
    }
    if (can) this.#newest = token;
    return can;
  }

  #match(token: bigint, producer: number): boolean {
    const writer =
      token === 0n
        ? undefined
        : (this.#types.find(type => type.token === token) ?? typeOf(this.#schemaOf(token)));
    const mismatch = this.#mismatchOf(writer) ?? this.#mismatchInside(token);
    if (mismatch === undefined) return true;
    const reads = this.#reads === undefined ? "" : `, the modulator reads ${this.#reads}`;
    const sides = `producer ${producer} writes ${writer ?? "bytes"}${reads}`;
    this.#tell(new JechoError("TYPE_MISMATCH", `${mismatch.message} (${sides}); its events are dropped`));
    return false;
  }

  /** The mismatch with the type that the modulator was written for. */
  #mismatchOf(writer: Type | undefined): Error | undefined {
    if (this.#reads === undefined) return undefined;
    if (writer === undefined) return new Error("events without a type");
    try {
      this.#reads.readerOf(writer);
      return undefined;
    } catch (error) {
      return error as Error;
    }
  }

  /** The mismatch that the modulator's own check finds. */
  #mismatchInside(token: bigint): Error | undefined {
    const sandbox = this.#sandbox;
    return sandbox?.checksInput === true ? sandbox.mismatchOf(this.numberOf(token)) : undefined;
  }

  #schemaOf(token: bigint): Uint8Array {
    const schema = this.#find(token);
    if (schema === undefined)
      throw new JechoError("TYPE_UNKNOWN", "events of a type that nobody has told of");
    return schema;
  }
}
