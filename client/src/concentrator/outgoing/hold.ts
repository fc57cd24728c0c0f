import type { Installation } from "../../modulation/installation.ts";
import type { ProducerEndpoint } from "../endpoints/endpoint.ts";

/** A producer whose events, or a modulator whose output, somebody wants. */
type Wanted = ProducerEndpoint | Installation;

/** Time that producers wait for consumers to return. */
const APART_MS = 30_000;
/** Time that they wait then, since the last sign that a consumer is coming back. */
const TOGETHER_MS = 5000;

/**
 * Tracks why what is raised has to wait in the ring. After a broken connection it waits until everybody who wanted it is back, so that
 * nobody misses what came first; but not for long. And it waits while consumers elsewhere ask for that.
 */
export class Hold {
  readonly #ended: () => void;
  readonly #wanted = new Set<Wanted>();
  /** Channels whose consumers elsewhere asked the producers to wait. */
  readonly #blocked = new Set<number>();
  #isTogether = false;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  /** @param ended called when nobody is waited for any more */
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

  /** The connection broke. @param wanted what somebody wanted until then; undefined where nobody is expected back */
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
    this.stir();
  }

  /** Called when somebody is on the way back: a modulator is asked for, or a consumer wants something again. */
  stir(): void {
    if (this.#deadline !== undefined && this.#isTogether) this.#wait(TOGETHER_MS);
  }

  /** Called when somebody wants this channel or derived channel again. */
  back(wanted: Wanted): void {
    if (this.#wanted.delete(wanted) && this.#wanted.size === 0) this.end();
    else this.stir();
  }

  /** Called when all consumers of this process are back: nobody else is expected of what nobody elsewhere wanted. */
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
