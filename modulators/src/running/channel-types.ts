import { tokenOf } from "@jecho/shared/internal";

/** The types of channels' events as far as they were told: one channel's producers may write several. */
export class ChannelTypes {
  /** Schemas (.bfbs) by channel and token. */
  readonly #channels = new Map<number, Map<bigint, Uint8Array>>();

  add(channel: number, schema: Uint8Array): void {
    const known = this.#channels.get(channel) ?? new Map<bigint, Uint8Array>();
    this.#channels.set(channel, known.set(tokenOf(schema), schema));
  }

  find(channel: number, token: bigint): Uint8Array | undefined {
    return this.#channels.get(channel)?.get(token);
  }
}
