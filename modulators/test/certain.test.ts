// Whether an installation of a module is sure to end as the last one did (MOE-3).
import { expect, test } from "vitest";
import { isCertain } from "../src/host/certain.ts";

const IMPORT = 'import { FifoModulator, Modulator, type } from "jecho:moe";\n';

function module(body: string, before = ""): string {
  return `${IMPORT}${before}\nexport default class Some extends FifoModulator {\n${body}\n}`;
}

test.each([
  ["intercepts alone", module("enqueue(event) { if (event.a > this.parameters.a) super.enqueue(event); }")],
  ["nothing at all", module("")],
  ["getters and setters of its own", module("get limit() { return this.parameters.limit; } set limit(_) {}")],
  ["private methods, and removed", module("#a() { return Math.random(); } removed() { this.#a(); }")],
  [
    "fields with fixed values",
    module(`#sum = 0; seen = [1, -2, 'a', { b: null }]; last; none = undefined; #of = \`a\${1 + 1}\`;`),
  ],
  [
    "fields that are made anew",
    module("byKey = new Map(); window = new Float64Array(8); pairs = new Map([[1, 2]]);"),
  ],
  [
    "functions that are called later",
    module("enqueue = event => super.enqueue(event); other = function () {};"),
  ],
  [
    "what the MOE asks for, said plainly",
    module("static needs = ['log', 'random']; static periodMs = 100; periodMs = 50;"),
  ],
  ["static methods of its own", module("static from(a) { return a; }")],
  [
    "a type of its own",
    module("static output = type('Mean', { mean: 'float64', of: NAMES });", "const NAMES = 'string[]';"),
  ],
  ["constants of the language", module("most = Math.PI * Number.MAX_SAFE_INTEGER; least = -Infinity;")],
  [
    "values and functions of the module",
    module(
      "a = LIMITS; b = half;",
      "const LIMITS = { a: [1] }; let seen = 0; function half(x) { return x / 2; }",
    ),
  ],
  [
    "a helper with a constructor",
    module("enqueue(e) { new Ring(e); }", "class Ring { constructor(a) { this.a = a.b.c; } }"),
  ],
  [
    "a class of its own in between",
    module("", "class Base extends Modulator { a = 1; }")
      .replace("extends Fifo", "extends Base_")
      .replace("Base_Modulator", "Base"),
  ],
  [
    "a class that is exported apart",
    `${IMPORT}var Some = class extends FifoModulator { a = 1; };\nexport { Some as default };`,
  ],
  [
    "a class that is named before",
    `${IMPORT}class Some extends Modulator {}\nexport const A = 1;\nexport default Some;`,
  ],
])("certain: %s", (_, source) => {
  expect(isCertain(source)).toBe(true);
});

test.each([
  ["a constructor", module("constructor(...all) { super(...all); }")],
  ["installed", module("installed() {}")],
  ["installed as a field", module("installed = () => { throw 1; };")],
  ["check", module("static check(parameters) {}")],
  ["check as a field", module("static check = parameters => { throw parameters; };")],
  ["checkInput", module("static checkInput() {}")],
  ["a getter of what the MOE asks for", module("get periodMs() { return this.parameters.periodMs; }")],
  ["the same in quotes", module("get 'mostPerSecond'() { return Math.random(); }")],
  ["a static getter", module("static get needs() { return []; }")],
  ["a setter of what the MOE sets", module("set parameters(value) { throw value; }")],
  ["a name that is computed", module("[Math.random()]() {}")],
  ["a static block", module("static { throw 1; }")],
  ["a field of the parameters", module("limit = this.parameters.limit;")],
  ["a field of what is called", module("a = Math.random();")],
  ["a field of a function of the module", module("a = half(1);", "function half(x) { return x / 2; }")],
  ["a field of a class of the module", module("a = new Ring();", "class Ring {}")],
  ["something else by a known name", module("a = new Map();", "class Map { constructor() { throw 1; } }")],
  [
    "a function by a known name, further down",
    `${module("a = new Map();")}\nfunction Map() { if (Date.now() % 2) throw 1; }`,
  ],
  ["another Math", `${module("a = Math.PI;")}\nconst Math = { PI: { toString() {} } };`],
  [
    "a type with functions in it",
    module("static output = type('A', B);", "const B = { a: { toString() { return Date.now(); } } };"),
  ],
  ["a getter in a value", module("a = { get b() { return 1; } };")],
  ["a value that is spread", module("a = [...'abc'];")],
  ["a tagged text", module("a = String.raw`a`;")],
  ["a statement", module("", "if (Date.now() % 2) throw 1;")],
  ["a variable of what is called", module("", "const now = Date.now();")],
  ["a variable taken apart", module("", "const { a } = { a: 1 };")],
  ["a class of the language", `export default class Some extends Object {}`],
  [
    "a class that is made",
    module("").replace("extends FifoModulator", "extends (class extends FifoModulator {})"),
  ],
  [
    "a class that comes later",
    `${IMPORT}export default class Some extends Base {}\nclass Base extends FifoModulator {}`,
  ],
  ["no class", `${IMPORT}export default 1;`],
  ["no default", `${IMPORT}export class Some extends FifoModulator {}`],
  ["a function", `${IMPORT}export default function f() {}`],
  ["another module", `import { FifoModulator } from "other";\nexport default class extends FifoModulator {}`],
  [
    "a module as a whole",
    `import * as moe from "jecho:moe";\nexport default class extends moe.FifoModulator {}`,
  ],
  ["what is no module", "export default class {"],
  ["what waits", module("", "await 0;")],
  ["a very long text", module(`// ${"a".repeat(20_000)}`)],
  ["one that is nested too deep", module(`a = ${"[".repeat(7000)}${"]".repeat(7000)};`)],
])("not certain: %s", (_, source) => {
  expect(isCertain(source)).toBe(false);
});
