import type { Modulator, ObjectUpdate } from "@jecho/shared/internal";
import type { Limits, ObjectState, Sandbox } from "../sandbox/sandbox.ts";
import { checkState } from "./sizes.ts";

type ReadObjects = Modulator["objects"];

/** States of a modulator's copies of shared objects, and which of them its sandbox does not know yet. */
export class ObjectStates {
  readonly #objects: ReadObjects;
  readonly #limits: Limits;
  /** The newest states by name, as far as they have changed; and those that the sandbox does not have yet. */
  readonly #states = new Map<string, ObjectState>();
  readonly #updates = new Map<string, ObjectState>();
  /** Lazy copies: the newest version of each, by name; and those versions that the sandbox does not know yet. */
  readonly #heard = new Map<string, number>();
  readonly #hearings = new Map<string, number>();

  constructor(objects: ReadObjects, limits: Limits) {
    this.#objects = objects;
    this.#limits = limits;
  }

  /**
   * A new state, which the sandbox is told with the next call. A lazy copy hears of it, unless it has pulled it.
   *
   * @returns is there a new state to count?
   * @throws JechoError `OBJECT_INVALID`
   */
  update({ object: id, version, state, derived }: ObjectUpdate): boolean {
    for (const { name, object, lazy } of this.#objects) {
      if (object !== id) continue;
      if (state === "" || (lazy && derived === 0)) {
        if (lazy) {
          this.#heard.set(name, version);
          this.#hearings.set(name, version);
        }
        continue;
      }
      checkState(state, this.#limits);
      const newest = { name, version, state };
      this.#states.set(name, newest);
      this.#updates.set(name, newest);
    }
    return this.#updates.size > 0;
  }

  /** Tells the sandbox what it does not know of yet. */
  tell(sandbox: Sandbox): void {
    if (this.#updates.size + this.#hearings.size === 0) return;
    for (const update of this.#updates.values()) sandbox.update(update);
    this.#updates.clear();
    for (const [name, version] of this.#hearings) sandbox.update({ name, version, state: "" });
    this.#hearings.clear();
  }

  /** @returns the states that a new sandbox begins with; what there is to pull it is told like any other news */
  begin(): ObjectState[] {
    this.#updates.clear();
    for (const [name, version] of this.#heard) this.#hearings.set(name, version);
    return this.#objects.map(object => this.#states.get(object.name) ?? object);
  }
}
