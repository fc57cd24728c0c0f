import { type } from "@jecho/shared";
import { expect, test } from "vitest";
import { compileText } from "../../../src/tiers/compiled/compiler.ts";
import { costText } from "../../../src/tiers/compiled/cost.ts";
import { GivenData } from "../../../src/tiers/compiled/given-data.ts";
import { Refusal } from "../../../src/tiers/compiled/refusal.ts";
import { functionSource } from "./function-source.ts";

const Reading = type("Reading", {
  station: "uint32",
  place: "string",
  note: "string",
  when: "int64",
  isOk: "bool",
  height: "int32",
  celsius: "float32[]",
  wind: "float64[]",
});

const PARAMETERS = {
  above: 24,
  name: "a",
  list: [1, 2],
  deep: { on: true },
  names: ["a", "b"],
  long: "a".repeat(257),
  field: "height",
};

function verdictOn(source: string) {
  return compileText(source, Reading, GivenData.of(PARAMETERS, { wanted: { station: 1 } }));
}

const times = (count: number, text: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => text(i)).join("");

const ofClass = (body: string, before = ""): string =>
  `import { bytesOf, FifoModulator, typeToken, unpack, urgent } from "jecho:moe";\n${before}\nexport default class Mine extends FifoModulator {\n${body}\n}`;

test.each([
  "event => event.celsius[0] > 24",
  "(event, { parameters }) => event.celsius.some(value => value > parameters.above)",
  "(event, { parameters: { above, deep } }) => deep.on && Math.max(...event.celsius) > above",
  "({ station, isOk }, { objects: { wanted } }) => isOk && station === wanted.station",
  "(event, { urgent }) => event.station !== 7 || urgent(event)",
  "event => { let sum = 0; for (const v of event.celsius) sum += v; return sum / event.celsius.length > 20; }",
  "event => { for (let i = 1; i < event.wind.length; i += 2) if (event.wind[i] > event.wind[i - 1]) return true; return false; }",
  "(event, { parameters }) => event.height > parameters.list[1] && event.celsius.every(Math => Math > 0)",
  "event => { const half = x => x / 2; return half(half(event.height)) > 1; }",
  "function (event) { if (event.isOk) return event; }",
  "event => event.isOk ? event : null",
  "(event, { parameters: { name, names } }) => event.place === name || names.includes(event.place)",
  "({ place }) => !!place && place !== 'a' && ['b', 'c', `d`, 3].includes(place) && place.startsWith('b')",
  "(event, { parameters }) => parameters.name === 'all' || event.place.includes(parameters.name)",
  "(event, { unpack }) => event.height > 3 && { ...unpack(event), height: event.height / 2 }",
  "event => { const wind = { wind: event.wind }; return event.isOk ? { ...wind, place: event.note } : undefined; }",
  "(event, { unpack, urgent }) => event.station !== 7 || urgent({ ...unpack(event), station: 0, wind: [1, event.height] })",
  "event => { const most = Math.max(...event.celsius); return most > 3 ? { station: 1, celsius: Float32Array.of(most) } : false; }",
  "event => event.celsius.reduce((sum, v) => sum + v, 0) > 3 && event.wind.includes(0)",
  "event => event.celsius[0] === event.celsius[1]",
  "event => ({ height: event.celsius[3] })",
  "event => { let i = 0; for (let j = 9; i < j; i++, j--) {} return Number.isNaN(event.celsius[i]); }",
  "(event, { parameters }) => event['isOk'] && event[parameters.field] > 3",
  "(event, { parameters }) => { const pick = { height: v => v, other: () => 1 }; return pick[parameters.field](event.height) > 3; }",
  "(event, { parameters, unpack }) => ({ ...unpack(event), [parameters.field]: 3, wind: new event.wind.constructor(3) })",
  "event => { while (event.isOk) {} return true; }",
  "event => { const part = (a, b) => { const n = a + b; return { n, isOk: n > 1, wind: event.wind }; }; const { n, isOk, wind } = part(event.height, 1); return isOk && n > part(1, 2).n && wind.length > 1; }",
  "event => { for (let i = 0; i < event.height; i++) {} return true; }",
  "(event, { parameters }) => { const { missing: { x } = { x: 3 }, above = 1 } = parameters; return event.height > x + above; }",
  "(event, { parameters, objects }) => { const [a, b = 2, c] = objects.missing ?? parameters.missing ?? parameters.list; return event.height > a + b && c === undefined; }",
  "(event, { parameters }) => typeof parameters.field === 'string' ? event[parameters.field] > 3 : parameters.field.x.y",
  "(event, { parameters, unpack }) => { const o = { ...unpack(event) }; o[parameters.field] = 3; o.celsius = undefined; return o; }",
  "event => { const a = { height: 1 }; const b = a; b.height = event.height; const { height } = a; return height > 3 && a; }",
  "event => { for (let i = 0; i < 5; i++) { i = 0; } return true; }",
  "event => { for (const a of event.wind) for (const b of event.wind) if (a > b) return true; return false; }",
  "event => { if (event.isOk) throw new Error('x'); return true; }",
  "event => { const a = new Float32Array(event.height); for (let i = 0; i < a.length; i++) a[i] = event.wind[i] ?? 1; return { celsius: a }; }",
  "event => { const v = event.wind[3]; return v === undefined || (v ?? 0) > 1; }",
  "event => { const a = new Uint8Array(7); a[event.height] += 3; a[1]++; let n = a.length; do n--; while (n > 3); return a.some(v => v > n); }",
])("%s is compiled", text => {
  expect(verdictOn(functionSource(text))).not.toBeInstanceOf(Refusal);
});

