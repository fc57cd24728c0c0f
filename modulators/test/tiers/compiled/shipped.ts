import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import * as standard from "@jecho/modulators";
import { type Json, type Modulator, modulatorFrom } from "@jecho/modulators";
import { FifoModulator } from "@jecho/modulators/moe";
import { explainModulator } from "@jecho/modulators/testing";
import { type Type, type } from "@jecho/shared";
import { grid } from "../../grid.ts";
import { functionSource } from "./function-source.ts";

/*
 * All modulators that come with the project, as they are shipped: no change of the compiler is to lose one of those that are compiled.
 */

/** A modulator that people get from this project, and the type of the events that it is shown with. */
export interface ShippedModulator {
  readonly name: string;
  readonly modulator: Modulator;
  readonly type: Type;
}

const VIEW = { firstLayer: 0, lastLayer: 3, south: -30, north: 60, west: -20, east: 60, stride: 1 };

/** The standard modulators, with the text that travels. */
export function standardModulators(): ShippedModulator[] {
  const { publicKey, secretKey } = standard.keyPair();
  const all = {
    aggregate: standard.aggregate("values", { every: 10, bins: 20, low: 200, high: 500 }),
    cluster: standard.cluster(),
    compress: standard.compress(),
    crop: standard.crop({ rows: [0, 4], columns: [2, 7] }),
    diff: standard.diff(VIEW, 0.5),
    downsample: standard.downsample("values", 16, "max"),
    encrypt: standard.encrypt({ publicKey, secretKey }),
    fifo: standard.fifo(),
    "latest-per-key": standard.latestPerKey("layer", { intervalMs: 500 }),
    "packed-view": standard.viewFilter(VIEW, { packed: true }),
    priority: standard.priority("layer", [3]),
    quantise: standard.quantise("values", 0.01),
    "rate-limit": standard.rateLimit(2000),
    sample: standard.sample(10),
    "view-filter": standard.viewFilter(VIEW),
  };
  return Object.entries(all).map(([name, { modulator }]) => ({
    name,
    modulator: modulator as Modulator,
    type: grid as Type,
  }));
}

interface ExampleData {
  readonly parameters?: Json;
  /** States of its shared objects. */
  readonly objects?: Readonly<Record<string, object>>;
}

const Reading = type("Reading", { station: "uint32", celsius: "float32[]" });
const Warm = type("Reading", { station: "uint32", celsius: "float32" });
const Cell = type("GridData", { layer: "int32", latitude: "int32", longitude: "int32", ozone: "float64" });
const Trade = type("Trade", { symbol: "string", tradePrice: "float64" });
const Plate = type("Plate", { step: "uint32", kelvin: "float32[]" });
const Winds = type("Winds", { step: "uint32", windVelocity: "float32[]" });
const Field = type("Field", { step: "uint32", rows: "uint32", columns: "uint32", values: "float32[]" });

const wanted = { objects: { wanted: { station: 7 } } };
const above = { parameters: { above: 24 } };
const box = { startLayer: 0, endLayer: 0, startLat: -90, endLat: 90, startLong: 0, endLong: 359 };

/** The files that show modulators; with each the type of its events, and the data of its modulators in their order. */
const FILES: readonly (readonly [path: string, type: Type, data: readonly ExampleData[]])[] = [
  ["README.md", Reading, [wanted, above]],
  ["docs/tutorial.md", Plate, [{ parameters: { above: 293.5 } }]],
  ["modulators/docs/README.md", Reading, [above, {}, {}, { parameters: { by: 0.1 } }, above]],
  ["client/README.md", Warm, [{}]],
  ["react/README.md", Warm, [wanted]],
  ["apps/create-jecho/template/page.ts", Field, [{ objects: { view: { columns: 200 } } }]],
  ["apps/examples/src/derived-mean.ts", Winds, [{}]],
  ["apps/examples/src/filter-modulator.ts", Cell, [{ objects: { consumerView: box } }]],
  ["apps/examples/src/changing-handlers.ts", Cell, [{ parameters: { threshold: 0.5 } }]],
  ["apps/examples/src/range-filter.ts", Trade, [{}]],
  [
    "apps/examples/src/parameterized-filter.ts",
    Trade,
    [{ objects: { param: { rangeLowBound: 75.5, rangeHighBound: 78.5 } } }],
  ],
];

