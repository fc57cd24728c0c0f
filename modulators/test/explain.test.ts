import { modulatorFrom } from "@jecho/modulators";
import { explainModulator } from "@jecho/modulators/testing";
import { type Type, type } from "@jecho/shared";
import { expect, test } from "vitest";

const Reading: Type = type("Reading", { station: "uint32", place: "string", celsius: "float32[]" });

test("a modulator that is compiled is explained by its cost, the fields that it reads and its size", () => {
  const above = (event: { celsius: number[] }, { parameters }: { parameters: { above: number } }) =>
    event.celsius.some(value => value > parameters.above);
  const explained = explainModulator(modulatorFrom(above, { parameters: { above: 24 } }), Reading);
  expect(explained).toEqual({
    isCompiled: true,
    why: "",
    line: 0,
    column: 0,
    cost: expect.stringMatching(/^\d+(\.\d)? \+ \d+(\.\d)? x celsius\.length$/),
    reads: ["celsius"],
    bytes: expect.any(Number),
  });
});

test("a loop whose length the text does not say is counted as it runs", () => {
  const halves = (event: { station: number }) => {
    let left = event.station;
    while (left > 3) left /= 2;
    return left > 2;
  };
  expect(explainModulator(modulatorFrom(halves), Reading).cost).toMatch(
    /^\d+(\.\d)? \+ what it counts as it runs$/,
  );
});

test("a modulator that is hosted is explained by why, and where that stands in its author's text", () => {
  const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    if (event.place.length > 4) super.enqueue(event);
  }
}`;
  expect(explainModulator({ source }, Reading)).toMatchObject({
    isCompiled: false,
    why: '"length" of a text is not compiled',
    line: 4,
    column: 9,
    bytes: 0,
  });
});

test("a modulator that says another type than the events' is explained by what does not fit", () => {
  const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  static input = { name: "Reading", description: { station: "string" } };
}`;
  expect(explainModulator({ source }, Reading)).toMatchObject({
    isCompiled: false,
    why: expect.stringMatching(/^it reads no event of Reading, as static input says another type: .*station/),
  });
});