test.each([
  ["event => event.place === '\\ufffd'", "no U+FFFD", 26],
  ["event => event.place === event.note", "two texts of the event", 10],
  ["event => event.place > 'a'", "a number is wanted here, and this is a text", 10],
  ["event => event.place.length > 3", '"length" of a text', 10],
  ["event => event.place", "it returns a text", 10],
  ["event => [event.height].includes(3)", "numbers that are written", 11],
  [
    "event => { let v = event.wind[3]; if (event.isOk) v = 1; return Object.is(v, NaN); }",
    "one of these may be either",
    65,
  ],
  [
    "event => { let v = event.wind[3]; if (event.isOk) v = 1; const part = event.wind.subarray(0, v); return part.length > 1; }",
    "up to a number",
    71,
  ],
  ["event => [NaN].includes(event.height)", "numbers that are written", 11],
  ["(event, { parameters }) => event.place === parameters.long", "at most 256 bytes", 44],
  ["event => event.when > 3", "integer of 64 bits", 10],
  ["event => event.celcius.length > 3", 'have no field "celcius"', 10],
  ["event => event.height", "it returns a number", 10],
  ["event => { const f = x => f(x); return f(1) > 0; }", "calls itself", 27],
  ["event => { function f(x) { return f(x); } return f(1) > 0; }", "calls itself", 35],
  ["event => { { const a = b; const b = 1; } return true; }", "may be read before it has a value", 24],
  ["event => Math.sumPrecise([]) > 0.5", "Math.sumPrecise is not compiled", 10],
  ["event => globalThis.x > 1", '"globalThis" is not compiled', 10],
  ["event => { event.height = 3; return true; }", "only variables and the modulator's own fields", 12],
  ["(event, { parameters }) => parameters.missing > 3", "a number is wanted here, and this is undefined", 28],
  [
    "(event, { parameters }) => parameters.toString === undefined",
    '"toString" is not there in parameters',
    28,
  ],
  ["(event, { moe }) => moe.clock() > 3", '"moe" is not compiled', 11],
  ["event => Math(event.height) > 3", "Math is not compiled as a function", 10],
  ["event => { event.wind[0] = 1; return true; }", "elements of arrays that it has made", 12],
  ["event => { const a = new Map(); return true; }", '"Map" is not compiled', 26],
  ["event => { const a = new Array(3); return true; }", '"Array" is not compiled', 26],
  ["event => new Float32Array(3).length > 2", '"length" of a vector', 10],
  ["event => { let v = event.wind[3]; v++; return (v ?? 0) > 1; }", "?? is compiled behind an element", 48],
  ["async event => true", "async functions", 1],
  ["event => typeof event.celsius[9] === 'number'", "typeof is compiled", 17],
  ["event => typeof event.height++ === 'number'", "typeof is compiled", 17],
  [
    "(event, { unpack }) => { const o = { ...unpack(event) }; if (event.isOk) o.height = 3; return o; }",
    "in the block that makes it",
    74,
  ],
  [
    "(event, { unpack }) => { const o = { ...unpack(event) }; const f = () => { if (event.isOk) return; o.height = 3; }; f(); return o; }",
    "in the block that makes it",
    100,
  ],
  [
    "event => { const o = { height: 1 }; for (let i = 0; i < 3; i++) o.height = i; return o; }",
    "in the block that makes it",
    65,
  ],
  ["event => { const o = { height: 1 }; o.__proto__ = event; return o; }", "in the block that makes it", 37],
  [
    "event => ({ ...event, height: 3 })",
    "in an object, ...unpack(event) is compiled, and this is an event",
    13,
  ],
  ["event => ({ other: 3 })", "no field of the events that go out", 11],
  [
    "(event, { urgent }) => { const marked = urgent({ height: 3 }); return marked; }",
    "where it goes out",
    32,
  ],
  ["event => ({ celsius: [event.isOk] })", "where it holds numbers", 23],
  ["event => [{ height: 3 }]", "numbers that are written", 11],
  ["event => ({ get height() { return 3; } })", "this part of an object", 13],
  ["event => ({ __proto__: event, height: 3 })", "this part of an object", 13],
  ["(event, { unpack }) => unpack(event)", "it returns an unpacked event", 24],
  ["event => { const f = () => { if (event.isOk) return 1; }; return f() > 0; }", "in some cases alone", 22],
  [
    "event => { let i = 0; const all = () => i; for (let i = 0, f = () => i; i < 3; i++) {} return true; }",
    "in the head of a loop",
    64,
  ],
] as const)("%s is refused", (text, why, column) => {
  const verdict = verdictOn(functionSource(text));
  expect(verdict).toBeInstanceOf(Refusal);
  const { message, line, column: found } = verdict as Refusal;
  expect([message, line, found]).toEqual([expect.stringContaining(why), 1, column]);
});

