import type { JechoError } from "@jecho/shared";
import { type Passed, type Room, tokenOf } from "@jecho/shared/internal";
import type { ContextValue, Engine, Limits, Watch } from "../sandbox/sandbox.ts";

/** Surroundings that all modulators of a tier share. */
export interface Surroundings {
  readonly engine: Engine;
  readonly limits: Limits;
  readonly watch: Watch;
  /** Takes a frame. Its memory is reused after the call, unless the engine is trusted. */
  readonly write: (frame: Uint8Array) => void;
  /** Memory for frames of a trusted engine. Default: new memory. */
  readonly room?: Room | undefined;
  /** Takes events that pass unchanged, where the giver still has them; where this is absent they are written like other output. */
  readonly passed?: (passed: Omit<Passed, "kind">) => void;
  /** Types that the base channels' producers write. */
  readonly types: ChannelTypes;
  /** Views of producers' state, by base channel and name. */
  readonly views: ReadonlyMap<number, ReadonlyMap<string, ContextValue>>;
  /** The producer's time: milliseconds since 1970. */
  readonly timeMs: number;
  /** Takes a modulator's calls, encoded by values.ts and unchecked. */
  readonly called: (derived: number, calls: Uint8Array) => void;
  /** Called when a modulator was restarted without its state, or cannot read a producer's type, with the reason. */
  readonly impaired: (derived: number, why: JechoError) => void;
  /** Called between the calls of a long run. */
  readonly pause: () => void;
}

/** The known types of channels' events: the producers of one channel may write several. */
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
