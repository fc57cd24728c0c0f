import { modulatorFrom } from "@jecho/modulators";
import { FifoModulator, Modulator, urgent } from "@jecho/modulators/moe";

import { type, typeScriptOf, unpack } from "@jecho/shared";
import { expect, inject, test } from "vitest";
import { openBench } from "./rig.ts";

const Reading = type("Reading", { n: "uint32", celsius: "float32" });
type Reading = typeof Reading.event;
const OPTIONS = { type: Reading };
const READINGS = [1, 2, 3, 4].map(n => ({ n, celsius: 10 * n }));
const numbers = (events: readonly Reading[]) => events.map(({ n }) => n);

test("a modulator from a function: passes, discards, transforms and splits", async () => {
  for (const [written, expected] of [
    [(event: Reading) => event.celsius > 25, [3, 4]],
    [({ n }: Reading) => (n === 2 ? { n: 20, celsius: 0 } : undefined), [20]],
    [(event: Reading) => (event.n === 1 ? [event, { n: 100, celsius: 1 }, event] : null), [1, 100, 1]],
  ] as const) {
    await using bench = await openBench<Reading>(modulatorFrom(written), OPTIONS);
    expect(numbers(await bench.push(...READINGS))).toEqual(expected);
  }
});

test("a function gets the parameters and the shared objects, and the compiler knows them", async () => {
  const objects = { wanted: { id: "w", version: 1, state: { n: 3 } } };
  const modulator = modulatorFrom(
    (event: Reading, { parameters, objects }) => event.n === objects.wanted.n || event.n === parameters.also,
    { parameters: { also: 1 }, objects },
  );
  await using bench = await openBench<Reading>(modulator, OPTIONS);
  expect(numbers(await bench.push(...READINGS))).toEqual([1, 3]);
  // @ts-expect-error: a parameter of another name
  modulatorFrom((event: Reading, { parameters }) => event.n === parameters.als, { parameters: { also: 1 } });
  // @ts-expect-error: an object that it does not read
  modulatorFrom((event: Reading, { objects }) => event.n === objects.view.n, { objects });
});

test("a modulator from a class, with a parent of one's own, and from an anonymous one", async () => {
  class Above extends FifoModulator {
    least = 0;
    override enqueue(event: Reading): void {
      if (event.n > this.least) super.enqueue(event);
    }
  }
  class AboveTwo extends Above {
    override least = 2;
  }
  const Anonymous = class extends Modulator {
    held: Reading | undefined;
    override enqueue(event: Reading): void {
      this.held = event;
    }
    override dequeue(): object | undefined {
      const { held } = this;
      this.held = undefined;
      return held?.n === 4 ? held : undefined;
    }
  };
  for (const [written, expected] of [
    [Above, [1, 2, 3, 4]],
    [AboveTwo, [3, 4]],
    [Anonymous, [4]],
  ] as const) {
    await using bench = await openBench<Reading>(modulatorFrom(written), OPTIONS);
    expect(numbers(await bench.push(...READINGS))).toEqual(expected);
  }
});

test("an error arrives with the line and column of the class's, the function's, or the module's own text", async () => {
  class Broken extends FifoModulator {
    override enqueue(event: object): void {
      (event as { nothing: { more(): void } }).nothing.more();
    }
  }
  const lineOf = (text: string) => 1 + text.split("\n").findIndex(line => line.includes("nothing.more"));
  const derive = (event: { nothing: { more(): void } }) => {
    return event.nothing.more();
  };
  for (const [written, line] of [
    [Broken, lineOf(Broken.toString())],
    [derive, lineOf(derive.toString())],
    [
      'import { FifoModulator } from "jecho:moe";\nexport default class extends FifoModulator {\n enqueue(e) { e.nothing.more(); }\n}',
      3,
    ],
  ] as const) {
    await using bench = await openBench<Reading>(modulatorFrom(written), OPTIONS);
    await expect(bench.push(READINGS[0] as Reading)).rejects.toMatchObject({
      code: "MODULATOR_FAILED",
      message: expect.stringMatching(new RegExp(`\\(line ${line}, column \\d+ of its source\\)$`)),
    });
  }
});

test("places in errors are those of what its author wrote: from its first column, also of a class that has a parent", async () => {
  // Nothing that a bundler could put into the function in its place.
  const least = Number("3");
  const derive = (event: Reading) => event.n > least;
  class Parent extends FifoModulator {}
  class Child extends Parent {
    override enqueue(event: Reading): void {
      if (event.n > least) super.enqueue(event);
    }
  }
  for (const written of [derive, Child]) {
    const before = written.toString().split("least")[0]?.split("\n") ?? [];
    const column = 1 + (before.at(-1)?.length ?? 0);
    await using bench = await openBench<Reading>(modulatorFrom(written), OPTIONS);
    await expect(bench.push(READINGS[0] as Reading)).rejects.toMatchObject({
      message: expect.stringMatching(
        new RegExp(`not defined \\(line ${before.length}, column ${column} of its source\\): .*parameters`),
      ),
    });
  }
});

// Beside the producer there is one.
test.skipIf(inject("modulatorPlace") === "local")(
  "a modulator that prints to the console is told of its log",
  async () => {
    const derive = () => {
      console.error("here");
      return true;
    };
    await using bench = await openBench<Reading>(modulatorFrom(derive), OPTIONS);
    await expect(bench.push(READINGS[0] as Reading)).rejects.toThrow(
      /console'? is not defined \(.*\): .* its log/,
    );
  },
);

