import { type } from "@jecho/shared";
import { expect, test } from "vitest";
import { compileText } from "../../../src/tiers/compiled/compiler.ts";
import { GivenData } from "../../../src/tiers/compiled/given-data.ts";
import type { Guard, GuardValue } from "../../../src/tiers/compiled/guards.ts";
import { Refusal } from "../../../src/tiers/compiled/refusal.ts";
import { functionSource } from "./function-source.ts";

const Reading = type("Reading", { station: "int32", celsius: "float64", place: "string", isOk: "bool" });

/** The guards of a text, as text. */
function guardsOf(source: string): string[] {
  const parameters = { least: 1, most: 2, name: "a" };
  const verdict = compileText(source, Reading, GivenData.of(parameters, { wanted: { station: 1 } }));
  if (verdict instanceof Refusal) throw verdict;
  return verdict.guards.map(textOf);
}

function textOf(guard: Guard): string {
  if (guard.is === "equal") return `${guard.field} = ${guard.to.map(asText).join(" or ")}`;
  return `${guard.field} ${guard.is === "least" ? ">=" : "<="} ${asText(guard.value)}${guard.orNaN ? " or NaN" : ""}`;
}

function asText(value: GuardValue): string {
  if (value.from === "data") return value.path.replaceAll("\n", ".");
  return typeof value.value === "number" ? `${value.value}` : `"${Buffer.from(value.value)}"`;
}

test.each([
  ["event.station === parameters.least", ["station = parameters.least"]],
  ["parameters.least < event.celsius", ["celsius >= parameters.least"]],
  ["event.isOk && event.place === parameters.name", ["place = parameters.name"]],
  ['["b", parameters.name].includes(event.place)', ['place = "b" or parameters.name']],
  ["event.station === 3 || event.station === 5", ["station = 3 or 5"]],
  ["event.station === 3 && event.celsius > 1 || event.station === 3", ["station = 3"]],
  ["!(event.celsius < 3)", ["celsius >= 3 or NaN"]],
  ["!(event.station < 3 || event.station > 7)", ["station >= 3", "station <= 7"]],
  ["event.celsius > NaN", ["celsius >= NaN"]],
  ["!(event.celsius > NaN)", []],
  ["event.celsius > 3 ? event.station === 1 : event.station === 2", ["station = 1 or 2"]],
  ["event.celsius !== 3", []],
  ["event.celsius > 3 || event.station === 1", []],
  ["event.celsius + 1 > 3", []],
  ["event.celsius > parameters.least + 1", []],
  ["objects.wanted.station === event.station && urgent(event)", ["station = objects.wanted.station"]],
  ["event.station === 1 && { ...unpack(event), celsius: 3 }", ["station = 1"]],
])("MOE-29: %s holds for every event that passes", (test, guards) => {
  expect(guardsOf(functionSource(`(event, { parameters, objects, urgent, unpack }) => ${test}`))).toEqual(
    guards,
  );
});

test.each([
  ["if (event.station !== 3) return false; return event.celsius > 1;", ["station = 3", "celsius >= 1"]],
  ["const { station } = event; const isIt = station === 3; if (isIt) return event;", ["station = 3"]],
  ["let station = event.station; if (event.isOk) station = 4; return station === 3;", []],
  ["const near = (value, by) => value > by; return near(event.celsius, 2);", ["celsius >= 2"]],
  [
    "for (let i = 0; i < 3; i++) if (event.station === 3) return true; return event.station === 4;",
    ["station = 3 or 4"],
  ],
  ["for (let i = 0; i < 3; i++) if (event.station === 3) break; return event.isOk;", []],
])("MOE-29: guards are found along all ways through a function: %s", (body, guards) => {
  expect(guardsOf(functionSource(`(event, { parameters }) => { ${body} }`))).toEqual(guards);
});

test("MOE-29: a class has guards as long as it has no state", () => {
  const ofClass = (fields: string, enqueue: string): string =>
    `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { ${fields} enqueue(event) { ${enqueue} } }`;
  const enqueue = "if (event.station === this.parameters.least) super.enqueue(event);";
  expect(guardsOf(ofClass("", enqueue))).toEqual(["station = parameters.least"]);
  expect(guardsOf(ofClass("seen = 0;", `this.seen++; ${enqueue}`))).toEqual([]);
  expect(guardsOf(ofClass("", "super.enqueue(event);"))).toEqual([]);
});
