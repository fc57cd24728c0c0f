// Keeps TypeScript without its types on disk, for the processes that tests start (`node --import`): Node strips each file anew at
// every start, which is two thirds of the start's processor time. Plain JavaScript that any Node can import.
// @ts-check
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import * as modules from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";

const folder = fileURLToPath(new URL("../node_modules/.cache/jecho-stripped", import.meta.url));

/** @param {string} text */
function stripped(text) {
  const file = join(folder, createHash("sha1").update(process.version).update(text).digest("hex"));
  try {
    return readFileSync(file, "utf8");
  } catch {
    const { emitWarning } = process;
    // Node would say of this function, in the program's name, that it is experimental.
    process.emitWarning = () => {};
    const source = modules.stripTypeScriptTypes(text);
    process.emitWarning = emitWarning;
    mkdirSync(folder, { recursive: true });
    // Others may be writing the same one.
    writeFileSync(`${file}.${process.pid}`, source);
    renameSync(`${file}.${process.pid}`, file);
    return source;
  }
}

// The runners themselves have their own way with TypeScript; threads that tests start in them have not.
if (modules.registerHooks !== undefined && (process.argv[1]?.endsWith(".ts") || !isMainThread))
  modules.registerHooks({
    load(url, context, next) {
      if (!url.startsWith("file:") || !url.endsWith(".ts")) return next(url, context);
      return { format: "module", source: stripped(readFileSync(new URL(url), "utf8")), shortCircuit: true };
    },
  });
