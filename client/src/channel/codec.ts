import { JechoError, type Type } from "@jecho/shared";

/** Converts between the events of an untyped channel and bytes. */
export interface Codec<T> {
  /** @throws JechoError `EVENT_INVALID` */
  encode(event: T): Uint8Array;
  /** @throws JechoError `EVENT_INVALID` */
  decode(bytes: Uint8Array): T;
}

/** A channel's name in full, and how its events are read and written: by a type, by a codec, or as bytes. */
export interface ChannelForm<T> {
  readonly name: string;
  readonly type: Type<T> | undefined;
  readonly codec: Codec<T> | undefined;
}

export function isCodec(value: unknown): value is Codec<never> {
  const { encode, decode } = (value ?? {}) as Partial<Codec<never>>;
  return typeof encode === "function" && typeof decode === "function";
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

const JSON_CODEC: Codec<unknown> = {
  encode(event) {
    let text: string | undefined;
    try {
      text = JSON.stringify(event);
    } catch (error) {
      throw JechoError.from(error, "EVENT_INVALID");
    }
    if (text === undefined)
      throw new JechoError("EVENT_INVALID", `a ${typeof event} cannot be written as JSON`);
    return encoder.encode(text);
  },
  decode(bytes) {
    try {
      return JSON.parse(decoder.decode(bytes));
    } catch (error) {
      throw JechoError.from(error, "EVENT_INVALID");
    }
  },
};

/**
 * Events of an untyped channel as JSON: `session.channel("chat", json<Message>())`. Nothing is checked against `T`; modulators
 * of the channel see the bytes.
 */
export function json<T = unknown>(): Codec<T> {
  return JSON_CODEC as Codec<T>;
}
