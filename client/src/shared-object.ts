import type { SharedReference } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";

/**
 * Parameters shared between a consumer and its modulators. This is the master copy; every producer that runs a
 * modulator with it has a secondary one. Updates are prompt: they go out with the next write, the newest only.
 */
export class SharedObject<S extends object = object> implements SharedReference {
  /** Names this object everywhere. */
  readonly id: string;
  readonly #publish: (object: SharedObject<S>) => void;
  #state: Readonly<S>;
  #version: number;
  #json: string;

  /** Made by `session.share`. */
  constructor(id: string, state: S, publish: (object: SharedObject<S>) => void, version = 1) {
    this.id = id;
    this.#version = version;
    this.#json = toJson(state);
    this.#state = Object.freeze({ ...state });
    this.#publish = publish;
  }

  /** The newest state; it is never changed, only replaced. */
  get state(): Readonly<S> {
    return this.#state;
  }

  /** Counts the updates; derived events say with which version they were made. */
  get version(): number {
    return this.#version;
  }

  /**
   * Replaces some of the state and publishes it. What does not change costs nothing.
   *
   * @throws JechoError `OBJECT_INVALID` where the new state is not plain JSON data
   */
  update(patch: Partial<S>): void {
    const state = { ...this.#state, ...patch };
    const json = toJson(state);
    if (json === this.#json) return;
    this.#json = json;
    this.#state = Object.freeze(state);
    this.#version++;
    this.#publish(this);
  }
}

function toJson(state: object): string {
  for (const [name, value] of Object.entries(state)) {
    // JSON would turn these into null behind the sender's back.
    if (value === undefined || (typeof value === "number" && !Number.isFinite(value))) {
      throw new JechoError("OBJECT_INVALID", `"${name}" is ${String(value)}, which is not plain data`);
    }
  }
  try {
    return JSON.stringify(state);
  } catch (error) {
    throw new JechoError("OBJECT_INVALID", (error as Error).message);
  }
}