test.each([
  "",
  "enqueue(event) { if (event.isOk) super.enqueue(event); }",
  "n = 0; #on = true; enqueue(event) { if (this.#on && this.n++ % 2 === 0) super.enqueue(event); else this.#on = !this.#on; }",
  "limit = this.parameters.above * 2; enqueue(event) { this.#let(event); } #let(event) { if (event.height > this.limit) super.enqueue(urgent(event)); }",
  "enqueue(event) { if (event.isOk) { super.enqueue(event); return; } super.enqueue({ height: 3 }); }",
  "static output = { name: 'Mean', description: { mean: 'float64' } }; enqueue({ height }) { super.enqueue({ mean: height / 2 }); }",
  "last; enqueue(event) { if (this.last === undefined || this.last.height !== event.height) super.enqueue(event); const { height, isOk } = event; this.last = { height, isOk }; }",
  "wanted; enqueue(event) { const { wanted } = this.objects; if (wanted !== this.wanted) super.enqueue(event); this.wanted = wanted; }",
  "room = new Int32Array(0); enqueue({ celsius }) { if (celsius.length > this.room.length) this.room = new Int32Array(celsius.length); const bits = new Int32Array(celsius.buffer, celsius.byteOffset, celsius.length); for (let i = 0; i < bits.length; i++) this.room[i] = bits[i]; super.enqueue({ celsius: new Float32Array(this.room.buffer, 0, celsius.length) }); }",
  "last = new Map(); enqueue(event) { const last = this.last.get(event.place); if (last !== undefined && Math.abs(event.height - last) < 1) return; this.last.set(event.place, event.height); super.enqueue(event); }",
  "n = new Map(); enqueue(event) { const n = (this.n.get(event.station) ?? 0) + 1; this.n.set(event.station, n); if (this.n.size > 99) this.n.delete(this.n.keys().next().value); super.enqueue({ height: n }); }",
  "met = new Set(); enqueue(event) { if (this.met.has(event.station)) return; this.met.add(event.station); super.enqueue(event); if (this.met.size > 1000) this.met.clear(); }",
  "static periodMs = 1000 / 60; static mostPerSecond = Math.round(7.5) > 7 ? 8 : 7; enqueue(event) {}",
  "static output = { name: 'Raw', description: { raw: 'uint8[]' } }; enqueue(event) { const a = new Float32Array(2); super.enqueue({ raw: bytesOf({ ...unpack(event), height: event.height + 1, place: 'a', wind: a, celsius: [1], isOk: event.height > 1, other: 3 }) }); }",
  "#part(a) { if (a < 0) return undefined; return a > 3 ? { a, isOk: true } : { a: 3, isOk: false }; } enqueue(event) { const part = this.#part(event.height); if (part === undefined) return; if (part.isOk) super.enqueue({ height: part.a }); }",
])("a class with %s is compiled", body => {
  expect(verdictOn(ofClass(body))).not.toBeInstanceOf(Refusal);
});

