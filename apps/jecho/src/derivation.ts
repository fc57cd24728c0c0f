/** Modulator that `jecho sub` has run on events before they are sent, and where it runs. */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Script } from "node:vm";
import { type Modulator, modulatorFrom, modulatorFromFile, type Placement, type Type } from "@jecho/client";
import { UsageError } from "./screen.ts";

export interface DerivationOptions {
  /** An expression of `event`: what it is true for is sent. */
  readonly where?: string | undefined;
  /** The path of a modulator's module. */
  readonly modulator?: string | undefined;
}

/**
 * @returns undefined where the channel is wanted as it is
 * @throws UsageError for both at once
 * @throws JechoError `MODULATOR_INVALID` where the file cannot be read
 */
export async function derivationOf({ where, modulator }: DerivationOptions): Promise<Modulator | undefined> {
  if (where !== undefined && modulator !== undefined)
    throw new UsageError("--where and --modulator cannot be used together");
  if (modulator !== undefined) return modulatorFromFile(pathToFileURL(resolve(modulator)));
  if (where === undefined) return undefined;
  // The expression begins line 2, so that an error's column in that line is one of the expression.
  return modulatorFrom(`import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { enqueue(event) { if (
${where}
) super.enqueue(event); } }`);
}

/** A text about the modulator of an expression, with places in its source said as places in the expression. */
export function inExpression(text: string, expression: string): string {
  const lines = expression.split("\n").length;
  return text.replace(/\(line (\d+), column (\d+) of its source\)/g, (_, line: string, column: string) => {
    const at = Number(line) - 1;
    if (at > lines) return "(at the end of the expression)";
    return `(${lines > 1 ? `line ${at}, ` : ""}column ${column} of the expression)`;
  });
}

/**
 * Reads an expression, without evaluating it: where nobody produces yet, nobody else would say that it is none.
 *
 * @throws UsageError
 */
export function checkExpression(expression: string): void {
  try {
    new Script(`"use strict"; event => (\n${expression}\n)`);
  } catch (error) {
    throw new UsageError(`--where takes an expression of JavaScript: ${(error as Error).message}`);
  }
}

/**
 * A field that no event has is no error in an expression: it would be true for none, or for all.
 *
 * @param types what the producers write; where nothing is known of that, anything goes
 * @throws UsageError
 */
export function checkFields(expression: string, types: readonly Type[]): void {
  const code = expression.replace(/(["'`])(?:\\.|(?!\1)[^\\])*\1/gs, "$1$1");
  const names = new Set(types.flatMap(({ fields }) => fields.map(({ name }) => name)));
  for (const [, name = ""] of code.matchAll(/(?<![\w$.])event\s*\??\.\s*([\w$]+)/g))
    if (names.size > 0 && !names.has(name))
      throw new UsageError(`the events have no field "${name}"; they have ${[...names].join(", ")}`);
}

const AT = {
  producer: "with the producer",
  gateway: "beside the gateway",
  consumer: "here, with the consumer",
  nowhere: "nowhere: events are missing",
} as const;

/** A line for each place that the modulator runs in. */
export function describePlacements(placements: readonly Placement[]): string[] {
  const producers = new Map<string, number[]>();
  for (const { at, why, tier, tierWhy, producers: numbers } of placements) {
    const how = tier === undefined ? "" : `, ${tier}${tierWhy === "" ? "" : `: ${tierWhy}`}`;
    const where = `${AT[at]}${why === "" ? "" : ` (${why})`}${how}`;
    producers.set(where, [...(producers.get(where) ?? []), ...numbers]);
  }
  return [...producers].map(([where, numbers]) => {
    const whose = producers.size === 1 ? "" : ` for ${numbers.join(", ")}`;
    return `# the modulator runs ${where}${whose}`;
  });
}
