import { Refusal } from "./refusal.ts";

/** A program has come to an event that it is not compiled for. Nothing of the turn has gone out: a host takes the run. */
export class StoppedProgram extends Refusal {}
