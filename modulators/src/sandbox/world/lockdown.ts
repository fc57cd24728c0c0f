/*
 * Removes, before the modulator's code runs, the globals that it has no use for or that reach beyond it. Engines have no
 * switch against code from text (`eval`, `Function`), so each way to it is closed.
 */
const UNWANTED = [
  "Atomics",
  "Function",
  "Intl",
  "SharedArrayBuffer",
  "ShadowRealm",
  "WebAssembly",
  "console",
  "eval",
  "gc",
  "performance",
];

function noCodeFromText(): never {
  throw new EvalError("code cannot be made from text here");
}

export function lockdown(): void {
  for (const name of UNWANTED) Reflect.deleteProperty(globalThis, name);
  const functions = [() => {}, async () => {}, function* () {}, async function* () {}];
  for (const sample of functions) {
    Object.defineProperty(Object.getPrototypeOf(sample), "constructor", {
      value: noCodeFromText,
      writable: false,
      configurable: false,
    });
  }
  Object.freeze(noCodeFromText);
  const sealed = UNWANTED.filter(name => Object.hasOwn(globalThis, name));
  if (sealed.length > 0) throw new Error(`the engine does not let go of ${sealed.join(", ")}`);
}
