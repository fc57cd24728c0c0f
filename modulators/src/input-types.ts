import { JechoError, Type } from "@jecho/shared";

/** The types of what one modulator is fed with, numbered as its sandbox knows them, and which of them it can read. */
export class InputTypes {
  readonly #find: (token: bigint) => Uint8Array | undefined;
  readonly #tell: (mismatch: JechoError) => void;
  /** In the order of the sandbox's numbers, from 1. */
  readonly #types: Type[] = [];
  /** What the modulator was written for; undefined where it takes whatever comes. */
  #reads: Type | undefined;
  /** Can it read events with this token? */
  readonly #readable = new Map<bigint, boolean>();

  /**
   * @param find the schema of what the channel's producers write, by its token
   * @param tell is told, once, of each writer that cannot be read
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

  /** @param schema of what the modulator was written for. @throws JechoError `TYPE_INVALID` */
  readAs(schema: Uint8Array | undefined): void {
    this.#reads = schema && Type.fromSchema(schema);
    this.#readable.clear();
  }

  at(number: number): Type | undefined {
    return this.#types[number - 1];
  }

  /** A further type. @returns its number */
  add(schema: Uint8Array): number {
    return this.#types.push(Type.fromSchema(schema));
  }

  /**
   * The number of the type with this token; 0 for opaque bytes.
   *
   * @param tell the sandbox of a type that is new
   * @throws JechoError `TYPE_UNKNOWN`
   */
  numberOf(token: bigint, tell: (schema: Uint8Array) => void): number {
    if (token === 0n) return 0;
    for (let i = 0; i < this.#types.length; i++) if (this.#types[i]?.token === token) return i + 1;
    const schema = this.#schemaOf(token);
    tell(schema);
    return this.add(schema);
  }

  /**
   * May the modulator be given events with this token?
   *
   * @param producer who raised them
   * @throws JechoError `TYPE_UNKNOWN`
   */
  canRead(token: bigint, producer: number): boolean {
    if (this.#reads === undefined) return true;
    let can = this.#readable.get(token);
    if (can === undefined) {
      can = this.#match(this.#reads, token, producer);
      this.#readable.set(token, can);
    }
    return can;
  }

  #match(reads: Type, token: bigint, producer: number): boolean {
    const writer =
      token === 0n
        ? undefined
        : (this.#types.find(type => type.token === token) ?? Type.fromSchema(this.#schemaOf(token)));
    try {
      if (writer === undefined) throw new JechoError("TYPE_MISMATCH", "events without a type");
      reads.readerOf(writer);
      return true;
    } catch (error) {
      const sides = `producer ${producer} writes ${writer ?? "bytes"}, the modulator reads ${reads}`;
      const message = `${(error as Error).message} (${sides}); its events are dropped`;
      this.#tell(new JechoError("TYPE_MISMATCH", message));
      return false;
    }
  }

  #schemaOf(token: bigint): Uint8Array {
    const schema = this.#find(token);
    if (schema === undefined)
      throw new JechoError("TYPE_UNKNOWN", "events of a type that nobody has told of");
    return schema;
  }
}
