import { modulatorFrom } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { expect, test } from "vitest";
import { CompileBudget } from "../../../src/tiers/compiled/compile-budget.ts";
import { HandClock } from "../../../src/tiers/hand-clock.ts";
import { Bench, CHANNEL, DERIVED, Reading } from "./compiled-bench.ts";

/** A filter whose text was never seen before, padded to this length. */
function longText(name: string, length: number): string {
  const { source } = modulatorFrom(event => event.station > 1);
  return `${source}\n// ${name} `.padEnd(length, "-");
}

test("MOE-27: texts of a subject who has had many compiled in a short time are hosted; others' and known ones are compiled", async () => {
  await using bench = new Bench();
  const [length, most] = [32_000, 40];
  let derived = DERIVED;
  const install = async (name: string, by: string) => {
    const modulator = modulatorTable({ source: longText(name, length) });
    await bench.environment.install({
      derived: ++derived,
      channel: CHANNEL,
      schema: Reading.schema,
      modulator,
      by,
    });
    return bench.environment.placementOf(derived);
  };
  let last = await install("0", "eve");
  expect(last).toEqual({ tier: "compiled", why: "" });
  for (let i = 1; i < most && last?.tier === "compiled"; i++) last = await install(`${i}`, "eve");
  expect(last).toEqual({ tier: "hosted", why: expect.stringContaining("many texts compiled") });
  expect(await install("ana's", "ana")).toEqual({ tier: "compiled", why: "" });
  expect(await install("0", "eve")).toEqual({ tier: "compiled", why: "" });
});

test("MOE-27: a subject whose modulators check very much for each state of a shared object has them hosted; others' stay", async () => {
  await using bench = new Bench();
  const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  static check({ list }) { for (let i = 0; i < list.length; i++) if (typeof list[i] !== "number") throw new Error(); }
}`;
  const install = async (derived: number, by: string, length: number) => {
    const modulator = {
      ...modulatorTable({ source, parameters: { list: Array(length).fill(0) } }),
      objects: [{ name: "wanted", object: "wanted", version: 1, state: '{"n":1}', lazy: false }],
    };
    await bench.environment.install({
      derived,
      channel: CHANNEL,
      schema: Reading.schema,
      modulator,
      by,
    });
  };
  const [eves, anas] = [DERIVED, DERIVED + 1];
  await install(eves, "eve", 1000);
  await install(anas, "ana", 3);
  const tierOf = (derived: number) => bench.environment.placementOf(derived)?.tier;
  expect([eves, anas].map(tierOf)).toEqual(["compiled", "compiled"]);
  let version = 1;
  while (tierOf(eves) === "compiled" && version < 2000)
    bench.environment.update({ object: "wanted", version: ++version, state: `{"n":${version}}` });
  expect(tierOf(anas)).toBe("compiled");
  expect(version).toBeLessThan(2000);
});

test("a subject may have more compiled as time passes, and never more at once than at first", async () => {
  const clock = new HandClock(0);
  const budget = new CompileBudget(clock);
  const settled = () => Promise.resolve();
  const burst = (): number => {
    let times = 0;
    while (budget.take(16 << 10, "eve") === undefined) times++;
    return times;
  };
  const first = burst();
  expect(first).toBe(128);
  await clock.pass(1000, settled);
  expect(burst()).toBe(2);
  await clock.pass(3_600_000, settled);
  expect(burst()).toBe(first);
  // Short ones count, too.
  while (budget.take(1, "eve") === undefined);
  expect(budget.take(1, "ana")).toBeUndefined();
});
