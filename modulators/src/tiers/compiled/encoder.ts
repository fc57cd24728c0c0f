import { type Code, type CodeModule, type CodeType, partsOf } from "./code.ts";
import { FunctionBody, TYPES } from "./function-body.ts";
import { type Signature, signatureOf } from "./tier-functions.ts";
import { append, section, text, unsigned } from "./wasm-bytes.ts";

const SECTION = { types: 1, imports: 2, functions: 3, exports: 7, code: 10 } as const;

/** A module's bytes, and what is to be given to it. */
export interface EncodedModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Names of the functions that it calls. */
  readonly functions: readonly string[];
}

/** Writes a module: exports the module's functions, and `run(count)`, which answers the events of the table and returns how many of them leave, or -1 - i - 8192 x n for the event that it ends at: a broken one where n is 0, else one that it stopped at, for the nth of its reasons. */
export function encodeModule(module: CodeModule): EncodedModule {
  const { before, event, functions } = module;
  const called = new Map(
    [...before, ...event, ...functions.flatMap(({ body }) => body)].flatMap(code => [...callsOf(code)]),
  );
  const names = [...called.keys()];
  const types: number[][] = [];
  const typeOf = (signature: Signature): number[] => {
    const written = typeBytes(signature);
    const known = types.findIndex(type => `${type}` === `${written}`);
    return unsigned(known < 0 ? types.push(written) - 1 : known);
  };
  const imports = [
    [...text("m"), ...text("memory"), 2, 0, 1],
    ...module.globals.map((global, i) => [...text("g"), ...text(`${i}`), 3, TYPES[global.type], 1]),
    ...[...called].map(([name, args]) => [
      ...text("f"),
      ...text(name),
      0,
      ...typeOf(signatureOf(name, args)),
    ]),
  ];
  const all = [
    {
      name: "run",
      type: typeOf({ takes: ["i32"], gives: "i32" }),
      code: new FunctionBody(module, names, 1).run(module),
    },
    ...functions.map(({ name, gives, body }) => ({
      name,
      type: typeOf(gives === undefined ? { takes: [] } : { takes: [], gives }),
      code: new FunctionBody(module, names, 0).plain(body),
    })),
  ];
  const exports = all.map(({ name }, i) => [...text(name), 0, ...unsigned(names.length + i)]);
  const bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  append(bytes, section(SECTION.types, types));
  append(bytes, section(SECTION.imports, imports));
  append(
    bytes,
    section(
      SECTION.functions,
      all.map(({ type }) => type),
    ),
  );
  append(bytes, section(SECTION.exports, exports));
  append(
    bytes,
    section(
      SECTION.code,
      all.map(({ code }) => [...unsigned(code.length), ...code]),
    ),
  );
  return { bytes: Uint8Array.from(bytes), functions: names };
}

/** The functions that code calls, each with how many arguments it takes. */
function* callsOf(code: Code): Generator<readonly [string, number]> {
  if (code.is === "call") yield [code.name, code.args.length];
  for (const part of partsOf(code)) yield* callsOf(part);
}

function typeBytes({ takes, gives }: Signature): number[] {
  const list = (types: readonly CodeType[]): number[] => [types.length, ...types.map(type => TYPES[type])];
  return [0x60, ...list(takes), ...list(gives === undefined ? [] : [gives])];
}
