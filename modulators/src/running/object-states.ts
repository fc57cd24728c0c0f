import type { Modulator, ObjectUpdate } from "@jecho/shared/internal";
import type { Limits, ObjectState, Sandbox } from "../sandbox/sandbox.ts";
import { checkState } from "./sizes.ts";

type ReadObjects = Modulator["objects"];

let none: ObjectStates | undefined;

/** States of a modulator's copies of shared objects, and which of them its sandbox does not know yet. */
export class ObjectStates {
  readonly #objects: ReadObjects;
  readonly #limits: Limits;
  /** The newest changed states by name, and those that the sandbox does not have yet. */
  readonly #states = new Map<string, ObjectState>();
  readonly #updates = new Map<string, ObjectState>();
  /** Lazy copies: the newest version of each by name, and those that the sandbox does not know yet. */
  readonly #heard = new Map<string, number>();
  readonly #hearings = new Map<string, number>();
  #isAnyNew = false;

  /** States for a modulator that reads these. All modulators that read none share theirs, which stay empty. */
  static of(objects: ReadObjects, limits: Limits): ObjectStates {
    if (objects.length > 0) return new ObjectStates(objects, limits);
    none ??= new ObjectStates(objects, limits);
    return none;
  }

  constructor(objects: ReadObjects, limits: Limits) {
    this.#objects = objects;
    this.#limits = limits;
  }

  /**
   * A new state, for the sandbox's next call. A lazy copy is only told that there is one, unless it has pulled it.
   *
   * @returns whether the copy has a new state
   * @throws JechoError `OBJECT_INVALID`
   */
  update({ object: id, version, state, derived }: ObjectUpdate): boolean {
    for (const { name, object, lazy } of this.#objects) {
      if (object !== id) continue;
      this.#isAnyNew = true;
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

  /** Gives the sandbox the states that it does not have yet. */
  tell(sandbox: Sandbox): void {
    if (!this.#isAnyNew) return;
    this.#isAnyNew = false;
    for (const update of this.#updates.values()) sandbox.update(update);
    this.#updates.clear();
    for (const [name, version] of this.#hearings) sandbox.update({ name, version, state: "" });
    this.#hearings.clear();
  }

  /** @returns the states that a new sandbox begins with; newer versions of lazy copies are told later, as usual */
  begin(): ObjectState[] {
    this.#updates.clear();
    for (const [name, version] of this.#heard) this.#hearings.set(name, version);
    this.#isAnyNew = this.#hearings.size > 0;
    return this.#objects.map(object => this.#states.get(object.name) ?? object);
  }
}
