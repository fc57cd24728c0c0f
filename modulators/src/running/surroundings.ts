import type { JechoError } from "@jecho/shared";
import { type Passed, type Room, tokenOf } from "@jecho/shared/internal";
import type { ContextValue, Engine, Limits, Watch } from "../sandbox/sandbox.ts";

/** The surroundings that all modulators of a tier share. */
export interface Surroundings {
  readonly engine: Engine;
  readonly limits: Limits;
  readonly watch: Watch;
  /** Takes a frame; unless the engine is trusted, it lies in memory to be written again. */
  readonly write: (frame: Uint8Array) => void;
  /** Memory for frames of a trusted engine. Default: new memory. */
  readonly room?: Room | undefined;
  /** Takes events that leave as they came, where the giver still has them; else they are written like other output. */
  readonly passed?: (passed: Omit<Passed, "kind">) => void;
  /** Types that the base channels' producers write. */
  readonly types: ChannelTypes;
  /** Views of producers' state, by base channel and name. */
  readonly views: ReadonlyMap<number, ReadonlyMap<string, ContextValue>>;
  /** Milliseconds since 1970, as the producer said last. */
  readonly timeMs: number;
  /** Takes what a modulator called, as encoded by values.ts; unchecked. */
  readonly called: (derived: number, calls: Uint8Array) => void;
  /** Told of a modulator that began anew, without the state that it had, or that cannot read what one writes, and why. */
  readonly impaired: (derived: number, why: JechoError) => void;
  /** Called between the calls of a long run. */
  readonly pause: () => void;
}

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
