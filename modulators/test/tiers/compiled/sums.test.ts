import { encodeEvent, type, unpack } from "@jecho/shared";
import { expect, test } from "vitest";
import { definedSum } from "../../defined-sum.ts";
import { Bench } from "./compiled-bench.ts";
import { EDGES, seeded } from "./random-values.ts";

const Lists = type("Lists", {
  singles: "float32[]",
  doubles: "float64[]",
  bytes: "uint8[]",
  shorts: "int16[]",
  counts: "uint32[]",
});
const SUMS = { all: "float64[]", means: "float64[]" } as const;
const Made = type("Sums", SUMS);
type MadeSums = ReturnType<typeof Made.decode>;

/** Sums of each list, of parts of two, and of one that is made of another. */
const SOURCE = `import { FifoModulator, mean, sum } from "jecho:moe";
export default class extends FifoModulator {
  static output = ${JSON.stringify({ name: "Sums", description: SUMS })};
  kept = new Float32Array(21);
  enqueue({ singles, doubles, bytes, shorts, counts }) {
    const from = singles.length % 5;
    const made = new Float64Array(doubles.length);
    for (let i = 0; i < doubles.length; i++) made[i] = doubles[i] * 3;
    for (let i = 0; i < 21; i++) this.kept[i] = singles[i] ?? i;
    super.enqueue({
      all: Float64Array.of(sum(singles), sum(doubles), sum(bytes), sum(shorts), sum(counts), sum(singles.subarray(from)),
        sum(doubles.subarray(1, -2)), sum(made), sum(this.kept)),
      means: Float64Array.of(mean(singles), mean(doubles), mean(bytes), mean(made.subarray(from))),
    });
  }
}`;

function madeOf(hex: string): MadeSums {
  return unpack(Made.decode(Uint8Array.from(Buffer.from(hex, "hex")))) as MadeSums;
}

function lists(length: number, random: () => number) {
  const wide = () =>
    random() < 0.05
      ? (EDGES[Math.floor(random() * EDGES.length)] as number)
      : (random() - 0.5) * 10 ** (random() * 20);
  return {
    singles: Float32Array.from({ length }, wide),
    doubles: Float64Array.from({ length: length + 3 }, wide),
    bytes: Uint8Array.from({ length: length + 1 }, () => random() * 256),
    shorts: Int16Array.from({ length }, () => (random() - 0.5) * 65_536),
    counts: Uint32Array.from({ length }, () => random() * 2 ** 32),
  };
}

const LENGTHS = [...Array.from({ length: 40 }, (_, i) => i), 1000, 9361];

test("MOE-27: sums are added in one order, compiled and in a host, bit by bit", async () => {
  const random = seeded(5);
  const events = LENGTHS.map(length => lists(length, random));
  const both: MadeSums[][] = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local, mostPerEvent: 1e9 });
    await bench.install({ source: SOURCE }, Lists.schema);
    for (const event of events)
      bench.raise(
        Lists as never,
        [event].map(one => encodeEvent(Lists, one)),
      );
    await bench.environment.settled();
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
    // NaN has bits that engines choose.
    both.push(bench.bytes.map(madeOf));
  }
  expect(both[0]).toHaveLength(LENGTHS.length);
  expect(both[0]).toEqual(both[1]);
  for (const [i, made] of (both[0] as readonly MadeSums[]).entries()) {
    const { singles, doubles, bytes, shorts, counts } = events[i] as (typeof events)[number];
    expect([...made.all].slice(0, 5)).toEqual([singles, doubles, bytes, shorts, counts].map(definedSum));
  }
});
