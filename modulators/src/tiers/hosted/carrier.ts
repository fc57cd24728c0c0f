import type { JechoError } from "@jecho/shared";
import type { Limits } from "../../sandbox/sandbox.ts";

/**
 * The one blamed for a host's end: the modulator at work; possibly somebody else, as where the system killed the process or it went silent; or certainly
 * not the modulator.
 */
export type Blame = "modulator" | "anybody" | "nobody";

/** The end of a host. */
export interface Exit {
  /** The error for the modulator at work, if that is to blame. */
  readonly error: JechoError;
  readonly blame: Blame;
}

export interface CarrierListener {
  /** One whole frame, in memory of its own. */
  frame(bytes: Uint8Array): void;
  exit(exit: Exit): void;
}

/** Carries a modulator host, as a process or a worker: starts it, and passes frames to and fro. */
export interface Carrier {
  /** Process id, where it is a process. */
  readonly pid: number | undefined;
  /** The bytes must stay as they are until they are out. */
  send(frame: Uint8Array): void;
  /** Ends the host after what was sent. */
  finish(): void;
  kill(): void;
  /** Sets whether the host keeps the producer's process alive. */
  hold(held: boolean): void;
}

/** A way to carry a host. */
export interface CarrierKind {
  /** Time without any sign from the host, while it has work, after which it counts as hung. */
  readonly hungMs: number;
  /** @param limitBytes a frame that is larger, or none at all, ends the host */
  start(limits: Limits, limitBytes: number, listener: CarrierListener): Carrier;
}
