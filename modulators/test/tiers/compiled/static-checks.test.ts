import { type } from "@jecho/shared";
import { expect, test } from "vitest";
import { compileFor } from "../../../src/tiers/compiled/compiler.ts";
import { GivenData } from "../../../src/tiers/compiled/given-data.ts";
import { Refusal } from "../../../src/tiers/compiled/refusal.ts";

const Reading = type("Reading", { station: "uint32", celsius: "float32[]" });

function whyNot(
  body: string,
  before = "",
  parameters: unknown = { every: 3, name: "a", list: [1, 2] },
): string {
  const source = `import { FifoModulator } from "jecho:moe";
${before}
export default class extends FifoModulator {
  ${body}
}`;
  const verdict = compileFor(source, Reading, GivenData.of(parameters, { wanted: { above: 1 } }));
  return verdict instanceof Refusal ? verdict.message : "";
}

/** Forty constants, each twice as long as the one before. */
const doubled = (next: (i: number) => string): string =>
  Array.from({ length: 40 }, (_, i) => `const l${i + 1} = ${next(i)};`).join(" ");

test.each([
  "static check(parameters) { if (!Number.isInteger(parameters.every) || parameters.every < 1) throw new RangeError('every'); }",
  "static check({ every, most = 7 }, { wanted: { above } }) { if (every > most || above > 1) throw new Error(`every`); }",
  "static check({ list: [a, b], missing }) { for (const n of [a, b]) if (n < 1) throw new Error(); if (missing !== undefined) throw 1; }",
  "static check({ list }) { for (let i = 0; i < list.length; i++) if (typeof list[i] !== 'number') throw new Error(); }",
  "static check({ name }) { if (!['a', ...['b']].includes(name) || name?.startsWith('b')) throw new Error(); }",
  "static check() { const names = ['x'].map(name => name); if (names[0] !== 'x') throw new Error(); }",
  "static check() { const x = 1; const f = (g = () => x) => { const x = 2; return g() + x; }; if (f() !== 3) throw new Error(); }",
  "static checkInput(fields, { every }) { if (fields.celsius !== 'float32[]' || fields.other !== undefined || every > 3) throw new Error(); }",
])("a class with %s is compiled where that returns", body => {
  expect(whyNot(body)).toBe("");
});

test.each([
  [
    "static check({ every }) { if (every > 2) throw new RangeError('every'); }",
    "refuses what the modulator is given",
  ],
  ["static check({ missing }) { missing.length; }", "reads a member of nothing"],
  ["static check(parameters) { parameters.toString(); }", "this call of toString"],
  [
    "static check(parameters) { if (parameters.constructor) throw new Error(); }",
    "this member in a static check",
  ],
  ["static check() { f(); function f() { f(); } }", "calls itself"],
  [`static check({ list }) { const l0 = list; ${doubled(i => `[...l${i}, ...l${i}]`)} }`, "takes so long"],
  [`static check({ name }) { const l0 = name; ${doubled(i => `\`\${l${i}}\${l${i}}\``)} }`, "takes so long"],
  ["static check({ list }) { Math.max(list); }", "Math.max is not called"],
  ["static check() { this.other = 1; }", "AssignmentExpression"],
  ["static check() { globalThis.x = 1; }", "AssignmentExpression"],
  ["static check() { if (x > 1) return; const x = 2; }", "may be read before it has a value"],
  ["static check({ name }) { if (name > 1) return; }", "the operator > of a static check"],
  ["static check() { if ([, 1][0] === null) throw new Error(); }", "a list with holes"],
  ["static checkInput(fields) { if (fields.station !== 'int32') throw new Error(); }", "refuses what"],
])("a class with %s is hosted", (body, why) => {
  expect(whyNot(body)).toContain(why);
});

test("what stands beside the class is there for its check, and what is not known of it is refused where it is wanted", () => {
  const before =
    "const NAMES = ['a'];\nconst now = Date.now;\nfunction isIn(name) { return NAMES.includes(name); }";
  expect(whyNot("static check({ name }) { if (!isIn(name)) throw new Error(); }", before)).toContain(
    "is not compiled",
  );
  const harmless = before.replace("Date.now", "/a/");
  expect(whyNot("static check({ name }) { if (!isIn(name)) throw new Error(); }", harmless)).toBe("");
  expect(whyNot("static check({ name }) { if (now.test(name)) throw new Error(); }", harmless)).not.toBe("");
});

test("a class or import that has a name of the language's is not taken for the language's", () => {
  const check = "static check({ every }) { if (!Number.isInteger(every)) throw new Error(); }";
  expect(whyNot(check)).toBe("");
  expect(whyNot(check, "class Number extends FifoModulator {}")).toContain('"Number" is not known');
  expect(whyNot(check, 'import { sum as Number } from "jecho:moe";')).toContain('"Number" is not known');
});

test("a check that lets one value pass refuses another one of the same shape", () => {
  const check = "static check({ every }) { if (every > 3) throw new Error(); }";
  expect(whyNot(check, "", { every: 3 })).toBe("");
  expect(whyNot(check, "", { every: 4 })).toContain("refuses what the modulator is given");
});

test("MOE-27: a check that compares long texts, or stands in many blocks, takes the producer no long time", () => {
  const [a, b] = ["x".repeat(3000), "x".repeat(3000)];
  const often = (act: string): string =>
    `static check({ a, b, list }) { for (let i = 0; i < 100; i++) ${act} }`;
  for (const act of ["if (a !== b) throw 1;", "if (list.includes(a)) throw 1;"])
    expect(whyNot(often(act), "", { a, b, list: [`${b}y`, "z"] })).toContain("takes so long");
  const lists = { list: Array(300).fill(0), outer: Array(100).fill(0), name: "" };
  const names = Array.from({ length: 300 }, (_, i) => `n${i}`);
  for (const act of [
    "list.map(item => {});",
    `{ const [${names}] = list; }`,
    `{ f(); function f(${names}) {} }`,
    `{ f(); function f() { return; ${names.map(one => `let ${one};`).join(" ")} } }`,
    `\`${"x".repeat(300)}\`;`,
  ])
    expect(whyNot(`static check({ list, outer }) { for (const one of outer) ${act} }`, "", lists)).toContain(
      "takes so long",
    );
  const deep = `static check() { ${"{".repeat(300)} ${"}".repeat(300)} }`;
  expect(whyNot(deep)).toContain("blocks in one another");
});
