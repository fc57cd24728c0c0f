import { expect, test } from "vitest";
import { Reading, readings } from "./compiled-bench.ts";
import { functionSource } from "./function-source.ts";
import { outcomes } from "./outcomes.ts";

const ofClass = (body: string): string =>
  `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { ${body} }`;

test.each([
  [
    "over a part of a vector",
    functionSource("event => { let n = 0; for (const v of event.celsius.subarray(1)) n++; return n === 2; }"),
  ],
  [
    "over a copy of a vector",
    functionSource("event => { let n = 0; for (const v of event.celsius.slice()) n++; return n === 3; }"),
  ],
  [
    "over a new array",
    functionSource(
      "event => { let n = 0; for (const v of new Uint8Array(event.station)) n++; return n === event.station; }",
    ),
  ],
  [
    "over what a method gives, which is called once",
    ofClass(
      `n = 0;
       both() { this.n++; return new Float32Array(2); }
       enqueue(event) { for (const v of this.both()) this.n += 10; if (this.n === 21 * event.station) super.enqueue(event); }`,
    ),
  ],
  [
    "up to the length of a list that becomes shorter",
    ofClass(
      `list = [];
       enqueue(event) {
         this.list.push(event);
         const list = this.list;
         let n = 0;
         if (event.station === 4) for (let i = 0; i < list.length; i++) { list.shift(); n++; }
         if (n !== 2) super.enqueue(event);
       }`,
    ),
  ],
  [
    "up to the size of a map that becomes smaller",
    ofClass(
      `map = new Map();
       enqueue(event) {
         this.map.set(event.station, 1);
         const map = this.map;
         let n = 0;
         if (event.station === 4) for (let i = 0; i < map.size; i++) { map.delete(map.keys().next().value); n++; }
         if (n !== 2) super.enqueue(event);
       }`,
    ),
  ],
  [
    "up to a field of the modulator that becomes less, under another name of that",
    ofClass(
      `n = 0;
       enqueue(event) {
         this.n = 6;
         const self = this;
         let rounds = 0;
         for (let i = 0; i < self.n; i++) { this.n--; rounds++; }
         if (rounds === 3) super.enqueue(event);
       }`,
    ),
  ],
])("MOE-27: a loop %s runs compiled as often as in a host", async (_, source) => {
  const tiers: (string | undefined)[] = [];
  const [compiled, hosted] = await outcomes(async bench => {
    await bench.install({ source });
    bench.enqueue(Reading, readings(1, 2, 3, 4, 5));
    await bench.environment.settled();
    tiers.push(bench.placement?.tier);
  });
  expect(tiers).toEqual(["compiled", "hosted"]);
  expect(compiled).toEqual(hosted);
  expect(compiled).not.toEqual([]);
});
