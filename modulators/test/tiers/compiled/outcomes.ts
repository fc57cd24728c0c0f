import { modulatorFrom } from "@jecho/modulators";
import { Bench } from "./compiled-bench.ts";
import { functionSource } from "./function-source.ts";

/** A modulator by the text of its module, or of a function of one event. */
export const ofText = (text: string, options: object = {}) =>
  text.startsWith("import") ? modulatorFrom(text, options) : { source: functionSource(text), ...options };

/** Output of a modulator that may be compiled, and of a hosted one. */
export async function outcomes(act: (bench: Bench) => Promise<void>): Promise<string[][]> {
  const both = [];
  for (const local of [true, false]) {
    await using bench = new Bench({ local, mostPerEvent: 1e9 });
    await act(bench);
    await bench.environment.settled();
    both.push(bench.bytes);
  }
  return both;
}
