import { expect, test } from "vitest";
import { Bench, Reading, readings } from "./compiled-bench.ts";
import { ofText, outcomes } from "./outcomes.ts";

const ofClass = (body: string, parent = "FifoModulator"): string =>
  `import { ${parent} } from "jecho:moe"; export default class extends ${parent} { ${body} }`;

const STATIONS = [1, 5, 2, 0, 1, 2, 4, 3, 1, 1];

test.each([
  [
    "a default is computed behind all arguments",
    "event => { let n = event.station; const f = (a = n * 10, b) => a + b; return f(undefined, n++) === 21; }",
    "compiled",
  ],
  [
    "a default is computed behind arguments that nobody names",
    "event => { let n = event.station; const f = (a = n * 10) => a; return f(undefined, n++) === 20; }",
    "compiled",
  ],
  [
    "a default that changes what is an argument comes too late for that",
    "event => { let n = event.station; const f = (a = n++, b) => a + b; return f(undefined, n) === 2; }",
    "compiled",
  ],
  [
    "a default within a pattern is computed behind all arguments",
    "event => { let n = event.station; const f = ({ a = n * 10 }, b) => a + b; return f({ a: undefined }, n++) === 21; }",
    "compiled",
  ],
  [
    "a field is taken out of its modulator behind all arguments",
    ofClass(
      "n = 0; enqueue(event) { const f = ({ n }, b) => n - b; if (f(this, this.n++) === 1) super.enqueue(event); }",
    ),
    "compiled",
  ],
  [
    "a default is computed behind all items of a list",
    "event => { let n = event.station; const [a = n * 10, b] = [undefined, n++]; return a + b === 21; }",
    "compiled",
  ],
  [
    "a default does not see the names of its function's body",
    "event => { const x = event.station; const f = (g = () => x) => { const x = 2; return g() + x; }; return f() === 3; }",
    "compiled",
  ],
  [
    "a default is for an event that is not kept as yet",
    ofClass(
      "list = []; enqueue(event) { const [first = event] = this.list; if (first !== undefined) super.enqueue(event); if (event.station === 2) this.list.push(event); }",
    ),
    "hosted",
  ],
  [
    "a default is for an object that is not held as yet",
    ofClass(
      "held; enqueue(event) { if (event.station === 2) this.held = { x: 2 }; const f = (o = { x: 1 }) => !o; if (!f(this.held)) super.enqueue(event); }",
    ),
    "hosted",
  ],
  [
    "a null is no reason for a default",
    "event => { const f = (a = 1) => a === null; return f(null) && event.station > 1; }",
    "compiled",
  ],
] as const)("MOE-27: as in a host, %s", async (_, text, tier) => {
  const [compiled, hosted] = await outcomes(async bench => {
    await bench.install(ofText(text));
    bench.enqueue(Reading, readings(...STATIONS));
  });
  expect(compiled).toEqual(hosted);
  expect(compiled).not.toEqual([]);

  await using bench = new Bench({ mostPerEvent: 1e9 });
  await bench.install(ofText(text));
  expect(bench.placement?.tier).toBe(tier);
});