test("a function has what else it takes to make events: unpack, urgent, sum and mean; a method is a function, too", async () => {
  const modulator = modulatorFrom((event: Reading, { unpack, urgent }) =>
    urgent({ ...unpack(event), celsius: 0 }),
  );
  await using bench = await openBench<Reading>(modulator, OPTIONS);
  const made = await bench.push({ n: 7, celsius: 20 });
  expect(made.map(event => unpack(event))).toEqual([{ n: 7, celsius: 0 }]);
  expect(bench.made.map(made => made.urgent)).toEqual([true]);
  const summed = modulatorFrom((event: Reading, { mean, sum, unpack: copy }) => ({
    ...copy(event),
    celsius: sum([event.n, 1, 2]) + mean([event.celsius, 2]),
  }));
  await using third = await openBench<Reading>(summed, OPTIONS);
  expect((await third.push({ n: 7, celsius: 20 })).map(event => unpack(event))).toEqual([
    { n: 7, celsius: 21 },
  ]);
  const methods = {
    above(event: Reading) {
      return event.n > 3;
    },
  };
  await using other = await openBench<Reading>(modulatorFrom(methods.above), OPTIONS);
  expect(numbers(await other.push(...READINGS))).toEqual([4]);
});

test.each([
  ["a number, as E-Code's", (event: Reading) => (event.n > 2 ? 1 : 0), "it returned a number"],
  ["text", () => "yes", "it returned a string"],
  ["a promise", async (event: Reading) => event.n > 2, "this is a promise"],
  ["other fields", () => ({ count: 1 }), "this is an object without any of them"],
  ["a list of a list", (event: Reading) => [[event]], "this is a list"],
])("what a function returns that is no answer is an error, and no event: %s", async (_, derive, message) => {
  await using bench = await openBench<Reading>(modulatorFrom(derive), OPTIONS);
  await expect(bench.push(...READINGS)).rejects.toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringContaining(message),
  });
});

test.each([
  ["a native function", Math.abs],
  ["a bound function", ((event: Reading) => event.n > 1).bind(null)],
  ["no function", 5 as unknown as string],
  ["a class that extends neither", class Hot {} as unknown as string],
])("what has no text is refused: %s", (_, written) => {
  expect(() => modulatorFrom<never>(written)).toThrow(expect.objectContaining({ code: "MODULATOR_INVALID" }));
});

test("the bench: controls, views, log, urgent events, and why a modulator was removed", async () => {
  const steered: unknown[] = [];
  const lines: string[] = [];
  let temperature = 20;
  const modulator = modulatorFrom(`
    import { FifoModulator, urgent } from "jecho:moe";
    export default class extends FifoModulator {
      static needs = ["controls.warm", "context.temperature", "log"];
      enqueue(event) {
        const { controls, context, log } = this.moe;
        controls.warm(event.n);
        log("at " + context.temperature);
        super.enqueue(event.n === 2 ? urgent(event) : event);
      }
    }`);
  const delegate = {
    context: { temperature: () => temperature },
    controls: { warm: (n: number) => steered.push(n) },
    log: (line: string) => lines.push(line),
    requires: { controls: "steer" },
  };
  await expect(openBench(modulator, { ...OPTIONS, delegate })).rejects.toMatchObject({
    code: "SERVICE_NOT_GRANTED",
  });
  await using bench = await openBench<Reading>(modulator, {
    ...OPTIONS,
    delegate,
    capabilities: ["steer"],
  });
  await bench.push(READINGS[0] as Reading);
  temperature = 30;
  await bench.push(READINGS[1] as Reading);
  expect([steered, lines]).toEqual([
    [1, 2],
    ["at 20", "at 30"],
  ]);
  expect(bench.made.map(made => made.urgent)).toEqual([false, true]);
  expect(bench.stats).toMatchObject({ eventsIn: 2, eventsOut: 2 });
  expect(typeof urgent).toBe("function");
});

test("types for modulators are generated from the channel's schema", () => {
  const Weather = type("Weather", {
    step: "uint32",
    isStormy: "bool",
    id: "uint64",
    place: "string",
    names: "string[]",
    winds: "float32[]",
    where: { latitude: "float32" },
    stations: [{ heights: "int16[]" }],
  });
  expect(typeScriptOf(Weather)).toBe(`/** Weather */
export interface Weather {
  readonly step: number;
  readonly isStormy: boolean;
  readonly id: bigint;
  readonly place: string;
  readonly names: readonly string[];
  readonly winds: Float32Array;
  readonly where: where | undefined;
  readonly stations: readonly stations[];
}

/** Weather.where */
export interface where {
  readonly latitude: number;
}

/** Weather.stations */
export interface stations {
  readonly heights: Int16Array;
}
`);
});

test("TYPE-10: a function says which type it was written for, and what it reads has that type for the compiler, too", async () => {
  const Grown = type("Reading", { station: "string", celsius: "float32", n: "uint16" });
  const modulator = modulatorFrom(({ n, celsius }) => ({ n: n * 100_000, celsius }), { input: Reading });
  await using bench = await openBench<typeof Grown.event, Reading>(modulator, { type: Grown });
  expect((await bench.push({ station: "a", n: 2, celsius: 0.5 })).map(event => unpack(event))).toEqual([
    { n: 200_000, celsius: 0.5 },
  ]);
  const Other = type("Reading", { n: "int64", celsius: "float32" });
  await expect(openBench(modulator, { type: Other })).rejects.toMatchObject({ code: "TYPE_MISMATCH" });
  expect(() => modulatorFrom(modulator.source, { input: Reading })).toThrow("static");
});
