import type { Node } from "acorn";
import { HEAD } from "../../sandbox/failures.ts";

/** A text is not compiled: why, and where in its author's text that stands. */
export class Refusal extends Error {
  /** The fault, without its place. */
  readonly why: string;
  /** Line, from 1; 0 where there is no single place. */
  readonly line: number;
  readonly column: number;

  constructor(why: string, line = 0, column = 0) {
    super(line > 0 ? `${why} (line ${line}, column ${column} of its source)` : why);
    this.why = why;
    this.line = line;
    this.column = column;
  }

  /** The refusal in a text made of a class or a function: its author's first line is the second. */
  in(source: string): Refusal {
    if (this.line === 0 || !source.startsWith(HEAD)) return this;
    return this.line === 1 ? new Refusal(this.why) : new Refusal(this.why, this.line - 1, this.column);
  }
}

/** The line and column of a part of the text, from 1; 0 where it has none. */
export function positionOf({ loc }: Node): { readonly line: number; readonly column: number } {
  const { line = 0, column = -1 } = loc?.start ?? {};
  return { line, column: column + 1 };
}

/** @throws Refusal */
export function refuse(node: Node, why: string): never {
  const { line, column } = positionOf(node);
  throw new Refusal(why, line, column);
}
