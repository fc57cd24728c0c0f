/** Call that goes to a worker; an `Answer` comes back. */
export interface Call {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

export interface Answer {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** In a worker: answers the calls of the process that started it, and ends with it. */
export function serve(functions: Readonly<Record<string, (argument: never) => unknown>>): void {
  process.on("message", async ({ id, method, argument }: Call) => {
    try {
      const called = functions[method];
      if (called === undefined) throw new Error(`there is no "${method}"`);
      process.send?.({ id, result: await called(argument as never) } satisfies Answer);
    } catch (error) {
      process.send?.({ id, error: (error as Error).stack ?? String(error) } satisfies Answer);
    }
  });
  process.once("disconnect", () => process.exit());
  // In its own words, so that what runs at exit (a profile's writing, say) does run.
  process.once("SIGTERM", () => process.exit());
  // A terminal sends its signal to the whole group; the parent stops its workers itself.
  process.on("SIGINT", () => {});
}

/** Keeps the application's thread busy for so long: a model computes, a page draws. */
export function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