test.each([
  ["enqueue(event) { super.enqueue(event); super.enqueue(event); }", "passed on twice"],
  [
    "let(event) { if (event.isOk) { super.enqueue(event); return; } } enqueue(event) { this.let(event); super.enqueue(event); }",
    "passed on twice",
  ],
  ["static output = { name: 'Mean', description: { mean: 'float64' } };", "no enqueue that makes it"],
  ["static output = { name: 'Mean', description: { mean: 'float65' } };", "its output is no type"],
  [
    "static output = { name: 'Mean', description: { mean: 'float64' } }; enqueue(event) { super.enqueue(event); }",
    "declares its output",
  ],
  [
    "enqueue(event) { const celsius = new Float32Array(2); super.enqueue({ celsius }); celsius[0] = 1; }",
    "an array that has gone out",
  ],
  ["enqueue(event) { super.enqueue({ height: 1 }); super.enqueue({ height: 2 }); }", "passed on twice"],
  ["enqueue(event) { for (let i = 0; i < 2; i++) super.enqueue(event); }", "in a loop"],
  ["held; enqueue(event) { this.held = { a: 1 }; this.held = { b: 1 }; }", 'that "held" becomes an object'],
  [
    "held; enqueue(event) { const a = { b: 1 }; this.held = a; a.b = 2; }",
    "has gone out, or is held by a field",
  ],
  ["held; enqueue(event) { this.held = { a: event.celsius }; }", 'that "held" becomes an object'],
  [
    "all = new Int8Array(3); enqueue(event) { this.all = event.celsius; }",
    "an array that is not compiled there",
  ],
  [
    "all = new Int8Array(3); enqueue(event) { const old = this.all; this.all = new Int8Array(2); if (old.length > 2) super.enqueue(event); }",
    "is compiled by the field's name",
  ],
  [
    "all = new Int8Array(3); enqueue(event) { const a = new Int8Array(3); this.all = a; a[1] = 2; }",
    "is compiled by the field's name",
  ],
  [
    "all = new Int8Array(3); enqueue(event) { for (let i = 0; i < 2; i++) this.all = new Int8Array(i); }",
    "outside of loops",
  ],
  [
    "all = new Int8Array(3); other = new Int8Array(3); enqueue(event) { this.all = this.other; }",
    "an array that is not compiled there",
  ],
  ["enqueue(event) { this.made = 1; }", 'declares no field "made"'],
  ["static needs = ['log']; enqueue(event) {}", 'the service "log"'],
  ["enqueue(event) { if (this.moe.clock() > 3) super.enqueue(event); }", '"clock" of the MOE'],
  ["periodMs = true;", '"periodMs" is compiled where it is a number'],
  ["enqueue(event) { this.periodMs = 10; if (this.periodMs > 3) super.enqueue(event); }", "may be undefined"],
  [
    "static needs = ['clock']; open; constructor(p, m) { super(p, m); if (m.clock() > 3) this.open = true; }",
    'that "open" becomes',
  ],
  [
    "n = 0; open; constructor(p, m) { super(p, m); if (this.open) this.n = 3; this.open = true; }",
    "may be undefined here",
  ],
  ["constructor(p, m) { super(m, p); }", "begins with super(parameters, moe)"],
  ["constructor(p, m) { super(p, m); super.enqueue({ station: 3 }); }", "a FifoModulator that has been made"],
  ["constructor(p, m) { super(p, m); if (p) return; }", "a constructor returns nothing"],
  [
    "late; enqueue(event) { this.late = event; } period() { if (this.late.station > 3) super.enqueue(this.late); }",
    '"station" of an event or undefined',
  ],
  [
    "late; enqueue(event) { this.late = event; super.enqueue(this.late); super.enqueue(event); }",
    "passed on twice",
  ],
  ["late; enqueue(event) { for (const c of event.celsius) this.late = event; }", "not compiled in a loop"],
  ["dequeue() { return undefined; }", "its own dequeue and extends Modulator"],
  ["list = []; enqueue(event) { this.list.push({ station: 3 }); }", "where they hold events"],
  ["list = []; enqueue(event) { this.list = []; }", 'that "list" becomes a list'],
  [
    "list = []; enqueue(event) { const [a, b] = this.list; if (a) super.enqueue(event); }",
    "only the first one",
  ],
  ["map = new Map(); enqueue(event) { this.map.set({}, event); }", "a key is compiled where"],
  [
    "map = new Map(); enqueue(event) { if (this.map.get(3)) this.map.set(3, event); }",
    "compiled where it holds no more than these",
  ],
  [
    "map = new Map(); enqueue(event) { this.map.set(3, event.celsius[0]); const [a] = this.map; }",
    "a map of numbers is not taken apart",
  ],
  [
    "map = new Map(); enqueue(event) { if (this.map.set(3, 1)) super.enqueue(event); }",
    "whether a map or set counts as true",
  ],
  ["map = new Map(); enqueue(event) { this.map.set(3, event.place); }", "and maps where they hold numbers"],
  ["set = new Set(); enqueue(event) { this.set.forEach(v => v); }", "this call of forEach of a set"],
  [
    "map = new Map(); enqueue(event) { for (const c of event.celsius) this.map.set(c, event); }",
    "not compiled in a loop",
  ],
  ["get height() { return 1; }", "a get is not compiled"],
  [
    "all = new Uint8Array(0); enqueue(event) { this.all = bytesOf(event); }",
    "an array that is not compiled there",
  ],
  ["enqueue(event) { super.enqueue({ wind: bytesOf(event) }); }", "compiled where it does not go out"],
  [
    "enqueue(event) { let i = 0; while (i++ < 3) { const b = bytesOf({ ...unpack(event) }); if (b.length) return; } }",
    "a copy of it with other fields",
  ],
  [
    "enqueue(event) { super.enqueue({ celsius: bytesOf({ station: 3 }) }); }",
    "a copy of it with other fields",
  ],
  [
    "enqueue(event) { const w = new Float64Array(2); const rest = bytesOf({ ...unpack(event), wind: w }); w[0] = 1; super.enqueue({ celsius: rest }); }",
    "has gone out is not written to",
  ],
  [
    "enqueue(event) { const w = new Float64Array(2); const rest = bytesOf({ ...unpack(event), wind: w }); w.set(event.wind); super.enqueue({ celsius: rest }); }",
    "has gone out is not written to",
  ],
  [
    "enqueue(event) { const copy = { ...unpack(event) }; const rest = bytesOf(copy); copy.height = 1; super.enqueue({ celsius: rest }); }",
    "is not written to",
  ],
  [
    "enqueue(event) { const first = bytesOf({ ...unpack(event) }); const b = bytesOf({ ...unpack(event), wind: first }); super.enqueue({ celsius: b }); }",
    "a copy of it with other fields",
  ],
  [
    `enqueue(event) { const b = bytesOf({ ...unpack(event), ${Array.from({ length: 90 }, (_, i) => `a${i}: 1`).join()} }); super.enqueue({ ${Array.from({ length: 90 }, (_, i) => `b${i}: b`).join()} }); }`,
    "too large to compile",
  ],
  ["period() { if (typeToken()) this.periodMs = 20; }", "typeToken is compiled where an event is looked at"],
  [
    "enqueue(event) { if (typeToken() === typeToken()) super.enqueue(event); }",
    "whether a type's token equals",
  ],
  ["enqueue(event) { event.celsius.set(event.celsius); }", "set is compiled with an array of the same kind"],
  [
    "enqueue(event) { const a = new Float64Array(9); a.set(event.celsius); super.enqueue({ wind: a }); }",
    "set is compiled with an array of the same kind",
  ],
  ["enqueue(event) { if (event.celsius.slice(1).length > 2) super.enqueue(event); }", "as a whole"],
  [
    "enqueue(event) { const a = new Uint8Array(8); const b = new Float64Array(a.buffer); super.enqueue({ wind: b }); }",
    "of no wider numbers",
  ],
  [
    "all = new Uint8Array(0); enqueue(event) { const a = new Uint32Array(8); this.all = new Uint8Array(a.buffer); a[1] = 2; }",
    "is compiled by the field's name",
  ],
  [
    "enqueue(event) { if (Object.is(event.isOk, 1)) super.enqueue(event); }",
    "Object.is is compiled with numbers",
  ],
  ["length = 3;", 'its own "length"'],
  ["mostPerSecond() { return 5; }", '"mostPerSecond" is compiled where it is a number'],
  ["static periodMs = this.parameters.above;", "computed of numbers and earlier constants"],
  ["static keepsEvents = false; late; enqueue(event) { this.late = event; }", "says that it keeps no events"],
  ["#n = 5; enqueue(event) { if (this['#n'] === 5) super.enqueue(event); }", '"#n" of the modulator'],
  [times(70, i => `a${i} = new Float64Array(8192);`), "more numbers at first than are compiled"],
  [
    "made() { return new Float32Array(2); } enqueue(event) { const b = new (this.made().constructor)(2); }",
    '"constructor" of a vector',
  ],
  ["enqueue(event) { const v = event.celsius; for (const v of v) {} }", "may be read before it has a value"],
  ["enqueue(event) { const b = bytesOf({ ...unpack(event), height: true }); }", "sure to hold"],
  ["enqueue(event) { const b = bytesOf({ ...unpack(event), when: 3 }); }", "sure to hold"],
  ["n = 0; enqueue(event) { this.n = event.isOk; }", "what was a number becomes true or false"],
  ["n = 0; enqueue(event) { let c = event.celsius[7]; c += 0; this.n = c; }", "it may become undefined"],
])("a class with %s is refused", (body, why) => {
  const verdict = verdictOn(ofClass(body));
  expect(verdict).toBeInstanceOf(Refusal);
  expect((verdict as Refusal).message).toContain(why);
});

