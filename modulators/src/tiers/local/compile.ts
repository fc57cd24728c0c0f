import { compileFunction } from "node:vm";
import { parse } from "es-module-lexer/js";
import { moduleName } from "../../sandbox/failures.ts";
import * as fbs from "../../sandbox/fbs.ts";
import type { MakeModule } from "./local-engine.ts";

/**
 * Makes functions of a module's text. Unlike a module, a function can be evaluated again for each installation, and is freed with
 * it.
 *
 * @returns undefined for text that cannot be a function: other imports than names of "jecho:moe" and "jecho:fbs", other exports than the
 * default, `await` on the top level
 */
export function compileModule(source: string): MakeModule | undefined {
  try {
    const body = functionBody(source);
    if (body === undefined) return undefined;
    const text = body.head + body.text;
    const options = { filename: moduleName(source), columnOffset: -body.head.length };
    const make: MakeModule = () => {
      const run = compileFunction(text, ["moe", "fbs", "out"], options) as (...all: object[]) => void;
      return moe => {
        const exports = {};
        run(moe, fbs, exports);
        return exports;
      };
    };
    // A syntax error is thrown here, and not at the installation.
    make();
    return make;
  } catch {
    // The sandbox reports the error at the installation.
    return undefined;
  }
}

/** The text without its imports and exports, with unchanged lines and columns, and the text to put before it. */
function functionBody(source: string): { readonly head: string; readonly text: string } | undefined {
  const [imports, exports] = parse(source);
  let head = '"use strict"; ';
  const edits: { from: number; to: number; text: string }[] = [];
  for (const { n, ss, se } of imports) {
    const [, names, all] =
      /^import\s*(?:\{([^}]*)\}|\*\s*as\s+([\w$]+))\s*from\b/.exec(source.slice(ss, se)) ?? [];
    const bound = all ?? (names && `{${names.replaceAll(/\sas\s/g, ": ").replaceAll(/\s+/g, " ")}}`);
    const given = n === "jecho:moe" ? "moe" : n === "jecho:fbs" ? "fbs" : undefined;
    if (given === undefined || bound === undefined) return undefined;
    // Imports are hoisted, wherever they stand.
    head += `const ${bound} = ${given}; `;
    edits.push({ from: ss, to: se, text: blanks(source.slice(ss, se)) });
  }
  let end = "";
  for (const { s, n, ln: name } of exports) {
    if (n !== "default") return undefined;
    // The lexer takes any word after "class" for a name.
    const ln = name === "extends" ? undefined : name;
    const before = source.slice(0, s);
    const keyword = /\bexport\s+$/.exec(before)?.index;
    if (keyword !== undefined) {
      // A named class is a declaration, anything else a value.
      const to = source.slice(s).startsWith("default") ? s + "default".length : s;
      const text = ln === undefined ? "out.default = " : blanks(source.slice(keyword, to));
      edits.push({ from: keyword, to, text });
      if (ln !== undefined) end = `\nout.default = ${ln};`;
      continue;
    }
    const list = /\bexport\s*\{[^{}]*$/.exec(before)?.index;
    const close = source.indexOf("}", s);
    if (list === undefined || close < 0 || ln === undefined) return undefined;
    edits.push({ from: list, to: close + 1, text: "" });
    end = `\nout.default = ${ln};`;
  }
  let body = "";
  let at = 0;
  for (const { from, to, text } of edits.sort((a, b) => a.from - b.from)) {
    body += source.slice(at, from) + text;
    at = to;
  }
  return { head, text: body + source.slice(at) + end };
}

function blanks(text: string): string {
  return text.replaceAll(/[^\n]/g, " ");
}
