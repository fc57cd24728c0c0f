import type { Refusal } from "./refusal.ts";

/** A program has come to an event that it is not compiled for. Nothing of the turn has gone out: a host takes the run. */
export class StoppedProgram extends Error {
  readonly why: Refusal;

  constructor(why: Refusal) {
    super(why.message);
    this.why = why;
  }
}
