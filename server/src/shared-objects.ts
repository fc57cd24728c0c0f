import { JechoError } from "@jecho/shared";
import type { ObjectUpdate, SharedState } from "@jecho/shared/internal";
import type { Connection } from "./connection.ts";
import type { DerivedChannel } from "./derived-channel.ts";

const MAX_STATE_LENGTH = 65536;

interface Entry {
  owner: Connection;
  version: number;
  state: string;
  readonly users: Set<DerivedChannel>;
}

/**
 * The gateway's part in shared objects: it hands each new version from the master copy to the secondary copies in the
 * producers, and keeps the newest for producers that come later.
 */
export class SharedObjects {
  readonly #entries = new Map<string, Entry>();

  /** A consumer brings its objects along with a modulator. @throws JechoError `OBJECT_INVALID` */
  bring(owner: Connection, states: readonly SharedState[]): void {
    for (const { object, version, state } of states) {
      if (object.length === 0 || object.length > 64)
        throw new JechoError("OBJECT_INVALID", "an object's id has 1 to 64 characters");
      if (!this.#entries.has(object))
        this.#entries.set(object, { owner, version: -1, state: "", users: new Set() });
      this.update(owner, { kind: "ObjectUpdate", object, version, state });
    }
  }

  /**
   * A new version from the master copy. One of an object that no modulator uses is of interest to nobody.
   *
   * @throws JechoError `OBJECT_INVALID` where the state is too large or the master copy is at another connection
   */
  update(owner: Connection, { object, version, state }: ObjectUpdate): void {
    if (state.length > MAX_STATE_LENGTH)
      throw new JechoError("OBJECT_INVALID", `a state has at most ${MAX_STATE_LENGTH} characters`);
    const entry = this.#entries.get(object);
    if (entry === undefined) return;
    if (entry.owner !== owner && entry.owner.isOpen) {
      throw new JechoError("OBJECT_INVALID", "the object's master copy is at another connection");
    }
    entry.owner = owner;
    if (version <= entry.version) return;
    entry.version = version;
    entry.state = state;
    const connections = new Set([...entry.users].flatMap(derived => [...derived.connections()]));
    for (const connection of connections) connection.send({ kind: "ObjectUpdate", object, version, state });
  }

  /** Objects that were brought by this connection for a modulator that never came to be. */
  forgetConnection(connection: Connection): void {
    for (const [object, { owner, users }] of this.#entries) {
      if (owner === connection && users.size === 0) this.#entries.delete(object);
    }
  }

  /** The master copies move to another device. @returns their newest states */
  transfer(from: Connection, to: Connection): SharedState[] {
    const states: SharedState[] = [];
    for (const [object, entry] of this.#entries) {
      if (entry.owner !== from) continue;
      entry.owner = to;
      states.push({ name: "", object, version: entry.version, state: entry.state });
    }
    return states;
  }

  /** The newest states of these objects. */
  current(states: readonly SharedState[]): SharedState[] {
    return states.map(state => ({ ...state, ...this.#newest(state.object) }));
  }

  use(derived: DerivedChannel): void {
    for (const { object } of derived.modulator.objects) this.#entries.get(object)?.users.add(derived);
  }

  release(derived: DerivedChannel): void {
    for (const { object } of derived.modulator.objects) {
      const entry = this.#entries.get(object);
      entry?.users.delete(derived);
      if (entry?.users.size === 0) this.#entries.delete(object);
    }
  }

  #newest(object: string): { version: number; state: string } | undefined {
    const entry = this.#entries.get(object);
    return entry && { version: entry.version, state: entry.state };
  }
}
