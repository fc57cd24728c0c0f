import { expect, test } from "vitest";
import { Bench, Reading, readings } from "./compiled-bench.ts";
import { ofText, outcomes } from "./outcomes.ts";

const ofClass = (body: string, parent = "FifoModulator"): string =>
  `import { ${parent} } from "jecho:moe"; export default class extends ${parent} { ${body} }`;

/** A method that gives a field another array. */
const SWAP = "swap(n) { const x = new Float32Array(4); x[0] = 9; this.a = x; return n; }";

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
  [
    "an element is of the array that the field held before the value was computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { this.a[0] = this.swap(5); if (this.a[0] === 9) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "an element that is counted up is of the array that the field held before its index was computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { this.a[this.swap(0)]++; if (this.a[0] === 9) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "an element is read of the array that the field held before its index was computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { if (this.a[this.swap(0)] === 0) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "an array is searched that the field held before what is looked for was computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { if (this.a.includes(this.swap(9))) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "a sum is of the array that the field held before its beginning was computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { if (this.a.reduce((sum, v) => sum + v, this.swap(0)) < 9) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "a part is of the array that the field held before its end was computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { const part = this.a.subarray(0, this.swap(2)); if (part[0] === 0) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "the bytes are of the array that the field held before their number was computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { const all = new Uint32Array(this.a.buffer, 0, this.swap(2)); if (all[0] === 0) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "what is set into an array is in the one that the field held before",
    ofClass(
      `a = new Float32Array(4); ${SWAP} other() { this.swap(1); const y = new Float32Array(4); y[0] = 5; return y; } enqueue(event) { this.a.set(this.other()); if (this.a[0] === 9) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "an argument is the array that the field held before the others were computed",
    ofClass(
      `a = new Float32Array(4); ${SWAP} enqueue(event) { const f = (a, n) => a[n]; if (f(this.a, this.swap(0)) === 0) super.enqueue(event); }`,
    ),
    "hosted",
  ],
  [
    "an element that is written to an array once it has gone out is not in the event",
    ofClass(
      "out(a) { super.enqueue({ station: 7, celsius: a }); return 5; } enqueue(event) { const a = new Float32Array(2); a[0] = this.out(a); }",
    ),
    "hosted",
  ],
  [
    "what one branch of dequeue's answer assigns is not so in the other",
    ofClass(
      `list = []; n = 0; m = 0;
       dequeue() {
         const o = { a: 1 };
         const put = () => { o.a = 5; return this.list.shift(); };
         const get = () => { this.n = o.a; return this.list.shift(); };
         return this.m > 3 ? put() : get();
       }
       enqueue(event) { this.m = event.station; if (event.station === 0 || this.n === 1) this.list.push(event); }`,
      "Modulator",
    ),
    "hosted",
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