test("names of the language that mean something else are not taken for the language's", () => {
  const own = "enqueue(event) { if (Math.sin(event.height) > 1) super.enqueue(event); }";
  // It is not the engine's function that is called.
  expect(verdictOn(ofClass(own))).toMatchObject({ functions: ["Math.sin"] });
  expect(verdictOn(ofClass(own, "const Math = { sin: x => 0 };"))).toMatchObject({ functions: [] });
  const objects = ofClass(own, "const Math = { sin: 0 };");
  const named = ofClass(own).replace("class Mine", "class Math");
  const variable = ofClass("enqueue(event) { if (count++ > 1) super.enqueue(event); }", "let count = 0;");
  const text = `import { FifoModulator, type as Uint8Array } from "jecho:moe"; export default class extends FifoModulator { static input = new Uint8Array([1]); }`;
  const set = ofClass("met = new Set();", "function Set() { this.size = 7; }");
  for (const source of [objects, named, variable, text, set])
    expect(verdictOn(source)).toBeInstanceOf(Refusal);
});

test("what the language only finds out as it makes the class is refused: imports of nothing, and constants that come later", () => {
  const missing =
    'import { FifoModulator, missing } from "jecho:moe"; export default class extends FifoModulator {}';
  expect(verdictOn(missing)).toMatchObject({ why: '"jecho:moe" does not export "missing"' });
  const timed = ofClass("static periodMs = PERIOD;");
  expect(verdictOn(`${timed}\nconst PERIOD = 20;`)).toBeInstanceOf(Refusal);
  expect(verdictOn(ofClass("static periodMs = PERIOD;", "const PERIOD = 20;"))).not.toBeInstanceOf(Refusal);
});

