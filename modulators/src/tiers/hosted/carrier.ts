import type { JechoError } from "@jecho/shared";
import type { Limits } from "../../sandbox/sandbox.ts";

/**
 * Whose doing a host's end may be: that of the modulator at work; that of a stranger as well, who knows nothing of modulators, or of
 * a silence that has many reasons; or surely not the modulator's.
 */
export type Blame = "modulator" | "anybody" | "nobody";

/** How a host ended. */
export interface Exit {
  /** What the modulator at work is told, should it be to blame. */
  readonly error: JechoError;
  readonly blame: Blame;
}

export interface CarrierListener {
  /** One whole frame, in memory of its own. */
  frame(bytes: Uint8Array): void;
  exit(exit: Exit): void;
}

/** What a modulator host lives in, a process or a worker: starts it, and carries frames to and fro. */
export interface Carrier {
  /** Process id, where it is a process. */
  readonly pid: number | undefined;
  /** The bytes must stay as they are until they are out. */
  send(frame: Uint8Array): void;
  /** It ends after what was sent. */
  finish(): void;
  kill(): void;
  /** Does it keep the producer's process alive? */
  hold(held: boolean): void;
}

/** A way to carry a host. */
export interface CarrierKind {
  /** Without any sign from the host for so long, while it has work, it counts as hung. */
  readonly hungMs: number;
  /** @param limitBytes a frame that is larger, or none at all, ends the host */
  start(limits: Limits, limitBytes: number, listener: CarrierListener): Carrier;
}
