/*
 * Random filters that show what they let through, and shared objects that they read: many of them on one channel are found by an index.
 */
import { EDGES, TEXTS } from "./random-values.ts";

const NUMBERS = ["wide", "small", "whole", "count", "byte", "short", "tiny"];
const EDGE_TEXTS = EDGES.map(edge => (Object.is(edge, -0) ? "(-0)" : `(${edge})`));

/** JSON of a state of the shared object that the filters read. It may hold -0 and Infinity, which `JSON.stringify` does not write. */
export function randomState(random: () => number): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const level = random() < 0.5 ? pick(EDGES.filter(edge => !Number.isNaN(edge))) : (random() - 0.5) * 300;
  const text =
    level === 1 / 0 ? "1e999" : level === -1 / 0 ? "-1e999" : Object.is(level, -0) ? "-0" : `${level}`;
  return `{"level":${text},"key":${JSON.stringify(pick(TEXTS))}}`;
}

/** The text of a function of one event, or of a module with a class. */
export function randomFilter(random: () => number): { readonly text: string; readonly isClass: boolean } {
  return new FilterWriter(random).filter();
}

class FilterWriter {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  filter(): { text: string; isClass: boolean } {
    const test = this.#test(Math.floor(this.#random() * 4));
    switch (Math.floor(this.#random() * 6)) {
      case 0:
        return this.#function(`return ${test};`);
      case 1:
        return this.#function(`if (${test}) return false;\nreturn ${this.#test(1)};`);
      case 2:
        return this.#function(
          `const { ${NUMBERS.join(", ")} } = event;\nif (!(${test})) return;\nreturn event;`,
        );
      case 3:
        return this.#function(
          `const isIt = ${test};\nreturn isIt ? urgent(event) : wide === 3 && event;`.replace(
            "wide",
            "event.wide",
          ),
        );
      case 4:
        return this.#function(
          `const within = (value, by) => value >= -by && value <= by;\nreturn within(event.${this.#pick(NUMBERS)}, ${this.#bound()}) && ${test};`,
        );
      default:
        return {
          isClass: true,
          text: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    const { parameters, objects } = this;
    if (${test}) ${this.#random() < 0.5 ? "super.enqueue(event);" : "return;\n    super.enqueue(event);"}
  }
}`,
        };
    }
  }

  #function(body: string): { text: string; isClass: boolean } {
    return { isClass: false, text: `(event, { parameters, objects, urgent }) => {\n${body}\n}` };
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  #test(depth: number): string {
    const kind = depth === 0 ? 0 : this.#random();
    const next = (): string => this.#test(depth - 1);
    if (kind < 0.25) return this.#comparison();
    if (kind < 0.6) return `(${next()} && ${next()})`;
    if (kind < 0.75) return `(${next()} || ${next()})`;
    if (kind < 0.85) return `!${next()}`;
    if (kind < 0.9) return `(${next()} ? ${next()} : ${next()})`;
    return `(event.flag || ${next()})`;
  }

  #comparison(): string {
    if (this.#random() < 0.3) {
      const field = `event.${this.#pick(["name", "word"])}`;
      const text = this.#pick(["parameters.key", "objects.shared.key", JSON.stringify(this.#pick(TEXTS))]);
      return this.#pick([
        `(${field} === ${text})`,
        `(${text} == ${field})`,
        `(${field} !== ${text})`,
        `[${text}, ${JSON.stringify(this.#pick(TEXTS))}].includes(${field})`,
      ]);
    }
    const [field, bound] = [`event.${this.#pick(NUMBERS)}`, this.#bound()];
    const by = this.#pick(["<", ">", "<=", ">=", "===", "===", "!==", "=="]);
    return this.#random() < 0.5 ? `(${field} ${by} ${bound})` : `(${bound} ${by} ${field})`;
  }

  #bound(): string {
    const kind = this.#random();
    if (kind < 0.3) return this.#pick(EDGE_TEXTS);
    if (kind < 0.6) return "objects.shared.level";
    return kind < 0.8 ? "parameters.level" : `${Math.floor(this.#random() * 200 - 50)}`;
  }
}
