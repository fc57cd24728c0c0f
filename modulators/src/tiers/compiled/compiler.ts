import type { Type } from "@jecho/shared";
import { fieldKinds } from "../../sandbox/field-kinds.ts";
import { ENGINE } from "./builtins.ts";
import { type CheckedAgainst, type CheckedProgram, checkProgram } from "./check.ts";
import type { CodeGlobal } from "./code.ts";
import { encodeModule } from "./encoder.ts";
import type { GivenData } from "./given-data.ts";
import { type ModuleText, readModule } from "./module-text.ts";
import { Refusal } from "./refusal.ts";
import { refusalOfCheck } from "./static-checks.ts";
import { isTierFunction } from "./tier-functions.ts";

/** Longest text that is compiled: to read it is the producer's own time. */
const MOST_CHARACTERS = 32 << 10;
/** Most verdicts, and most texts, that are kept; beyond that the oldest are forgotten. */
const MOST_KEPT = 512;

/** A text as a module of WebAssembly, for events of one type and data of one shape. */
export interface CompiledProgram extends Omit<CheckedProgram, "code"> {
  readonly module: WebAssembly.Module;
  readonly bytes: number;
  /** The modulator's fields, and what it reads of its data, each in the order of their places. */
  readonly globals: readonly CodeGlobal[];
  readonly data: readonly CodeGlobal[];
  readonly functions: Readonly<Record<string, (...all: number[]) => number>>;
}

/** A verdict on a text: what is made of it, or why it is not compiled. */
export type TextVerdict = CompiledProgram | Refusal;

/** A text that was read, and a number for it. */
interface ReadText {
  readonly text: ModuleText | Refusal;
  readonly number: number;
}

/** By text, type, shapes of the data, and the values that `pinned` tells. */
const verdicts = new Map<string, TextVerdict>();
/** Paths of the parameters whose values programs are made of, by text, type and shapes. */
const pinned = new Map<string, Set<string>>();
/** By their sources. */
const texts = new Map<string, ReadText>();
let newest = 0;

/** Is asked before a text is read or compiled, which takes the producer's time. @returns why that is not done now */
export type Payment = (source: string) => Refusal | undefined;

const FREE: Payment = () => undefined;

/** Reads a text; the same text again costs nothing. */
export function readText(source: string, pay = FREE): ModuleText | Refusal {
  return textOf(source, pay).text;
}

/** Compiles a text for events of a type and for data of this shape. The same again costs nothing. */
export function compileText(source: string, writer: Type, data: GivenData, pay = FREE): TextVerdict {
  const { text, number } = textOf(source, pay);
  if (text instanceof Refusal) return text;
  const key = `${number} ${writer.token} ${data.shapeText}`;
  const paths = pinned.get(key) ?? new Set();
  if (!pinned.has(key)) keep(pinned, key, paths);
  const full = (): string => `${key} ${JSON.stringify(Array.from(paths, path => [path, data.at(path)]))}`;
  let verdict = verdicts.get(full());
  if (verdict === undefined) {
    const unpaid = pay(source);
    if (unpaid !== undefined) return unpaid;
    const pin = (path: string): unknown => {
      paths.add(path);
      return data.at(path);
    };
    verdict = attempt(source, () => made(text, { writer, ...data.shapes, pin }));
    keep(verdicts, full(), verdict);
  }
  return verdict;
}

/** Compiles a text for events of a type and for this very data, which the class' own checks have to let pass. */
export function compileFor(source: string, writer: Type, data: GivenData, pay = FREE): TextVerdict {
  const { parameters, objects } = data;
  const text = readText(source, pay);
  if (text instanceof Refusal) return text;
  const fields = fieldKinds((text.input ?? writer).root);
  const refusal =
    refusalOfCheck(text, "check", [parameters, objects]) ??
    refusalOfCheck(text, "checkInput", [fields, parameters]);
  if (refusal !== undefined) return refusal.in(source);
  return compileText(source, writer, data, pay);
}

function textOf(source: string, pay: Payment): ReadText {
  let read = texts.get(source);
  if (read === undefined) {
    const unpaid = source.length > MOST_CHARACTERS ? undefined : pay(source);
    if (unpaid !== undefined) return { text: unpaid, number: 0 };
    const text =
      source.length > MOST_CHARACTERS
        ? new Refusal(`it has ${source.length} characters, and at most ${MOST_CHARACTERS} are compiled`)
        : attempt(source, () => readModule(source));
    read = { text, number: ++newest };
    if (source.length <= MOST_CHARACTERS) keep(texts, source, read);
  }
  return read;
}

/** Acts, and refuses text that is nested too deeply for the checker. */
function attempt<T>(source: string, act: () => T): T | Refusal {
  try {
    return act();
  } catch (error) {
    if (error instanceof Refusal) return error.in(source);
    return new Refusal(`it cannot be compiled: ${(error as Error).message}`);
  }
}

function made(text: ModuleText, against: CheckedAgainst): CompiledProgram {
  const { code, ...known } = checkProgram(text, against);
  const { bytes, functions } = encodeModule(code);
  const module = new WebAssembly.Module(bytes);
  const called = Object.fromEntries(
    functions.filter(name => !isTierFunction(name)).map(name => [name, ENGINE[name] as () => number]),
  );
  const { globals, data } = code;
  return { ...known, module, bytes: bytes.byteLength, globals, data, functions: called };
}

function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  if (kept.size === MOST_KEPT) kept.delete(kept.keys().next().value as string);
  kept.set(key, value);
}

/** Whether events of this type can be read by the text at all: they are left out elsewhere where not. */
export function canRead(text: ModuleText, writer: Type): boolean {
  try {
    text.input?.readerOf(writer);
    return true;
  } catch {
    return false;
  }
}
