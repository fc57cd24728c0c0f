import type { Installation } from "../modulation/installation.ts";
import type { ProducerEndpoint } from "./endpoint.ts";

/** What somebody elsewhere wants: a producer's events, or what a modulator makes. */
type Wanted = ProducerEndpoint | Installation;

/** How long consumers elsewhere are expected back, while producers here are not open. */
const APART_MS = 30_000;
/** And once these are open again, since the last sign that somebody is coming back. */
const TOGETHER_MS = 5000;

/**
 * After a broken connection, what is raised waits in the ring until everybody who wanted it is back, so that nobody misses
 * what came first; but not for long.
 */
export class Hold {
  readonly #ended: () => void;
  readonly #wanted = new Set<Wanted>();
  #isTogether = false;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  /** @param ended called when nobody is waited for any more */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  get isHolding(): boolean {
    return this.#deadline !== undefined;
  }

  isHeld(wanted: Wanted): boolean {
    return this.#wanted.has(wanted);
  }

  /** The connection broke. @param wanted what somebody elsewhere wanted until then */
  begin(wanted: Iterable<Wanted>): void {
    for (const it of wanted) this.#wanted.add(it);
    this.#isTogether = false;
    if (this.#wanted.size > 0) this.#wait(APART_MS);
  }

  /** There is a connection again: what is raised waits until the producers here are open at it. */
  live(): void {
    if (this.#deadline !== undefined) this.#wait(APART_MS);
  }

  /** The producers here are open again. */
  opened(): void {
    this.#isTogether = true;
    this.stir();
  }

  /** Somebody is on the way back: a modulator is asked for, or a consumer wants something again. */
  stir(): void {
    if (this.#deadline !== undefined && this.#isTogether) this.#wait(TOGETHER_MS);
  }

  /** Somebody wants this again. */
  back(wanted: Wanted): void {
    if (this.#wanted.delete(wanted) && this.#wanted.size === 0) this.end();
    else this.stir();
  }

  /** Nobody is waited for any longer. */
  end(): void {
    if (this.#deadline === undefined) return;
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
    this.#wanted.clear();
    this.#ended();
  }

  #wait(ms: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.end(), ms);
  }
}
