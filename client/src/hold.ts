import type { Lane } from "./lane.ts";

/** How long consumers elsewhere are expected back while there is no connection, and once there is one again. */
const APART_MS = 30_000;
const TOGETHER_MS = 5000;

/**
 * After a broken connection, what is raised waits in the ring until everybody who wanted it is back, so that nobody misses
 * what came first; but not for long.
 */
export class Hold {
  readonly #ended: () => void;
  readonly #lanes = new Set<Lane>();
  #deadline: ReturnType<typeof setTimeout> | undefined;

  /** @param ended called when nobody is waited for any more */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  get isHolding(): boolean {
    return this.#deadline !== undefined;
  }

  isHeld(lane: Lane): boolean {
    return this.#lanes.has(lane);
  }

  /** The connection broke. @param wanted the lanes that somebody elsewhere wanted */
  begin(wanted: Iterable<Lane>): void {
    for (const lane of wanted) this.#lanes.add(lane);
    if (this.#lanes.size > 0 && this.#deadline === undefined) this.#wait(APART_MS);
  }

  /** There is a connection again. */
  live(): void {
    if (this.#deadline !== undefined) this.#wait(TOGETHER_MS);
  }

  /** Somebody wants this lane again. */
  back(lane: Lane): void {
    if (this.#lanes.delete(lane) && this.#lanes.size === 0) this.end();
  }

  /** Nobody is waited for any longer. */
  end(): void {
    if (this.#deadline === undefined) return;
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
    this.#lanes.clear();
    this.#ended();
  }

  #wait(ms: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.end(), ms);
  }
}
