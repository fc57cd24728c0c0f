import type { Type } from "@jecho/shared";
import { typeOf } from "../../running/known-types.ts";
import { keepNewest } from "../../running/newest-entries.ts";
import { fieldKinds } from "../../sandbox/field-kinds.ts";
import { type CheckedAgainst, type CheckedProgram, checkProgram } from "./check.ts";
import type { CodeGlobal } from "./code.ts";
import { withoutCode } from "./cost.ts";
import { encodeModule } from "./encoder.ts";
import { GivenData } from "./given-data.ts";
import { type ModuleText, readModule } from "./module-text.ts";
import { Refusal } from "./refusal.ts";
import { refusalOfCheck } from "./static-checks.ts";
import { isTierFunction } from "./tier-functions.ts";

/** Longest text that is compiled: to read it is the producer's own time. */
const MOST_CHARACTERS = 32 << 10;
/** Most verdicts, and most texts, that are kept; beyond that the oldest are forgotten. */
const MOST_KEPT = 512;
/** Time after which another thread is asked again for what it has failed at, in ms: only a busy machine may be why. */
const AGAIN_MS = 600_000;

/** A text as a module of WebAssembly, for events of one type and data of one shape. */
export interface CompiledProgram extends Omit<CheckedProgram, "code"> {
  readonly module: WebAssembly.Module;
  readonly bytes: number;
  /** The modulator's fields, and what it reads of its data, each in the order of their places. */
  readonly globals: readonly CodeGlobal[];
  readonly data: readonly CodeGlobal[];
  /** Names of the engine's functions that it calls. */
  readonly functions: readonly string[];
}

/** A verdict on a text: what is made of it, or why it is not compiled. */
export type TextVerdict = CompiledProgram | Refusal;

/** The parts of a text that are wanted beside its programs. */
export type TextFace = Pick<
  ModuleText,
  "input" | "output" | "needs" | "checks" | "beside" | "classNames" | "imported"
>;

/** A text that was read, and a number for it. */
interface ReadText {
  readonly face: TextFace | Refusal;
  readonly number: number;
  /** Undefined where another thread has read it. */
  whole: ModuleText | undefined;
}

/** A request to another thread for the verdicts on a text, for events of each of these types. Its answer has plain data alone. */
export interface CompileRequest {
  readonly source: string;
  readonly schemas: readonly Uint8Array[];
  readonly parameters: string;
  readonly objects: readonly { readonly name: string; readonly state: string }[];
}

export interface CompileAnswer {
  readonly face: PlainFace | PlainRefusal;
  /** In the order of the request's types; undefined for those that the text cannot read. */
  readonly verdicts: readonly (PlainVerdict | undefined)[];
  /** Whether the thread has failed at it: nothing is known of the text itself. */
  readonly hasFailed?: boolean;
}

type PlainRefusal = Pick<Refusal, "why" | "line" | "column">;
/** A face with its types as their schemas. */
type PlainFace = Omit<TextFace, "input" | "output"> & {
  readonly input: Uint8Array | undefined;
  readonly output: Uint8Array | undefined;
};

interface PlainVerdict {
  readonly made: CompiledProgram | PlainRefusal;
  /** Paths of the parameters whose values it is made of. */
  readonly paths: readonly string[];
}

/** By text, type, shapes of the data, and the values that `pinned` tells. */
const verdicts = new Map<string, TextVerdict>();
/** Paths of the parameters whose values programs are made of, by text, type and shapes. */
const pinned = new Map<string, Set<string>>();
/** By their sources. */
const texts = new Map<string, ReadText>();
let newest = 0;
/** Times at which another thread has failed, by source or by the verdict's key. */
const failures = new Map<string, number>();

/** Is asked before a text is read or compiled, which takes the producer's time. @returns why that is not done now */
export type Payment = (source: string) => Refusal | undefined;

const FREE: Payment = () => undefined;

/** Is told how many steps a static check has taken. @returns why that is too much */
export type CheckPayment = (steps: number) => Refusal | undefined;

/** Reads a text; the same text again costs nothing. */
export function readText(source: string, pay = FREE): TextFace | Refusal {
  return textOf(source, pay).face;
}

/** Compiles a text for events of a type and for data of this shape. The same again costs nothing. */
export function compileText(source: string, writer: Type, data: GivenData, pay = FREE): TextVerdict {
  const read = textOf(source, pay);
  if (read.face instanceof Refusal) return read.face;
  const place = placeOf(read, writer, data);
  const known = verdicts.get(keyOf(place, data));
  if (known !== undefined) return known;
  const unpaid = pay(source);
  if (unpaid !== undefined) return unpaid;
  const pin = (path: string): unknown => {
    pathsOf(place).add(path);
    return data.at(path);
  };
  const verdict = attempt(source, () => {
    read.whole ??= readModule(source);
    return made(read.whole, { writer, ...data.shapes, pin });
  });
  keep(verdicts, keyOf(place, data), verdict);
  return verdict;
}

/** Whether the verdicts on a text for events of these types are known by now. */
export function isKnown(source: string, writers: readonly Type[], data: GivenData): boolean {
  const read = texts.get(source);
  if (read === undefined) return source.length > MOST_CHARACTERS;
  const { face } = read;
  if (face instanceof Refusal) return !isToTryAgain(source);
  return writers.every(writer => {
    if (!canRead(face, writer)) return true;
    const key = keyOf(placeOf(read, writer, data), data);
    return verdicts.has(key) && !isToTryAgain(key);
  });
}

