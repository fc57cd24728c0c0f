import { type Code, type CodeGlobal, DATA_KEY, f64, i32, QUEUE_KEY, VERSION_KEY } from "./code.ts";
import type { DataShape } from "./data-shape.ts";
import { booleanOf, type KnownValue, numberOf } from "./known.ts";
import { Refusal } from "./refusal.ts";
import { WINDOW } from "./window-layout.ts";

/** A text of the parameters or of a shared object, by its path, and its address for one program. */
export interface TextPlace {
  readonly path: string;
  readonly at: number;
}

/** Gives each number and text that a program reads of its parameters and shared objects a place in the window. */
export class DataPlaces {
  readonly #leaves = new Map<string, CodeGlobal>();
  readonly #texts = new Map<string, number>();
  #next: number = WINDOW.texts;

  /** Numbers and lengths of texts, in the order of their places. */
  get leaves(): CodeGlobal[] {
    return [...this.#leaves.values()];
  }

  get texts(): TextPlace[] {
    return Array.from(this.#texts, ([path, at]) => ({ path, at }));
  }

  /** The version of the data that this path leads into. */
  version(path: string): Code {
    const [of, name] = path.split("\n");
    if (of !== "objects" || name === undefined) return f64(0);
    return this.#leaf("f64", `${VERSION_KEY}${name}`);
  }

  /** Events that a modulator's queue holds. */
  get queueEvents(): Code {
    return this.#leaf("f64", QUEUE_KEY);
  }

  /** The value that the data have at this path; undefined for a text that cannot be compared byte by byte. */
  value(shape: DataShape, path: string): KnownValue | undefined {
    if (shape.is === "text" && shape.cap === 0) return undefined;
    if (shape.is === "null" || shape.is === "list" || shape.is === "object")
      return { is: "data", shape, path };
    const code = this.#leaf(shape.is === "number" ? "f64" : "i32", `${DATA_KEY}${path}`);
    if (shape.is === "number") return numberOf(code);
    if (shape.is === "boolean") return booleanOf(code);
    const { cap } = shape as Extract<DataShape, { is: "text" }>;
    return { is: "text", text: { from: "data", at: i32(this.#textAt(path, cap)), length: code, cap, path } };
  }

  #leaf(type: CodeGlobal["type"], key: string): Code {
    const global = this.#leaves.get(key) ?? { type, key };
    this.#leaves.set(key, global);
    if (this.#leaves.size > WINDOW.mostData)
      throw new Refusal("it reads more of its parameters and shared objects than is compiled");
    return { is: "getGlobal", global };
  }

  /** @throws Refusal where there is no room for all of them */
  #textAt(path: string, cap: number): number {
    let at = this.#texts.get(path);
    if (at === undefined) {
      at = this.#next;
      this.#next += cap;
      if (this.#next > WINDOW.texts + WINDOW.textBytes)
        throw new Refusal("it reads more texts of its parameters and shared objects than are compiled");
      this.#texts.set(path, at);
    }
    return at;
  }
}
