/** Bytes of events on their way to an application's thread from which on more have to wait, and when they go on. */
const HIGH_WATER_BYTES = 4 << 20;
const LOW_WATER_BYTES = 1 << 20;
/**
 * Bytes that may be on the way in spite of that: what was sent before, the past, and events of this process, which no
 * gateway holds back.
 */
const LIMIT_BYTES = 32 << 20;
/**
 * Time that nothing at all is read for a thread that is behind: long for one that is handling events, short
 * for whatever else comes by the same connection. One that has not caught up by then does not take its
 * events, and they wait at the gateway, channel by channel.
 */
const PAUSE_MS = 100;

/** Measures against too many events on the way. Consumers are known by their endpoints' numbers. */
export interface Brakes {
  /** Stops reading the connection, or begins again. @returns false where that cannot be had */
  pause(isPaused: boolean): boolean;
  /** Has the events of these consumers' channels wait at the gateway. */
  stall(endpoints: Iterable<number>): void;
  /** Lets the events come again. */
  resume(): void;
  /** Cuts a consumer off that there is no room for. */
  cutOff(endpoint: number): void;
}

/** Holds events back whose application's thread does not take them as fast as they come. */
export class BackPressure {
  readonly #brakes: Brakes;
  /** Bytes that are on their way. */
  #bytes = 0;
  /** Consumers that have got events for which there was no room, and are not stalled. */
  readonly #full = new Set<number>();
  #isStalling = false;
  #pause: ReturnType<typeof setTimeout> | undefined;

  constructor(brakes: Brakes) {
    this.#brakes = brakes;
  }

  /** Adds bytes that are on their way. Brakes act when the turn is over that hands events out. */
  add(endpoint: number, bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > LIMIT_BYTES) queueMicrotask(() => this.#brakes.cutOff(endpoint));
    else if (this.#bytes > HIGH_WATER_BYTES) {
      if (this.#full.size === 0) queueMicrotask(this.#brake);
      this.#full.add(endpoint);
    }
  }

  /** Subtracts bytes that have been taken. */
  taken(bytes: number): void {
    this.#bytes -= bytes;
    if (this.#bytes > LOW_WATER_BYTES) return;
    // A set that is cleared makes a new table, even when it was empty.
    if (this.#full.size > 0) this.#full.clear();
    this.#goOn();
    if (!this.#isStalling) return;
    this.#isStalling = false;
    this.#brakes.resume();
  }

  /** Holds nothing back any more. */
  end(): void {
    this.#goOn();
  }

  readonly #brake = (): void => {
    if (this.#pause !== undefined || this.#full.size === 0) return;
    if (this.#isStalling || !this.#brakes.pause(true)) this.#stall();
    else this.#pause = setTimeout(() => this.#stall(), PAUSE_MS);
  };

  #stall(): void {
    this.#goOn();
    this.#isStalling = true;
    this.#brakes.stall(this.#full);
    this.#full.clear();
  }

  #goOn(): void {
    if (this.#pause === undefined) return;
    clearTimeout(this.#pause);
    this.#pause = undefined;
    this.#brakes.pause(false);
  }
}
