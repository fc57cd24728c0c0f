import type { EventSource } from "@jecho/modulators";
import { JechoError, type Type } from "@jecho/shared";
import type { EventsFrame, VerifyEvent } from "@jecho/shared/internal";
import type { ChannelForm } from "../channel/codec.ts";

const NOTHING = new Uint8Array(0);

/** Reads events of one type. */
interface Reading {
  readonly writer: Type;
  readonly verify: VerifyEvent;
  readonly read: ReturnType<Type["readerOf"]>;
}

/** The reason why a consumer cannot read a writer's events. */
export interface Mismatch {
  readonly error: JechoError;
  /** Whether the application knows. It is told once. */
  isTold: boolean;
}

/** The producer behind a producer's number on a channel. */
export interface RaisedBy {
  /** @returns undefined where that is not known */
  of(channel: number, producer: number): string | undefined;
}

/** The types that events were written with, as far as they are known here. */
export interface WrittenBy {
  get(token: bigint): Type | undefined;
}

/**
 * Reads events for one consumer: verified along their writer's type, and in place. A modulator's output may have
 * another type than the channel; then its names are its own.
 */
export class EventReader<T> {
  // Fields that each run needs come first, so that they lie together in memory.
  /** Types of writers that this consumer cannot read, by token: mostly none. */
  #mismatches: Map<bigint, Mismatch> | undefined;
  /** Reads events of the writer whose events came last. */
  #reading: Reading | undefined;
  /** Reads untyped events; undefined where none are expected. */
  #ofBytes: ((bytes: Uint8Array) => unknown) | undefined;
  readonly #channel: ChannelForm<T>;
  readonly #types: WrittenBy;
  /** Decodes events of the base channel that come inside others, for demodulators. */
  readonly source: EventSource = { decode: (token, bytes) => this.#decode(token, bytes) };
  #isModulated = false;

  constructor(channel: ChannelForm<T>, isModulated: boolean, types: WrittenBy) {
    this.#channel = channel;
    this.#types = types;
    this.modulate(isModulated);
  }

  /** Sets whether events come through a modulator, from now on. */
  modulate(isModulated: boolean): void {
    const { type, codec } = this.#channel;
    this.#isModulated = isModulated;
    this.#reading = undefined;
    if (isModulated || (type === undefined && codec === undefined)) this.#ofBytes = asTheyAre;
    else this.#ofBytes = type === undefined ? bytes => codec?.decode(bytes) : undefined;
  }

  /** The type that a run's events were written with; undefined where they are bytes. */
  writerOf(token: bigint): Type | undefined {
    return token === 0n ? undefined : this.#types.get(token);
  }

  /**
   * The reason why events of this type cannot be read, if so.
   *
   * @param producer who raised them
   */
  mismatchOf(token: bigint, writer: Type | undefined, producer: number): Mismatch | undefined {
    if (token === 0n ? this.#ofBytes !== undefined : writer === undefined || this.#reading?.writer === writer)
      return undefined;
    return this.#mismatches?.get(token) ?? this.#match(token, writer, producer);
  }

  /** Types that could not be read are tried again. */
  forgetMismatches(): void {
    this.#mismatches = undefined;
  }

  /**
   * Reads one event of a run without a mismatch.
   *
   * @throws JechoError `TYPE_UNKNOWN`, `EVENT_INVALID`
   */
  read(frame: EventsFrame, i: number, token: bigint, writer: Type | undefined): unknown {
    const start = frame.eventStart(i);
    const end = frame.eventEnd(i);
    if (token === 0n) return this.#readBytes(frame.view, start, end);
    if (writer === undefined) throw unknown(token);
    const { verify, read } = this.#reading as Reading;
    verify(frame.view, start, end);
    return read(frame.view, frame.bytes, start);
  }

  #readBytes(view: DataView, start: number, end: number): unknown {
    // An event without content is a mark; it needs no view of its own.
    const bytes = start === end ? NOTHING : new Uint8Array(view.buffer, view.byteOffset + start, end - start);
    return this.#ofBytes?.(bytes);
  }

  /** Plans how events of this type are read. @returns why not */
  #match(token: bigint, writer: Type | undefined, producer: number): Mismatch | undefined {
    const { name, type } = this.#channel;
    if (writer === undefined)
      return this.#mismatch(token, `untyped bytes on ${name}, where ${type?.name} is expected`);
    const reader: Type = this.#isModulated || type === undefined ? writer : (type as Type);
    try {
      this.#reading = { writer, verify: reader.verifierOf(writer), read: reader.readerOf(writer) };
      return undefined;
    } catch (error) {
      const { message } = error as Error;
      const sides = `producer ${producer} writes ${writer}, this consumer reads ${reader}`;
      return this.#mismatch(token, `${message} (${name}: ${sides}); its events are dropped`);
    }
  }

  #mismatch(token: bigint, message: string): Mismatch {
    const mismatch = { error: new JechoError("TYPE_MISMATCH", message), isTold: false };
    this.#mismatches ??= new Map();
    this.#mismatches.set(token, mismatch);
    return mismatch;
  }

  #decode(token: bigint, bytes: Uint8Array): unknown {
    const { type, codec } = this.#channel;
    // Vectors in it are views on it, so it begins where they are aligned.
    const own = bytes.slice();
    if (token === 0n) return codec === undefined ? own : codec.decode(own);
    const writer = this.#types.get(token);
    if (writer === undefined) throw unknown(token);
    const reader = (type as Type | undefined) ?? writer;
    const view = new DataView(own.buffer);
    reader.verifierOf(writer)(view, 0, own.byteLength);
    return reader.readerOf(writer)(view, own, 0);
  }
}

function asTheyAre(bytes: Uint8Array): Uint8Array {
  return bytes;
}

function unknown(token: bigint): JechoError {
  return new JechoError("TYPE_UNKNOWN", `an event of the unknown type ${token.toString(16)}`);
}
