import type { Node } from "acorn";
import {
  type Code,
  type CodeLabel,
  type CodeLocal,
  type CodeType,
  f64,
  get,
  i32,
  load,
  localsOf,
  loopOf,
  many,
  op,
  set,
  type Trips,
} from "./code.ts";
import { type EventVector, wide } from "./known.ts";
import { positionOf } from "./refusal.ts";

/** Partial sums of a sum, and elements that a round of its loop takes. */
export const LANES = 8;

/** Lists of these are added two numbers at a time. */
const PAIRS: Readonly<Record<string, (at: Code, i: number) => Code>> = {
  Float32Array: (at, i) => op("f64x2.promote_low_f32x4", load("v128.load64_zero", at, 8 * i)),
  Float64Array: (at, i) => load("v128.load", at, 16 * i),
};

/**
 * The sum of a vector's elements, as `sum` of "jecho:moe" has it (sandbox/world/sums.ts), as code of type f64.
 *
 * @param tripsOf how often a loop with this body runs, and what counts its steps before it
 */
export function sumCode(
  vector: EventVector,
  node: Node,
  tripsOf: (body: readonly Code[]) => { readonly trips: Trips; readonly spent: readonly Code[] },
): Code {
  const [index, whole, at] = localsOf("i32", "i32", "i32");
  const sums = localsOf(...new Array<CodeType>(LANES).fill("f64"));
  const pair = PAIRS[vector.array ?? ""];
  const pairs = localsOf(...new Array<CodeType>(pair === undefined ? 0 : LANES / 2).fill("v128"));
  const done: CodeLabel = { name: "done" };
  const elementAt = (i: number): Code =>
    wide(vector.read(i === 0 ? get(at) : op("i32.add", get(at), i32(i * vector.elementBytes))));
  const added =
    pair === undefined
      ? sums.map((sum, i) => set(sum, op("f64.add", get(sum), elementAt(i))))
      : pairs.map((sum, i) => set(sum, op("f64x2.add", get(sum), pair(get(at), i))));
  const body: Code[] = [
    { is: "brIf", label: done, test: op("i32.eqz", op("i32.lt_s", get(index), get(whole))) },
    ...added,
    set(at, op("i32.add", get(at), i32(LANES * vector.elementBytes))),
    set(index, op("i32.add", get(index), i32(LANES))),
  ];
  // The jump back is a step, too.
  const { trips, spent } = tripsOf([...body, { is: "br", label: done }]);
  const rest = sums.slice(0, LANES - 1).map((sum, i): Code => {
    const isThere = op("i32.lt_s", i32(i), op("i32.sub", get(vector.length), get(whole)));
    return { is: "if", test: isThere, yes: [set(sum, op("f64.add", get(sum), elementAt(i)))], no: [] };
  });
  const of = (i: number): Code => get(sums[i] as CodeLocal);
  const both = (i: number): Code => op("f64.add", of(i), of(i + 4));
  return many(
    ...spent,
    set(index, i32(0)),
    set(at, get(vector.start)),
    set(whole, op("i32.and", get(vector.length), i32(-LANES))),
    ...(pair === undefined ? sums : pairs).map(sum =>
      set(sum, pair === undefined ? f64(0) : op("f64x2.splat", f64(0))),
    ),
    loopOf(done, { trips, ...positionOf(node) }, body),
    ...pairs.flatMap((value, i) =>
      ([0, 1] as const).map(lane =>
        set(sums[2 * i + lane] as CodeLocal, { is: "lane", lane, value: get(value) }),
      ),
    ),
    ...rest,
    op("f64.add", op("f64.add", both(0), both(2)), op("f64.add", both(1), both(3))),
  );
}
