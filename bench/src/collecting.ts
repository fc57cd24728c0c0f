// Loaded before a program of others that is to say what it holds, and not what it has not got round to throwing away.

/** Signal for a garbage collection. */
export const COLLECT_SIGNAL = "SIGUSR2";

// Only where the process was started for it: whoever imports the name alone keeps Node's own way with the signal.
if (globalThis.gc !== undefined) {
  const { gc } = globalThis;
  // All that can be had, as V8 does by itself when memory runs short or nothing happens for some seconds.
  process.on(COLLECT_SIGNAL, () => gc({ type: "major", execution: "sync", flavor: "last-resort" }));
}
