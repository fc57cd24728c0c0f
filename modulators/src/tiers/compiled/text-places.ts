import { WINDOW } from "./encoder.ts";
import { Refusal } from "./refusal.ts";

/** A text of the parameters or of a shared object, by its path, and its address for one program. */
export interface TextPlace {
  readonly path: string;
  readonly at: number;
}

/** Gives each text that a program reads a place in the window. */
export class TextPlaces {
  readonly #places = new Map<string, number>();
  #next: number = WINDOW.texts;

  get all(): TextPlace[] {
    return Array.from(this.#places, ([path, at]) => ({ path, at }));
  }

  /** @throws Refusal where there is no room for all of them */
  placeOf(path: string, cap: number): number {
    let at = this.#places.get(path);
    if (at === undefined) {
      at = this.#next;
      this.#next += cap;
      if (this.#next > WINDOW.texts + WINDOW.textBytes)
        throw new Refusal("it reads more texts of its parameters and shared objects than are compiled");
      this.#places.set(path, at);
    }
    return at;
  }
}