function isToTryAgain(failed: string): boolean {
  const at = failures.get(failed);
  return at !== undefined && performance.now() - at > AGAIN_MS;
}

/** Answers another thread. */
export function answerTo({ source, schemas, parameters, objects }: CompileRequest): CompileAnswer {
  const read = textOf(source, FREE);
  const { face } = read;
  if (face instanceof Refusal) return { face: plain(face), verdicts: [] };
  const data = GivenData.read(parameters, objects);
  const answers = schemas.map(schema => {
    const writer = typeOf(schema);
    if (!canRead(face, writer)) return undefined;
    const verdict = compileText(source, writer, data);
    const paths = [...pathsOf(placeOf(read, writer, data))];
    return { made: verdict instanceof Refusal ? plain(verdict) : verdict, paths };
  });
  const { input, output, needs, checks, classNames, imported } = face;
  // Only checks look at what is beside the class.
  const beside = checks.size === 0 ? [] : face.beside;
  return {
    face: { input: input?.schema, output: output?.schema, needs, checks, beside, classNames, imported },
    verdicts: answers,
  };
}

/** Takes another thread's answer: from here on the verdicts are known. What it has failed at is not done in this thread either. */
export function take(
  { source, schemas, parameters, objects }: CompileRequest,
  { face, verdicts: answers, hasFailed = false }: CompileAnswer,
): void {
  const learn = <T>(kept: Map<string, T>, key: string, value: T): void => {
    if (kept.has(key) && !failures.delete(key)) return;
    keep(kept, key, value);
    if (hasFailed) keep(failures, key, performance.now());
  };
  const { input, output } = face as PlainFace;
  const known =
    "why" in face
      ? refusalOf(face)
      : { ...face, input: input && typeOf(input), output: output && typeOf(output) };
  learn(texts, source, { face: known, number: ++newest, whole: undefined });
  const read = texts.get(source) as ReadText;
  const data = GivenData.read(parameters, objects);
  for (const [i, schema] of schemas.entries()) {
    const place = placeOf(read, typeOf(schema), data);
    const answer = answers[i];
    for (const path of answer?.paths ?? []) pathsOf(place).add(path);
    const made = answer?.made ?? (hasFailed && "why" in face ? face : undefined);
    if (made !== undefined) learn(verdicts, keyOf(place, data), "why" in made ? refusalOf(made) : made);
  }
}

function plain({ why, line, column }: Refusal): PlainRefusal {
  return { why, line, column };
}

function refusalOf({ why, line, column }: PlainRefusal): Refusal {
  return new Refusal(why, line, column);
}

function placeOf({ number }: ReadText, writer: Type, data: GivenData): string {
  return `${number} ${writer.token} ${data.shapeText}`;
}

function pathsOf(place: string): Set<string> {
  let paths = pinned.get(place);
  if (paths === undefined) {
    paths = new Set();
    keep(pinned, place, paths);
  }
  return paths;
}

function keyOf(place: string, data: GivenData): string {
  return `${place} ${JSON.stringify(Array.from(pathsOf(place), path => [path, data.at(path)]))}`;
}

/** Compiles a text for events of a type and for this very data, which the class' own checks have to let pass. */
export function compileFor(
  source: string,
  writer: Type,
  data: GivenData,
  pay = FREE,
  took: CheckPayment = () => undefined,
): TextVerdict {
  const { parameters, objects } = data;
  const text = readText(source, pay);
  if (text instanceof Refusal) return text;
  const fields = fieldKinds((text.input ?? writer).root);
  const refusal =
    refusalOfCheck(text, "check", [parameters, objects], took) ??
    refusalOfCheck(text, "checkInput", [fields, parameters], took);
  if (refusal !== undefined) return refusal.in(source);
  return compileText(source, writer, data, pay);
}

function textOf(source: string, pay: Payment): ReadText {
  let read = texts.get(source);
  if (read === undefined) {
    const unpaid = source.length > MOST_CHARACTERS ? undefined : pay(source);
    if (unpaid !== undefined) return { face: unpaid, number: 0, whole: undefined };
    const text =
      source.length > MOST_CHARACTERS
        ? new Refusal(`it has ${source.length} characters, and at most ${MOST_CHARACTERS} are compiled`)
        : attempt(source, () => readModule(source));
    read = { face: text, number: ++newest, whole: text instanceof Refusal ? undefined : text };
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
  const { code, cost, ...known } = checkProgram(text, against);
  const { bytes, functions } = encodeModule(code);
  const module = new WebAssembly.Module(bytes);
  const called = functions.filter(name => !isTierFunction(name));
  const { globals, data } = code;
  return {
    ...known,
    cost: withoutCode(cost),
    module,
    bytes: bytes.byteLength,
    globals,
    data,
    functions: called,
  };
}

function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  keepNewest(kept, key, value, MOST_KEPT);
}

/** Whether events of this type can be read by the text at all: they are left out elsewhere where not. */
export function canRead(text: TextFace, writer: Type): boolean {
  try {
    text.input?.readerOf(writer);
    return true;
  } catch {
    return false;
  }
}
