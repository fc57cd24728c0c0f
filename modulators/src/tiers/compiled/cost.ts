import { COUNTED, type Code, type LengthOf, type OpName, partsOf } from "./code.ts";
import { Refusal } from "./refusal.ts";
import { isTierFunction } from "./tier-functions.ts";

/**
 * Steps of an instruction, of which each takes a nanosecond at most. Constants and variables are read by the instruction that takes them. A loop over floats, of 16
 * instructions a round, took 1.4 ns a round where V8 had optimised it, and 3.5 where it had not, on a processor of 2.5 GHz.
 */
const STEPS = 0.5;
/** Steps of a division, a remainder and a square root, which take 4 to 20 cycles. */
const SLOW_STEPS = 8;
const SLOW: ReadonlySet<OpName> = new Set(["f64.div", "f64.sqrt", "i32.rem_u"]);
/** Steps of a call of one of the engine's own functions. */
const CALL_STEPS = 16;
/** Steps of a remainder, whose bits are found one by one: the slow ones are counted as the program runs. */
const REMAINDER_STEPS = 32;
/** Steps of a call of one of the tier's functions, which look things up. */
const TIER_STEPS = 40;

/** Steps for one run of events: the producer's own thread is held for so many nanoseconds. */
export const MOST_PER_RUN = 4_000_000;

type LengthCosts = ReadonlyMap<LengthOf, number>;

/** Upper bound of a call's cost, in steps: `steps` and, for each element of these vectors, so many more. */
export interface CostFormula {
  readonly steps: number;
  readonly perElement: LengthCosts;
  /** Most elements that these vectors may have. */
  readonly caps: LengthCosts;
  /** The loop that costs most; undefined where there is none. */
  readonly dearest: { readonly line: number; readonly column: number; readonly steps: number } | undefined;
}

const NOTHING: CostFormula = { steps: 0, perElement: new Map(), caps: new Map(), dearest: undefined };

/** Bound of the cost of code. @throws Refusal where it is the product of two lengths */
export function costOf(body: readonly Code[]): CostFormula {
  let cost = NOTHING;
  for (const code of body) cost = sum(cost, costOfCode(code));
  return cost;
}

/** Costs of loops: those that they are in ask for the same again and again. */
const known = new WeakMap<Code, CostFormula>();

function costOfCode(code: Code): CostFormula {
  if (code.is !== "loop") return computedCost(code);
  let cost = known.get(code);
  if (cost === undefined) {
    cost = computedCost(code);
    known.set(code, cost);
  }
  return cost;
}

function computedCost(code: Code): CostFormula {
  switch (code.is) {
    case "if": {
      const [then, other] = [costOf(code.yes), costOf(code.no)];
      return withMore(sum(costOfCode(code.test), greater(then, other)), STEPS);
    }
    case "loop": {
      const round = costOf(code.body);
      const { most, of, cap } = code.trips;
      const { line, column } = code;
      if (code.trips === COUNTED) return { ...NOTHING, dearest: { line, column, steps: round.steps } };
      if (of === undefined) {
        const own = { line, column, steps: most * round.steps };
        const perElement = new Map([...round.perElement].map(([vector, steps]) => [vector, most * steps]));
        const steps = (most + 1) * round.steps;
        return { ...round, steps, perElement, dearest: dearer(own, round.dearest) };
      }
      if (round.perElement.size > 0) {
        const [inner] = round.perElement.keys();
        throw new Refusal(
          `its cost is the product of two lengths, of "${of.name}" and "${inner?.name}": products are compiled where one of them is a constant`,
          line,
          column,
        );
      }
      const dearest = dearer({ line, column, steps: round.steps }, round.dearest);
      // The round in which it is found to be over, and one more for a loop up to the length itself.
      const caps = cap === undefined ? round.caps : new Map([[of, cap]]);
      return { steps: 2 * round.steps, perElement: new Map([[of, most * round.steps]]), caps, dearest };
    }
    case "host": {
      const perElement = new Map(code.of === undefined ? [] : [[code.of, code.each]]);
      return { ...NOTHING, steps: code.steps, perElement };
    }
    case "i32":
    case "i64":
    case "f64":
    case "get":
    case "none":
      return NOTHING;
    default: {
      const own =
        code.is === "call"
          ? stepsOfCall(code.name)
          : code.is === "many" || code.is === "block"
            ? 0
            : code.is === "op" && SLOW.has(code.op)
              ? SLOW_STEPS
              : STEPS;
      return withMore(costOf(partsOf(code)), own);
    }
  }
}

function stepsOfCall(name: string): number {
  if (name === "rem") return REMAINDER_STEPS;
  return isTierFunction(name) ? TIER_STEPS : CALL_STEPS;
}

function withMore(cost: CostFormula, steps: number): CostFormula {
  return steps === 0 ? cost : { ...cost, steps: cost.steps + steps };
}

function sum(a: CostFormula, b: CostFormula): CostFormula {
  if (a === NOTHING || b === NOTHING) return a === NOTHING ? b : a;
  return {
    steps: a.steps + b.steps,
    perElement: combined(a.perElement, b.perElement, (x, y) => x + y),
    caps: combined(a.caps, b.caps, Math.min),
    dearest: dearer(a.dearest, b.dearest),
  };
}

function greater(a: CostFormula, b: CostFormula): CostFormula {
  return {
    steps: Math.max(a.steps, b.steps),
    perElement: combined(a.perElement, b.perElement, Math.max),
    caps: combined(a.caps, b.caps, Math.min),
    dearest: dearer(a.dearest, b.dearest),
  };
}

function combined(a: LengthCosts, b: LengthCosts, of: (x: number, y: number) => number): LengthCosts {
  if (a.size === 0 || b.size === 0) return a.size === 0 ? b : a;
  const both = new Map(a);
  for (const [vector, more] of b) {
    const one = both.get(vector);
    both.set(vector, one === undefined ? more : of(one, more));
  }
  return both;
}

function dearer(a: CostFormula["dearest"], b: CostFormula["dearest"]): CostFormula["dearest"] {
  return a === undefined || (b !== undefined && b.steps > a.steps) ? b : a;
}

/** The formula without the code that its vectors belong to. */
export function withoutCode({ steps, perElement, caps, dearest }: CostFormula): CostFormula {
  const plain = (costs: LengthCosts): LengthCosts =>
    new Map(Array.from(costs, ([{ name, elementBytes }, each]) => [{ name, elementBytes }, each]));
  return { steps, perElement: plain(perElement), caps: plain(caps), dearest };
}

/** Bound of the steps that events of so many bytes take: no vector in them has more elements than fit into them. */
export function stepsFor({ steps, perElement }: CostFormula, events: number, bytes: number): number {
  let most = events * steps;
  for (const [{ elementBytes }, each] of perElement) most += each * Math.floor(bytes / elementBytes);
  return most;
}

/** A vector that an event of so many bytes may have, and that may be longer there than it is allowed to be. */
export function overlong({ caps }: CostFormula, bytes: number): LengthOf | undefined {
  for (const [vector, cap] of caps) if (bytes / vector.elementBytes > cap) return vector;
  return undefined;
}

/** The formula as text: `40 + 9 x celsius.length`. */
export function costText({ steps, perElement }: CostFormula): string {
  const upwards = (number: number): number => Math.ceil(10 * number) / 10;
  return [
    `${upwards(steps)}`,
    ...[...perElement].map(([{ name }, each]) => `${upwards(each)} x ${name}.length`),
  ].join(" + ");
}
