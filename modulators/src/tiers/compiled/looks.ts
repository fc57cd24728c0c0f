import type { Node } from "acorn";
import { refuse } from "./refusal.ts";

/** Looks that one text is worth. */
const MOST_LOOKS = 8000;

/** Looks at the parts of one text: to compile it is the producer's own time, and functions are looked at wherever they are called. */
export class Looks {
  #left = MOST_LOOKS;

  /** @throws Refusal where there were too many by now */
  take(node: Node, looks = 1): void {
    this.#left -= looks;
    if (this.#left < 0)
      refuse(node, "with all calls of its functions written out, it is too large to compile");
  }
}