/** The modulators that README, pages, examples and the template of create-jecho show. @throws Error where a file shows another number of them */
export function exampleModulators(): ShippedModulator[] {
  return FILES.flatMap(([path, of, data]) => {
    const texts = writtenIn(readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8"));
    if (texts.length !== data.length)
      throw new Error(`${path} has ${texts.length} modulators, and ${data.length} are known`);
    return texts.map((text, i) => {
      const { parameters = null, objects = {} } = data[i] as ExampleData;
      const shared = Object.fromEntries(
        Object.entries(objects).map(([name, state]) => [name, { id: name, version: 1, state }]),
      );
      const name = texts.length === 1 ? path : `${path}, ${i + 1}`;
      const modulator: Modulator = {
        ...text,
        parameters,
        objects: shared as NonNullable<Modulator["objects"]>,
      };
      return { name, modulator, type: of };
    });
  });
}

/** Functions and classes that are modulators, in their order in a file of whatever kind. */
function writtenIn(file: string): Pick<Modulator, "source">[] {
  const found = file.matchAll(
    /modulatorFrom\(\s*(?=\(|\w+\s*=>)|(?:export (?:default )?)?class \w+ extends FifoModulator/g,
  );
  return Array.from(found, ({ 0: match, index }) => {
    const isFunction = match.startsWith("modulatorFrom");
    const start = isFunction ? index + match.length : index;
    const end = isFunction ? endOfArgument(file, start) : file.indexOf("\n}", start) + 2;
    const text = plain(file.slice(start, end));
    if (isFunction) return { source: functionSource(text) };
    if (match.startsWith("export default"))
      return { source: `import { FifoModulator } from "jecho:moe";\n${text}` };
    const made: unknown = new Function("FifoModulator", `return ${text.replace(/^export /, "")}`)(
      FifoModulator,
    );
    return modulatorFrom(made as Parameters<typeof modulatorFrom>[0]);
  });
}

function endOfArgument(file: string, start: number): number {
  let depth = 0;
  let end = start;
  for (; depth >= 0 && !(depth === 0 && file[end] === ","); end++) {
    if ("([{".includes(file[end] as string)) depth++;
    else if (")]}".includes(file[end] as string)) depth--;
  }
  return depth < 0 ? end - 1 : end;
}

function plain(text: string): string {
  if (/^(?:export|class)/.test(text)) return stripTypeScriptTypes(text);
  const head = "const made = ";
  return stripTypeScriptTypes(`${head}${text}`).slice(head.length);
}

/** The tier that runs each of these modulators beside a producer that does not know its text: "compiled", or why it is hosted. */
export function verdictsOn(all: readonly ShippedModulator[]): Record<string, string> {
  return Object.fromEntries(
    all.map(({ name, modulator, type }) => {
      const { isCompiled, why } = explainModulator(modulator, type);
      return [name, isCompiled ? "compiled" : why];
    }),
  );
}

/** A random event whose fields are near those that the modulators look for. */
export function randomEventOf(of: Type, random: () => number): object {
  const near = (): number => Math.floor(random() * 2000 - 60) / 4;
  const rows = 1 + Math.floor(random() * 6);
  const columns = 1 + Math.floor(random() * 9);
  const known: Record<string, unknown> = {
    rows,
    columns,
    station: 5 + Math.floor(random() * 4),
    symbol: "GT",
    layer: Math.floor(random() * 4),
    // Some of the grid lies in the view.
    latFirst: random() * 60,
    latStep: -2,
    lonFirst: random() * 360 - 180,
    lonStep: 5,
  };
  const entries = of.root.fields.map(({ name, kind }) => {
    const value = kind.is === "vector" ? Float32Array.from({ length: rows * columns }, near) : near();
    const isWhole = kind.is === "scalar" && /int/.test(kind.scalar);
    return [name, known[name] ?? (isWhole ? Math.abs(Math.floor(value as number)) : value)];
  });
  return Object.fromEntries(entries);
}

/** The event with another number in each of its vectors. */
export function changed(event: object, random: () => number): object {
  const entries = Object.entries(event).map(([name, value]) => {
    if (!(value instanceof Float32Array)) return [name, value];
    const near = value.slice();
    near[Math.floor(random() * near.length)] = random() < 0.2 ? Number.NaN : random() * 500;
    return [name, near];
  });
  return Object.fromEntries(entries);
}
