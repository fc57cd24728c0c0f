import {
  type Code,
  type CodeLabel,
  type CodeLocal,
  get,
  i32,
  i64,
  load,
  localsOf,
  loopOf,
  many,
  op,
  set,
} from "./code.ts";
import type { GuardValue } from "./guards.ts";
import type { KnownText } from "./known.ts";

/*
 * Texts, compared byte by byte as they lie in memory, in UTF-8. That is how the language compares them as long as one of the two is free of U+FFFD, which
 * broken bytes of an event read as, and of lone surrogates, which nothing in an event reads as.
 */

/** A text that is not an event's: one byte for one. */
type Needle = Exclude<KnownText, { from: "event" }>;

/** Looks that the code of a comparison is worth, and that of a search. */
export const EQUAL_LOOKS = 10;
export const SEARCH_LOOKS = 20;

export const TEXT_METHODS: ReadonlySet<string> = new Set(["startsWith", "endsWith", "includes"]);

/** Whether two texts are equal, as i32; undefined where bytes do not say that. */
export function equalTexts(a: KnownText, b: KnownText): Code | undefined {
  const [text, needle] = b.from === "event" || a.from === "source" ? [b, a] : [a, b];
  if (needle.from === "event") return undefined;
  if (text.from === "source") return i32(isSame(text.bytes, needle) ? 1 : 0);
  const sameLength = op("i32.eq", text.length, lengthOf(needle));
  const value: GuardValue =
    needle.from === "data" ? { from: "data", path: needle.path } : { from: "source", value: needle.bytes };
  const says = text.from === "event" ? { field: text.vector.name, value } : undefined;
  return { ...both(sameLength, sameAt(text.at, needle)), says };
}

/** The result of `text.startsWith(needle)` and the like, as i32; undefined where bytes do not say that. */
export function searchedText(
  name: string,
  text: KnownText,
  needle: KnownText,
  position: { readonly line: number; readonly column: number },
): Code | undefined {
  if (text.from === "source" || needle.from === "event") return undefined;
  const rest = op("i32.sub", text.length, lengthOf(needle));
  const fits = op("i32.ge_s", rest, i32(0));
  if (name === "startsWith") return both(fits, sameAt(text.at, needle));
  if (name === "endsWith") {
    const at: CodeLocal = { type: "i32" };
    return both(fits, many(set(at, op("i32.add", text.at, rest)), sameAt(get(at), needle)));
  }
  const [index, at, found] = localsOf("i32", "i32", "i32");
  const done: CodeLabel = { name: "done" };
  const trips = text.from === "event" ? { most: 1, of: text.vector } : { most: text.cap };
  return many(
    set(found, i32(0)),
    set(index, i32(0)),
    loopOf(done, { trips, ...position }, [
      { is: "brIf", label: done, test: op("i32.gt_s", get(index), rest) },
      set(at, op("i32.add", text.at, get(index))),
      set(found, sameAt(get(at), needle)),
      { is: "brIf", label: done, test: get(found) },
      set(index, op("i32.add", get(index), i32(1))),
    ]),
    get(found),
  );
}

/** Whether the text counts as true: all but the empty one. */
export function textTruth(text: KnownText): Code {
  return op("i32.gt_s", text.from === "event" ? text.length : lengthOf(text), i32(0));
}

function lengthOf(needle: Needle): Code {
  return needle.from === "source" ? i32(needle.bytes.byteLength) : needle.length;
}

function isSame(bytes: Uint8Array, needle: Needle): boolean {
  return (
    needle.from === "source" &&
    bytes.byteLength === needle.bytes.byteLength &&
    bytes.every((byte, i) => byte === needle.bytes[i])
  );
}

/** Whether the bytes from this address on, of which there are as many, are the needle's. */
function sameAt(at: Code, needle: Needle): Code {
  return needle.from === "source" ? sameAsWritten(at, needle.bytes) : sameAsData(at, needle);
}

/** Compares with a text of the source: eight, four and single bytes at once, the first that differ end it. */
function sameAsWritten(at: Code, bytes: Uint8Array): Code {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tests: Code[] = [];
  for (let i = 0; i < bytes.byteLength; ) {
    const left = bytes.byteLength - i;
    const here = i === 0 ? at : op("i32.add", at, i32(i));
    if (left >= 8) tests.push(op("i64.eq", load("i64.load", here), i64(view.getBigInt64(i, true))));
    else if (left >= 4) tests.push(op("i32.eq", load("i32.load", here), i32(view.getInt32(i, true))));
    else tests.push(op("i32.eq", load("i32.load8_u", here), i32(view.getUint8(i))));
    i += left >= 8 ? 8 : left >= 4 ? 4 : 1;
  }
  return tests.reduceRight((rest: Code, test) => both(test, rest), i32(1));
}

/** Compares with a text in the parameters or a shared object. The last bytes come first, for names often begin alike. */
function sameAsData(at: Code, { at: other, length, cap }: Extract<Needle, { from: "data" }>): Code {
  const [same, index, last] = localsOf("i32", "i32", "i32");
  const done: CodeLabel = { name: "different" };
  const differs = (name: "i64.load" | "i32.load" | "i32.load8_u", from: Code): Code => {
    const [a, b] = [at, other].map(start => load(name, op("i32.add", start, from))) as [Code, Code];
    return { is: "brIf", label: done, test: op(name === "i64.load" ? "i64.ne" : "i32.ne", a, b) };
  };
  const rounds: Code[] = [set(index, i32(0))];
  // Of up to sixteen bytes the first eight and the last eight are all.
  if (cap <= 16) rounds.push(differs("i64.load", get(index)));
  else rounds.push(eightByEight(index, last, cap, differs("i64.load", get(index))));
  const some = (least: number, yes: Code[], no: Code[]): Code => ({
    is: "if",
    test: op("i32.ge_s", length, i32(least)),
    yes,
    no,
  });
  const ends = (bytes: number): Code => set(last, op("i32.sub", length, i32(bytes)));
  const few = [ends(1), differs("i32.load8_u", i32(0)), differs("i32.load8_u", get(last))];
  const middle = differs("i32.load8_u", op("i32.shr_u", length, i32(1)));
  const short = some(
    4,
    [ends(4), differs("i32.load", get(last)), differs("i32.load", i32(0))],
    [some(1, [...few, middle], [])],
  );
  const long = some(8, [ends(8), differs("i64.load", get(last)), ...rounds], [short]);
  return many(set(same, i32(0)), { is: "block", label: done, body: [long, set(same, i32(1))] }, get(same));
}

function eightByEight(index: CodeLocal, last: CodeLocal, cap: number, differ: Code): Code {
  const over: CodeLabel = { name: "over" };
  return loopOf(over, { trips: { most: cap / 8 }, line: 0, column: 0 }, [
    { is: "brIf", label: over, test: op("i32.ge_s", get(index), get(last)) },
    differ,
    set(index, op("i32.add", get(index), i32(8))),
  ]);
}

function both(test: Code, then: Code): Extract<Code, { is: "if" }> {
  return { is: "if", test, yes: [then], no: [i32(0)], type: "i32" };
}