test("super.enqueue() of a class whose parent in the text has an enqueue of its own is refused", () => {
  const parent = (body: string): string => `class Parent extends FifoModulator { ${body} }`;
  const of = (body: string, before: string): unknown =>
    verdictOn(ofClass(body, before).replace("Mine extends FifoModulator", "Mine extends Parent"));
  const own = parent("enqueue(event) { this.pass(event); } pass(event) {}");
  expect(of("pass(event) { super.enqueue(event); }", own)).toMatchObject({
    why: "super.enqueue() is compiled where no parent in the text has an enqueue",
  });
  expect(of("pass(event) {}", own)).not.toBeInstanceOf(Refusal);
  expect(of("enqueue(event) { super.enqueue(event); }", parent(""))).not.toBeInstanceOf(Refusal);
});

test("a text that only begins like one that is made of a function is no such text", () => {
  const source = functionSource("event => event.isOk");
  expect(verdictOn(source)).not.toBeInstanceOf(Refusal);
  for (const behind of [
    "\nderive.x = 1;",
    '\nimport { type as Uint8Array } from "jecho:moe";',
    "\nconst more = 1;",
    "\nfunction Math() {}",
  ])
    expect(verdictOn(source + behind)).toBeInstanceOf(Refusal);
});

test("what is nested too deeply, too long or written out too often is refused at once", () => {
  const deep = `event => ${"!".repeat(20_000)}event.isOk`;
  const long = `event => ${"1 + ".repeat(20_000)}1 > event.height`;
  const doubling = Array.from({ length: 30 }, (_, i) => `const f${i + 1} = x => f${i}(x) + f${i}(x);`).join(
    " ",
  );
  const often = `event => { const f0 = x => x; ${doubling} return f30(event.height) > 0; }`;
  for (const text of [deep, long, often]) {
    const before = process.cpuUsage();
    expect(verdictOn(functionSource(text))).toBeInstanceOf(Refusal);
    expect(process.cpuUsage(before).user, "microseconds").toBeLessThan(5e6);
  }
});

