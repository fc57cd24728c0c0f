import { keepNewest } from "../../running/newest-entries.ts";
import { type DataShape, MOST_MEMBERS, shapeOf, shapeText } from "./data-shape.ts";

/** Plain data with their shape. Nobody writes into them: all modulators that are given the same text share them. */
interface ReadData {
  readonly value: unknown;
  readonly shape: DataShape;
  readonly shapeText: string;
}

/** Most texts that are kept as they were read; of more, the oldest are read again. */
const MOST_KEPT = 64;
const kept = new Map<string, ReadData>();

/** Reads a text of JSON. Many modulators are given the same state at once: the same text again costs nothing. */
function read(json: string): ReadData {
  let data = kept.get(json);
  if (data === undefined) {
    data = withShape(JSON.parse(json));
    keepNewest(kept, json, data, MOST_KEPT);
  }
  return data;
}

function withShape(value: unknown): ReadData {
  const shape = shapeOf(value);
  return { value, shape, shapeText: shapeText(shape) };
}

/** Data that a modulator is given: its parameters, and the states of shared objects by their names. */
export class GivenData {
  readonly parameters: unknown;
  readonly objects: Readonly<Record<string, unknown>>;
  readonly #parameters: ReadData;
  readonly #objects: ReadonlyMap<string, ReadData>;

  private constructor(parameters: ReadData, objects: ReadonlyMap<string, ReadData>) {
    this.parameters = parameters.value;
    this.objects = Object.fromEntries(Array.from(objects, ([name, { value }]) => [name, value]));
    this.#parameters = parameters;
    this.#objects = objects;
  }

  static of(parameters: unknown, objects: Readonly<Record<string, unknown>> = {}): GivenData {
    const states = Object.entries(objects).map(([name, state]) => [name, withShape(state)] as const);
    return new GivenData(withShape(parameters), new Map(states));
  }

  /** @throws SyntaxError where a state is not there as yet */
  static read(parameters: string, objects: readonly { name: string; state: string }[]): GivenData {
    const states = objects.map(({ name, state }) => [name, read(state)] as const);
    return new GivenData(read(parameters === "" ? "null" : parameters), new Map(states));
  }

  /** The same with a newer state of a shared object. */
  with(name: string, state: string): GivenData {
    return new GivenData(this.#parameters, new Map(this.#objects).set(name, read(state)));
  }

  get shapes(): { readonly parameters: DataShape; readonly objects: DataShape } {
    const objects = Array.from(this.#objects, ([name, { shape }]) => [name, shape] as const);
    const fields = new Map(objects.slice(0, MOST_MEMBERS));
    return { parameters: this.#parameters.shape, objects: { is: "object", fields } };
  }

  /** The shapes as text: those of two are alike where their texts are. */
  get shapeText(): string {
    const states = Array.from(this.#objects, ([name, { shapeText }]) => JSON.stringify(name) + shapeText);
    return `${this.#parameters.shapeText} ${states.join()}`;
  }

  /** The member that a path of names leads to, which line breaks separate. */
  at(path: string): unknown {
    let found: unknown = this;
    for (const name of path.split("\n")) found = (found as Record<string, unknown>)[name];
    return found;
  }
}
