import { ModulatorBench } from "@jecho/modulators/testing";
import { unpack } from "@jecho/shared";
import { expect, test } from "vitest";
import { seeded } from "./random-values.ts";
import { changed, exampleModulators, randomEventOf, standardModulators, verdictsOn } from "./shipped.ts";

test("of the standard modulators these are compiled beside a producer that does not know them", () => {
  expect(verdictsOn(standardModulators())).toMatchInlineSnapshot(`
    {
      "aggregate": "compiled",
      "cluster": "the operator << of a static check is not compiled with these",
      "compress": "compiled",
      "crop": "compiled",
      "diff": "compiled",
      "downsample": "compiled",
      "encrypt": "it has 44971 characters, and at most 32768 are compiled",
      "fifo": "compiled",
      "latest-per-key": "compiled",
      "packed-view": "compiled",
      "priority": "compiled",
      "quantise": "compiled",
      "rate-limit": "compiled",
      "sample": "compiled",
      "view-filter": "compiled",
    }
  `);
});

test("of the modulators that README, pages, examples and the template show these are compiled", () => {
  expect(verdictsOn(exampleModulators())).toMatchInlineSnapshot(`
    {
      "README.md, 1": "compiled",
      "README.md, 2": "compiled",
      "apps/create-jecho/template/page.ts": "compiled",
      "apps/examples/src/changing-handlers.ts": "a text that is put together is not compiled",
      "apps/examples/src/derived-mean.ts": "compiled",
      "apps/examples/src/filter-modulator.ts": "compiled",
      "apps/examples/src/parameterized-filter.ts": "compiled",
      "apps/examples/src/range-filter.ts": "compiled",
      "client/README.md": "compiled",
      "docs/tutorial.md": "compiled",
      "modulators/docs/README.md, 1": "compiled",
      "modulators/docs/README.md, 2": "compiled",
      "modulators/docs/README.md, 3": "compiled",
      "modulators/docs/README.md, 4": "compiled",
      "modulators/docs/README.md, 5": "compiled",
      "react/README.md": "compiled",
    }
  `);
});

const all = [...standardModulators(), ...exampleModulators()];
const verdicts = verdictsOn(all);

test.each(all.filter(({ name }) => verdicts[name] === "compiled"))(
  "MOE-27: $name is compiled, and makes what a host makes of the same events, bit by bit",
  async ({ modulator, type }) => {
    const random = seeded(1);
    let newest = randomEventOf(type, random);
    // Some resemble the one before: what keeps an event's numbers makes little of them.
    const events = Array.from({ length: 64 }, (_, i) => {
      newest = i % 4 === 0 ? randomEventOf(type, random) : changed(newest, random);
      return newest;
    });
    const made: unknown[] = [];
    // A producer knows the standard ones by their text.
    const unknown = { ...modulator, source: `${modulator.source}\n// Another one.` };
    for (const place of ["compiled", "isolated-vm"] as const) {
      await using bench = await ModulatorBench.open(unknown, { type, place });
      await bench.push(...events.slice(0, 30));
      await bench.pass(700);
      await bench.push(...events.slice(30, 40));
      await bench.ready(false);
      await bench.push(...events.slice(40));
      await bench.pass(1400);
      await bench.ready(true);
      await bench.pass(3000);
      expect(bench.placement?.tier).toBe(place === "compiled" ? place : "hosted");
      // Each stream has a number of its own.
      const fieldsOf = (event: object): object => ("stream" in event ? { ...event, stream: 1 } : event);
      made.push(
        bench.made.map(({ event, bytes, urgent }) => [
          fieldsOf(unpack(event as object) as object),
          bytes,
          urgent,
        ]),
      );
    }
    expect(made[0]).toEqual(made[1]);
    expect(made[0]).not.toEqual([]);
  },
);