test.each([
  [
    "functions with much in them that are called often",
    `event => { const f = () => { ${"{}".repeat(7000)} }; ${"f();".repeat(2400)} return true; }`,
    "too large",
  ],
  [
    "functions that end before much",
    `event => { const f = () => { return 1; ${";".repeat(9000)} }; ${"f();".repeat(2400)} return true; }`,
    "too large",
  ],
  [
    "objects of objects",
    `(event, { unpack }) => { const o0 = { ...unpack(event), height: 1 }; ${times(30, i => `const o${i + 1} = { ...o${i}, ...o${i} };`)} return o30; }`,
    "too large",
  ],
  [
    "functions of many arguments",
    `event => { const f = (${times(3000, i => `a${i},`)}) => 1; ${"f();".repeat(1500)} return true; }`,
    "too large",
  ],
  [
    "many searches",
    `event => { let x = false; ${"x=event.place.includes('a');".repeat(900)} return x; }`,
    "too large",
  ],
  [
    "long lists again and again",
    `event => { let x = false; ${"x=['a','b','c','d','e','f','g','h'].includes(event.place);".repeat(500)} return x; }`,
    "too large",
  ],
  [
    "blocks in one another",
    `event => { let x = 0; ${"{".repeat(300)} x = 1; ${"}".repeat(300)} return x > 0; }`,
    "more than 200 blocks",
  ],
  [
    "fields that are learned one by one",
    ofClass(`${times(40, i => `a${i};`)} enqueue(event) { ${times(40, i => `this.a${i}={a:1};`)} }`),
    "without a value",
  ],
])("MOE-27: %s take the producer no long time: they are refused", (_, text, why) => {
  const verdict = verdictOn(text.startsWith("import") ? text : functionSource(text));
  expect((verdict as Refusal).why).toContain(why);
});

