/** Bytes of events on their way to an application's thread at which further ones wait, and at which they go on. */
const HIGH_WATER_BYTES = 4 << 20;
const LOW_WATER_BYTES = 1 << 20;
/**
 * Most bytes that may still be on the way then: of events that were sent before, of the past, and of this process' own events, which no
 * gateway holds back.
 */
const LIMIT_BYTES = 32 << 20;
/**
 * Time for which the connection is not read while a thread is behind: long for a thread that handles events, short for everything else on
 * the connection. Events of a thread that has not caught up by then wait at the gateway, channel by channel.
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
  /** Cuts off a consumer that there is no room for. */
  cutOff(endpoint: number): void;
}

/** Holds back events of an application's thread that is slower than they come. */
export class BackPressure {
  readonly #brakes: Brakes;
  /** Bytes that are on their way. */
  #bytes = 0;
  /** Consumers that were sent events without room for them, and are not stalled. */
  readonly #full = new Set<number>();
  #isStalling = false;
  #pause: ReturnType<typeof setTimeout> | undefined;

  constructor(brakes: Brakes) {
    this.#brakes = brakes;
  }

  /** Adds bytes that are on their way. Brakes act at the end of the turn. */
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
