import { sha256 } from "@noble/hashes/sha2.js";
import { type ByteSource, sourceOf } from "./accessor.ts";
import { createMaker, createReader, type MakeEvent, type ReadEvent, readerOf } from "./reader.ts";
import { type FieldInfo, reflect } from "./reflect.ts";
import type { ObjectType } from "./schema.ts";
import { createVerifier, type VerifyEvent } from "./verify.ts";

/**
 * The type of a channel's events: a FlatBuffers schema whose root table is the event. It reads events; `encodeEvent` writes them.
 *
 * `T` is the TypeScript face of an event; it has no counterpart at run time.
 */
export class Type<T = unknown> {
  /** The root table's name, such as `weather.Reading`. */
  readonly name: string;
  /** The root table as this library keeps it; `fields` is the form for programs. */
  readonly root: ObjectType;
  /** The schema in canonical binary form. */
  readonly schema: Uint8Array;
  /** Names this schema everywhere: the first 8 bytes of the SHA-256 of `schema`. */
  readonly token: bigint;
  /** Never set: carries `T` for the compiler. */
  declare readonly event: T;
  readonly #readers = new Map<ObjectType, ReadEvent>();
  readonly #verifiers = new Map<ObjectType, VerifyEvent>();
  /** Verifies events written with this very type; made at the first. */
  #verify: VerifyEvent | undefined;
  #make: MakeEvent | undefined;

  /** Made by `type`, `typeFromSchema` and, from a schema's text, `typeFromFbs` of the face `fbs`. */
  constructor(root: ObjectType, schema: Uint8Array) {
    this.name = root.name;
    this.root = root;
    this.schema = schema;
    this.token = tokenOf(schema);
  }

  /** The fields of an event of this type. */
  get fields(): readonly FieldInfo[] {
    return reflect(this.root);
  }

  /** The type's name and token: types may have one name and differ; tokens do not. */
  toString(): string {
    return `${this.name} (${this.token.toString(16).padStart(16, "0")})`;
  }

  /** @throws JechoError `EVENT_INVALID` where the bytes [start, end) are not an event of this type */
  verify(view: DataView, start: number, end: number): void {
    this.verifierOf(this)(view, start, end);
  }

  /** Checks what a reader of this type can reach in events of type `writer`. @throws JechoError `TYPE_MISMATCH` */
  verifierOf(writer: Type): VerifyEvent {
    let verifier = this.#verifiers.get(writer.root);
    if (verifier === undefined) {
      verifier = createVerifier(writer.root, this.root);
      this.#verifiers.set(writer.root, verifier);
    }
    return verifier;
  }

  /** Reads events that were written with type `writer` in place. @throws JechoError `TYPE_MISMATCH` */
  readerOf(writer: Type): ReadEvent {
    let reader = this.#readers.get(writer.root);
    if (reader === undefined) {
      reader = writer.root === this.root ? readerOf(this.#ownMaker()) : createReader(writer.root, this.root);
      this.#readers.set(writer.root, reader);
    }
    return reader;
  }

  /** Decodes one event out of bytes that hold nothing else; typed arrays are views on them. @throws JechoError `EVENT_INVALID` */
  decode(bytes: Uint8Array): T {
    const verify = this.#verify ?? this.#ownVerifier();
    const make = this.#make ?? this.#ownMaker();
    const { buffer } = bytes;
    const source = buffer === newest?.buffer ? newest : wholeOf(buffer);
    // In a buffer that is kept every place is a small integer. Engines are told so: what might be more they calculate as fractions.
    const start = bytes.byteOffset | 0;
    if (source === undefined || (start & 7) !== 0) return this.#decodeApart(bytes);
    return make(source, verify(source.view, start, (start + bytes.byteLength) | 0)) as T;
  }

  #ownVerifier(): VerifyEvent {
    this.#verify ??= this.verifierOf(this);
    return this.#verify;
  }

  #ownMaker(): MakeEvent {
    this.#make ??= createMaker(this.root);
    return this.#make;
  }

  /** Wherever it lies: alignment is counted from the event's first byte. */
  #decodeApart(bytes: Uint8Array): T {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.verify(view, 0, bytes.byteLength);
    return this.readerOf(this)(view, bytes, 0) as T;
  }
}

/** The token of the type with this schema in canonical binary form; cheaper than reading it, for who may know the type. */
export function tokenOf(schema: Uint8Array): bigint {
  return new DataView(sha256(schema).buffer).getBigUint64(0);
}

const KEPT_BYTES = 1 << 20;
/** The buffer that an event was decoded in last: to make views on it takes longer than to read a small event, and events often lie together. */
let newest: ByteSource | undefined;

/** @returns undefined for a large one: the views would keep it */
function wholeOf(buffer: ArrayBufferLike): ByteSource | undefined {
  if (buffer.byteLength > KEPT_BYTES) return undefined;
  newest = sourceOf(new DataView(buffer), new Uint8Array(buffer));
  return newest;
}