test("loops in loops, and functions with much in them that is called nowhere, are looked at once", () => {
  const loops = (head: string) =>
    `event => { let x = 0; ${head.repeat(300)} x++; ${"}".repeat(300)} return x > 1; }`;
  const unused = `for (let i = 0; i < a; i++) { const g = () => { ${"x = x + 1;".repeat(2500)} }; }`;
  const often = `event => { let x = 0; const f = a => { ${unused} return a; }; return ${"f(1) + ".repeat(400)} 1 > 0; }`;
  const counting = loops("for (let i = 0; i < event.height; i++) {");
  for (const text of [counting, loops("for (const v of event.wind) {"), often]) {
    const before = process.cpuUsage();
    verdictOn(functionSource(text));
    // Once for each loop around it, or for each call, it took seconds.
    expect(process.cpuUsage(before).user, "microseconds").toBeLessThan(1e6);
  }
});

test("the cost is a bound over the lengths of the event's vectors, and names the loop that costs most", () => {
  const verdict = verdictOn(
    functionSource(
      "event => {\n  for (let i = 0; i < 10; i++) if (event.height > i) return true;\n  return event.celsius.some(v => Math.sin(v) > 0);\n}",
    ),
  );
  if (verdict instanceof Refusal) throw verdict;
  expect(costText(verdict.cost)).toMatch(/^\d+(\.\d)? \+ \d+(\.\d)? x celsius\.length$/);
  expect(verdict.reads).toEqual(["height", "celsius"]);
  expect(verdict.cost.dearest?.line).toBeGreaterThan(1);
});

test("a text that reads a parameter as a name is compiled for its value, and others for their shape alone", () => {
  const of = (text: string, field: string) =>
    compileText(functionSource(text), Reading, GivenData.of({ field }));
  const named = "(event, { parameters }) => event[parameters.field] > 3";
  const height = of(named, "height");
  expect(of(named, "station")).toMatchObject({ reads: ["station"] });
  expect(of(named, "height")).toBe(height);
  expect(height).toMatchObject({ reads: ["height"] });
  expect(of(named, "missing")).toBeInstanceOf(Refusal);
  expect(of(named, "constructor")).toBeInstanceOf(Refusal);
  const compared = "(event, { parameters }) => event.place === parameters.field";
  expect(of(compared, "height")).toBe(of(compared, "station"));
});

test("the same text for the same types has one verdict", () => {
  const source = functionSource("event => event.height > 12345");
  expect(verdictOn(source)).toBe(verdictOn(source));
});

test("MOE-27: parameters that are read as names have verdicts for their own values, in whatever order these come", () => {
  const text = functionSource(
    "(event, { parameters: { a, b, c } }) => event[a] === 1 && (a === 'x' ? event[b] : event[c]) === 2",
  );
  const Point = type("Point", { x: "int32", y: "int32", z: "int32" });
  const readsOf = (a: string, b: string, c: string): readonly string[] => {
    const verdict = compileText(text, Point, GivenData.of({ a, b, c }));
    if (verdict instanceof Refusal) throw verdict;
    return verdict.reads.toSorted();
  };
  for (const [a, b, c] of [
    ["x", "y", "z"],
    ["z", "y", "x"],
    ["x", "z", "y"],
    ["y", "z", "x"],
    ["x", "y", "z"],
  ] as const)
    expect(readsOf(a, b, c), `${a} ${b} ${c}`).toEqual([...new Set([a, b, c])].toSorted());
});
