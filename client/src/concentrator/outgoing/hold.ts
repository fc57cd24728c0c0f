import type { Installation } from "../../modulation/installation.ts";
import type { ProducerEndpoint } from "../endpoints/endpoint.ts";

/** A producer whose events are wanted, or a modulator whose output is. */
type Wanted = ProducerEndpoint | Installation;

/** Longest time that producers wait for returning consumers. */
const APART_MS = 30_000;
/** Longest time since the last sign of a returning consumer. */
const TOGETHER_MS = 5000;

/**
 * Tracks why raised events have to wait in the ring: after a broken connection until all consumers are back, so that none misses the first
 * events, but not for long; and while consumers elsewhere ask for it.
 */
export class Hold {
  readonly #ended: () => void;
  readonly #wanted = new Set<Wanted>();
  /** Channels whose consumers elsewhere asked the producers to wait. */
  readonly #blocked = new Set<number>();
  #isTogether = false;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  /** @param ended called when the waiting has ended */
  constructor(ended: () => void) {
    this.#ended = ended;
  }

  get isHolding(): boolean {
    return this.#deadline !== undefined;
  }

  /** Whether anybody elsewhere asks to wait. */
  get isBlocked(): boolean {
    return this.#blocked.size > 0;
  }

  /** The consumers of a channel elsewhere ask to wait, or to go on. */
  told(channel: number, ready: boolean): void {
    if (ready) this.#blocked.delete(channel);
    else this.#blocked.add(channel);
  }

  isHeld(wanted: Wanted): boolean {
    return this.#wanted.has(wanted);
  }

  /** The connection broke. @param wanted what was wanted until then; undefined where no consumer is expected back */
  interrupted(wanted: Iterable<Wanted> | undefined): void {
    this.#blocked.clear();
    if (wanted === undefined) return this.end();
    for (const it of wanted) this.#wanted.add(it);
    this.#isTogether = false;
    if (this.#wanted.size > 0) this.#wait(APART_MS);
  }

  /** Called when there is a connection again: raised events wait until all modulators are installed for the producers here. */
  live(): void {
    if (this.#deadline !== undefined) this.#wait(APART_MS);
  }

  /** Called when the modulators are installed: the events of all producers here count again. */
  opened(): void {
    if (this.#isTogether) return;
    this.#isTogether = true;
    if (this.#wanted.size === 0) this.end();
    else this.stir();
  }

  /** Called at a sign of a returning consumer: a modulator is asked for, or something is wanted again. */
  stir(): void {
    if (this.#deadline !== undefined && this.#isTogether) this.#wait(TOGETHER_MS);
  }

  /** Called when this channel or derived channel is wanted again. */
  back(wanted: Wanted): void {
    // Before that a producer may not know yet who else wants its events.
    if (this.#wanted.delete(wanted) && this.#wanted.size === 0 && this.#isTogether) this.end();
    else this.stir();
  }

  /** Called when all consumers of this process are back: nothing that only they wanted waits any longer. */
  allHere(): void {
    for (const wanted of this.#wanted) if (wanted.elsewhere === 0) this.back(wanted);
  }

  /** Ends the waiting. */
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
