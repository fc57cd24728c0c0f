import type { Node } from "acorn";
import { type Code, type CodeLabel, type CodeLocal, f64, get, i32, type LengthOf, op, set } from "./code.ts";
import { costOf } from "./cost.ts";
import type { EventVector } from "./known.ts";
import { positionOf, refuse } from "./refusal.ts";
import { ANSWER } from "./window-layout.ts";

/** Most places where one program may stop. */
const MOST_STOPS = 1000;

/** A place where a program may stop, and why. */
export interface Stop {
  readonly why: string;
  readonly line: number;
  readonly column: number;
}

/**
 * Facts that are only known while a program runs: how often its loops run, and whether it comes to a place that is not compiled. There it stops at the
 * event, of which nothing has gone out by then, and a host takes the run from its beginning.
 */
export class Fuel {
  /** Reasons why it may stop, by the number that it then leaves, from 1. */
  readonly stops: Stop[] = [];
  /** The number that it leaves; 0 as long as it has not stopped. */
  readonly stopped: CodeLocal = { type: "i32" };
  readonly #left: CodeLocal = { type: "f64" };
  /** Steps that an event had at first, and those that the run has left for it and the events behind it. */
  readonly #given: CodeLocal = { type: "f64" };
  readonly #run: CodeLocal = { type: "f64" };
  readonly #answer: CodeLocal;
  readonly #done: CodeLabel;
  #isUsed = false;
  /** Whether the code that is being written belongs to an event. */
  isOpen = false;

  /** @param done the end of the event's code */
  constructor(answer: CodeLocal, done: CodeLabel) {
    this.#answer = answer;
    this.#done = done;
  }

  /** Whether the program counts steps as it runs. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Code that finds a run's steps. */
  get beginRun(): Code[] {
    return this.#isUsed ? [set(this.#run, { is: "ofTurn", of: "runFuel" })] : [];
  }

  /** Code that gives an event its steps: no more than are left for the run. */
  get begin(): Code[] {
    if (!this.#isUsed) return [];
    const most = op("f64.min", { is: "ofTurn", of: "fuel" }, get(this.#run));
    return [set(this.#given, most), set(this.#left, get(this.#given))];
  }

  /** Code that takes from the run's steps what an event has used. */
  get end(): Code[] {
    const used = op("f64.sub", get(this.#given), get(this.#left));
    return this.#isUsed ? [set(this.#run, op("f64.sub", get(this.#run), used))] : [];
  }

  /** Code that leaves what a run has not used to those that follow it in the same turn. */
  get endRun(): Code[] {
    return this.#isUsed ? [{ is: "leaveFuel", value: get(this.#run) }] : [];
  }

  /** Code that stops the program. */
  stop(node: Node, why: string): Code[] {
    if (!this.isOpen) return refuse(node, "this is compiled where an event is looked at");
    if (this.stops.length === MOST_STOPS)
      return refuse(node, "it has more places to stop at than are compiled");
    const number = this.stops.push({ why, ...positionOf(node) });
    return [
      set(this.stopped, i32(number)),
      set(this.#answer, i32(ANSWER.broken)),
      { is: "br", label: this.#done },
    ];
  }

  stopIf(test: Code, node: Node, why: string): Code {
    return { is: "if", test, yes: this.stop(node, why), no: [] };
  }

  /** Code that counts the steps of copying an array, so many bytes of which take one. */
  spendCopy({ length, elementBytes }: EventVector, bytes: number, node: Node): Code[] {
    const steps = op("f64.mul", op("f64.convert_i32_u", get(length)), f64(elementBytes / bytes));
    return this.spend([{ is: "drop", value: i32(0) }], node, op("f64.add", steps, f64(1)));
  }

  /** Code that counts the steps of this code, as often as `times` says, and stops where there are not so many left. */
  spend(body: readonly Code[], node: Node, times: Code = f64(1)): Code[] {
    this.#isUsed = true;
    const { steps, perElement } = costOf(body);
    // Also a round of nothing is one: else a loop without a body would never end.
    let all: Code = f64(Math.max(1, steps));
    for (const [of, each] of perElement)
      all = op("f64.add", all, op("f64.mul", f64(each), lengthOf(of, node)));
    const left = get(this.#left);
    return [
      set(this.#left, op("f64.sub", left, op("f64.mul", all, times))),
      // NaN is not enough either.
      this.stopIf(
        op("i32.eqz", op("f64.ge", left, f64(0))),
        node,
        "an event may take more steps than its producer allows",
      ),
    ];
  }
}

function lengthOf(of: LengthOf, node: Node): Code {
  return of.length === undefined
    ? refuse(node, "this is not compiled in a loop")
    : op("f64.convert_i32_u", get(of.length));
}
