import { JechoError } from "@jecho/shared";
import type { Limits } from "../../sandbox/sandbox.ts";
import type { Carrier, CarrierKind, Exit } from "./carrier.ts";

const TICK_MS = 50;
/** The longest time to a host's first sign of life. */
const BEGIN_MS = 15_000;
const FRAME_MARGIN = 1 << 20;

/** The end of a host, and its cause. */
export interface Death extends Exit {
  /** Whether it had given any sign of life. */
  readonly hadBegun: boolean;
}

export interface KeeperEvents {
  frame(bytes: Uint8Array): void;
  /** The host ended without having been told to. */
  died(death: Death): void;
  /** Whether the host has work, so that signs of life are due. */
  isBusy(): boolean;
}

/** Keeps one host alive: starts it, watches it while it has work, and ends it when nobody needs it. */
export class HostKeeper {
  readonly #kind: CarrierKind;
  readonly #limits: Limits;
  readonly #idleMs: number;
  readonly #events: KeeperEvents;
  #carrier: Carrier | undefined;
  #hadBegun = false;
  #verdict: JechoError | undefined;
  #wasSilent: JechoError | undefined;
  #silentMs = 0;
  #ticker: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closed: PromiseWithResolvers<void> | undefined;

  constructor(kind: CarrierKind, limits: Limits, idleMs: number, events: KeeperEvents) {
    this.#kind = kind;
    this.#limits = limits;
    this.#idleMs = idleMs;
    this.#events = events;
  }

  /** The largest frame that a host may send. */
  get frameBytes(): number {
    return this.#limits.outputBytes + FRAME_MARGIN;
  }

  get pid(): number | undefined {
    return this.#carrier?.pid;
  }

  get hasHost(): boolean {
    return this.#carrier !== undefined;
  }

  begin(): void {
    this.#hadBegun = false;
    this.#silentMs = 0;
    const carrier = this.#kind.start(this.#limits, this.frameBytes, {
      frame: bytes => {
        if (this.#carrier !== carrier) return;
        this.#silentMs = 0;
        this.#hadBegun = true;
        this.#events.frame(bytes);
      },
      exit: exit => {
        if (this.#carrier === carrier) this.#exited(exit);
      },
    });
    this.#carrier = carrier;
    let then = performance.now();
    clearInterval(this.#ticker);
    this.#ticker = setInterval(() => {
      const now = performance.now();
      // A producer that computed for a while must not take its own silence for the host's.
      this.#watch(Math.min(now - then, 2 * TICK_MS));
      then = now;
    }, TICK_MS);
    this.#ticker.unref?.();
  }

  send(frame: Uint8Array): void {
    this.#carrier?.send(frame);
  }

  /** Ends the host, and says why the modulator at work is to blame. */
  condemn(verdict: JechoError): void {
    this.#verdict ??= verdict;
    this.#carrier?.kill();
  }

  /** Keeps an unused host for a while, without keeping the process alive. @param ended called when the host has been ended */
  hold(wanted: boolean, ended: () => void): void {
    this.#carrier?.hold(wanted);
    clearTimeout(this.#idle);
    if (wanted) return;
    this.#idle = setTimeout(() => {
      const carrier = this.#carrier;
      this.#carrier = undefined;
      clearInterval(this.#ticker);
      ended();
      carrier?.finish();
    }, this.#idleMs);
    this.#idle.unref?.();
  }

  /** Resolves when the host has ended. */
  close(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed.promise;
    this.#closed = Promise.withResolvers<void>();
    clearInterval(this.#ticker);
    clearTimeout(this.#idle);
    if (this.#carrier === undefined) this.#closed.resolve();
    else {
      // The process stays alive for whoever waits for this.
      this.#carrier.hold(true);
      this.#carrier.kill();
    }
    return this.#closed.promise;
  }

  #watch(elapsedMs: number): void {
    this.#silentMs = this.#events.isBusy() ? this.#silentMs + elapsedMs : 0;
    const limitMs = this.#hadBegun ? this.#kind.hungMs : BEGIN_MS;
    if (this.#silentMs <= limitMs) return;
    this.#wasSilent ??= new JechoError("MODULATOR_TIMED_OUT", `the host was silent for ${limitMs} ms`);
    this.#carrier?.kill();
  }

  #exited({ error, blame }: Exit): void {
    this.#carrier = undefined;
    const verdict = this.#verdict;
    const wasSilent = this.#wasSilent;
    this.#verdict = undefined;
    this.#wasSilent = undefined;
    if (this.#closed !== undefined) return this.#closed.resolve();
    this.#events.died({
      error: verdict ?? wasSilent ?? error,
      blame: verdict !== undefined ? "modulator" : wasSilent !== undefined ? "anybody" : blame,
      hadBegun: this.#hadBegun,
    });
  }
}
