import type { Type } from "@jecho/shared";
import { compileFor, readText } from "../tiers/compiled/compiler.ts";
import { costText } from "../tiers/compiled/cost.ts";
import { GivenData } from "../tiers/compiled/given-data.ts";
import { Refusal } from "../tiers/compiled/refusal.ts";
import type { HandlerPair, Modulator } from "./modulator.ts";

/** Whether and how a modulator's text is compiled for events of one type. */
export interface ModulatorExplanation {
  /** Whether a producer in Node compiles it, unless it knows the text itself or allows fewer steps; else it is hosted. */
  readonly isCompiled: boolean;
  /** The reason why the modulator is hosted, or why it is given no event of the type; "" where it is compiled. */
  readonly why: string;
  /** The line of its author's text that `why` is about, from 1; 0 where there is no single one. */
  readonly line: number;
  /** The column there, from 1; 0 where there is no single one. */
  readonly column: number;
  /** Upper bound of the steps for one event, of a nanosecond at most, as text: `120 + 9 x celsius.length`; "" where it is hosted. Loops whose length the text does not say are counted as they run. */
  readonly cost: string;
  /** Names of the fields that it reads of an event. */
  readonly reads: readonly string[];
  /** Size of its module of WebAssembly; 0 where it is hosted. */
  readonly bytes: number;
}

/**
 * Explains where a modulator runs that nobody vouches for: compiled in the producer's thread, or in a host.
 *
 * @param type of the channel's events
 */
export function explainModulator(handler: HandlerPair | Modulator, type: Type): ModulatorExplanation {
  const { source, parameters = null, objects = {} } = "modulator" in handler ? handler.modulator : handler;
  const states = Object.fromEntries(Object.entries(objects).map(([name, { state }]) => [name, state]));
  const verdict = unreadable(source, type) ?? compileFor(source, type, GivenData.of(parameters, states));
  if (verdict instanceof Refusal) {
    const { why, line, column } = verdict;
    return { isCompiled: false, why, line, column, cost: "", reads: [], bytes: 0 };
  }
  const { cost, isCounted, reads, bytes } = verdict;
  const counted = isCounted ? " + what it counts as it runs" : "";
  return { isCompiled: true, why: "", line: 0, column: 0, cost: `${costText(cost)}${counted}`, reads, bytes };
}

/** The reason why events of the type cannot be read as the type that the text says; undefined where they can. */
function unreadable(source: string, type: Type): Refusal | undefined {
  const text = readText(source);
  if (text instanceof Refusal) return undefined;
  try {
    text.input?.readerOf(type);
  } catch (error) {
    return new Refusal(
      `it reads no event of ${type.name}, as static input says another type: ${(error as Error).message}`,
    );
  }
  return undefined;
}
