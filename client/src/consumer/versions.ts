import { objectTag } from "@jecho/shared/internal";

/** Tags of objects that were asked for, of each reference once. */
const TAGS = new WeakMap<{ readonly id: string }, bigint>();

/** The versions of shared objects that an event was made with, by all modulators on its way. */
export class Versions {
  readonly #objects: readonly bigint[];
  readonly #versions: readonly number[];

  /**
   * @param objects tags of the shared objects of those modulators
   * @param versions of each of them
   */
  constructor(objects: readonly bigint[], versions: readonly number[]) {
    this.#objects = objects;
    this.#versions = versions;
  }

  /**
   * The version of this object that the event was made with; where several modulators read it, the oldest. 0 where it was made
   * without having seen the object, such as what a producer publishes behind the modulator; undefined where no modulator reads it.
   */
  of(object: { readonly id: string }): number | undefined {
    if (this.#objects.length === 0) return undefined;
    let tag = TAGS.get(object);
    if (tag === undefined) {
      tag = objectTag(object.id);
      TAGS.set(object, tag);
    }
    let oldest: number | undefined;
    for (const [i, one] of this.#objects.entries()) {
      const version = this.#versions[i] ?? 0;
      if (one === tag && (oldest === undefined || version < oldest)) oldest = version;
    }
    return oldest;
  }
}

/** Versions of an event on whose way no modulator reads a shared object. */
export const NO_VERSIONS = new Versions([], []);
