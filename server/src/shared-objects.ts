import { JechoError } from "@jecho/shared";
import type { ObjectTaken, ObjectUpdate, ObjectWrite, OpenObject, SharedState } from "@jecho/shared/internal";
import type { Connection } from "./connection.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import { Pace } from "./pace.ts";

const MAX_STATE_LENGTH = 65536;
const MOST_COPIES_PER_CONNECTION = 1024;
/** Versions of an object that are handed on in a second, and writes of a copy; of more than that the newest. */
const MOST_PER_SECOND = 1000;

/** An application's copy of an object. */
interface Copy {
  readonly number: number;
  readonly connection: Connection;
  readonly lazy: boolean;
  readonly entry: Entry;
  /** The newest of its writes that the state is made with. */
  taken: number;
  /** What it wrote and the master has not been sent. */
  patch: object | undefined;
  write: number;
  readonly pace: Pace;
}

interface Entry {
  readonly object: string;
  /** Where the master copy is: undefined when that has gone and there is no other. */
  master: Connection | undefined;
  /** The master's number; undefined where it has not been opened, only brought along with a modulator. */
  masterCopy: Copy | undefined;
  /** Counts the masters. */
  term: number;
  version: number;
  state: string;
  /** In the order in which they were opened. */
  readonly copies: Set<Copy>;
  /** Derived channels whose modulators read it. */
  readonly users: Set<DerivedChannel>;
  readonly pace: Pace;
}

/**
 * The gateway's part in shared objects: it hands writes to the master copy, and each new version from there to all other
 * copies, those of modulators in producers included. It keeps the newest for copies that come later, and for the next
 * master should this one go.
 */
export class SharedObjects {
  readonly #entries = new Map<string, Entry>();
  readonly #copies = new Map<Connection, Map<number, Copy>>();

  /** A consumer brings its objects along with a modulator. @throws JechoError `OBJECT_INVALID` */
  bring(connection: Connection, states: readonly SharedState[]): void {
    for (const { object, version, state } of states) {
      check(object, state);
      const entry = this.#entries.get(object);
      if (entry === undefined) this.#create(object, connection, version, state);
      // What is not the master's own is known here better.
      else if (entry.master === undefined) this.#lead(entry, connection, undefined, version, state);
      else if (entry.master === connection) this.#advance(entry, version, state);
    }
  }

  /**
   * Opens a copy for an application, which gets the state, and everything newer from then on. The one that there was first is
   * the master; so is one that knows more than this gateway, which may have been started again.
   *
   * @param number the copy's on that connection
   * @throws JechoError `OBJECT_UNKNOWN`, `OBJECT_INVALID`, `OVERLOADED`
   */
  open(connection: Connection, number: number, opens: OpenObject): void {
    const { request, object, term, version, state, lazy } = opens;
    const isNew = version === 0;
    if (!isNew) check(object, state);
    let own = this.#copies.get(connection);
    if ((own?.size ?? 0) >= MOST_COPIES_PER_CONNECTION)
      throw new JechoError(
        "OVERLOADED",
        `a connection has at most ${MOST_COPIES_PER_CONNECTION} shared objects`,
      );
    let entry = this.#entries.get(object);
    if (entry === undefined && isNew) throw new JechoError("OBJECT_UNKNOWN");
    entry ??= this.#create(object, connection, version, state, term);
    const copy = this.#newCopy(number, connection, lazy, entry);
    own ??= new Map();
    this.#copies.set(connection, own);
    own.set(number, copy);
    entry.copies.add(copy);
    const knowsMore = term > entry.term || (term === entry.term && version > entry.version);
    const isBrought = entry.master === connection && entry.masterCopy === undefined && !isNew;
    if (isBrought || entry.master === undefined || (!isNew && knowsMore))
      this.#lead(entry, connection, copy, knowsMore ? version : 0, state, term);
    this.#tell(copy, request);
  }

  /** @throws JechoError `ENDPOINT_UNKNOWN` */
  pull(connection: Connection, number: number): void {
    this.#tell(this.#copy(connection, number), 0);
  }

  /** What a copy that is not the master changes. @throws JechoError `ENDPOINT_UNKNOWN`, `OBJECT_INVALID` */
  write(connection: Connection, { copy: number, write, patch }: ObjectWrite): void {
    const copy = this.#copy(connection, number);
    if (patch.length > MAX_STATE_LENGTH)
      throw new JechoError("OBJECT_INVALID", `a write has at most ${MAX_STATE_LENGTH} characters`);
    // A former write that still waits is one with this, for within one copy the later wins.
    copy.patch = Object.assign(copy.patch ?? Object.create(null), parsePatch(patch)) as object;
    copy.write = write;
    copy.pace.ask();
  }

  /**
   * A new version from the master copy. One of an object that nobody else knows is of interest to nobody.
   *
   * @throws JechoError `OBJECT_INVALID` where the state is too large or the master copy is at another connection
   */
  update(connection: Connection, { object, version, state }: ObjectUpdate): void {
    check(object, state);
    const entry = this.#entries.get(object);
    if (entry === undefined) return;
    if (entry.master !== connection)
      throw new JechoError("OBJECT_INVALID", "the object's master copy is at another connection");
    this.#advance(entry, version, state);
  }

  /** The master has taken a copy's write, which is in its next update. */
  taken(master: Connection, { copy: number, write }: ObjectTaken): void {
    for (const own of this.#copies.get(master)?.values() ?? []) {
      if (own.entry.masterCopy !== own) continue;
      for (const copy of own.entry.copies)
        if (copy.number === number) copy.taken = Math.max(copy.taken, write);
    }
  }

  /** The copy is not needed any more. */
  close(connection: Connection, number: number): boolean {
    const copy = this.#copies.get(connection)?.get(number);
    if (copy === undefined) return false;
    this.#drop(copy);
    return true;
  }

  /** Its copies are gone, and objects that it brought for a modulator that never came to be. */
  forgetConnection(connection: Connection): void {
    for (const copy of [...(this.#copies.get(connection)?.values() ?? [])]) this.#drop(copy);
    this.#copies.delete(connection);
    for (const entry of this.#entries.values()) {
      if (entry.master === connection) this.#succeed(entry);
      this.#forgetIfUnused(entry);
    }
  }

  /**
   * A session's master copies move to another device: those of its copies, by their numbers, and those that it only brought
   * along with modulators. @returns their newest states
   */
  transfer(
    from: Connection,
    to: Connection,
    numbers: Iterable<number>,
    brought: ReadonlySet<string>,
  ): SharedState[] {
    const states: SharedState[] = [];
    const copies = Array.from(numbers, number => this.#copies.get(from)?.get(number)).filter(
      copy => copy !== undefined,
    );
    for (const object of new Set([...brought, ...copies.map(({ entry }) => entry.object)])) {
      const entry = this.#entries.get(object);
      if (entry?.master !== from) continue;
      // Another session of that process may have the master copy.
      if (entry.masterCopy !== undefined && !copies.includes(entry.masterCopy)) continue;
      entry.master = to;
      entry.masterCopy = undefined;
      states.push({ name: "", object, version: entry.version, state: entry.state });
    }
    for (const copy of copies) this.#drop(copy);
    return states;
  }

  /** The newest states of these objects. */
  current(states: readonly SharedState[]): SharedState[] {
    return states.map(known => {
      const entry = this.#entries.get(known.object);
      return entry === undefined ? known : { ...known, version: entry.version, state: entry.state };
    });
  }

  use(derived: DerivedChannel): void {
    for (const { object } of derived.modulator.objects) this.#entries.get(object)?.users.add(derived);
  }

  release(derived: DerivedChannel): void {
    for (const { object } of derived.modulator.objects) {
      const entry = this.#entries.get(object);
      if (entry === undefined) continue;
      entry.users.delete(derived);
      this.#forgetIfUnused(entry);
    }
  }

  #create(object: string, master: Connection, version: number, state: string, term = 1): Entry {
    const entry: Entry = {
      object,
      master,
      masterCopy: undefined,
      term,
      version,
      state,
      copies: new Set(),
      users: new Set(),
      pace: new Pace(MOST_PER_SECOND, () => this.#tellAll(entry)),
    };
    this.#entries.set(object, entry);
    return entry;
  }

  #newCopy(number: number, connection: Connection, lazy: boolean, entry: Entry): Copy {
    const copy: Copy = {
      number,
      connection,
      lazy,
      entry,
      taken: 0,
      patch: undefined,
      write: 0,
      pace: new Pace(MOST_PER_SECOND, () => this.#forward(copy)),
    };
    return copy;
  }

  /** A new master, from another connection or with another copy. */
  #lead(
    entry: Entry,
    master: Connection,
    copy: Copy | undefined,
    version: number,
    state: string,
    term = entry.term,
  ): void {
    const before = entry.masterCopy;
    entry.master = master;
    entry.masterCopy = copy;
    entry.term = Math.max(entry.term, term) + 1;
    if (version > 0) {
      entry.version = version;
      entry.state = state;
      entry.pace.ask();
    }
    // Everybody else writes again what the former master may not have taken.
    for (const other of entry.copies) {
      if (other === copy) continue;
      other.patch = undefined;
      if (other === before || version === 0) this.#tell(other, 0);
    }
  }

  /** The master has gone: the copy that was opened first is the next one. */
  #succeed(entry: Entry): void {
    entry.master = undefined;
    entry.masterCopy = undefined;
    for (const copy of entry.copies) {
      if (!copy.connection.isOpen) continue;
      this.#lead(entry, copy.connection, copy, 0, "");
      this.#tell(copy, 0);
      return;
    }
  }

  #advance(entry: Entry, version: number, state: string): void {
    if (version <= entry.version) return;
    entry.version = version;
    entry.state = state;
    entry.pace.ask();
  }

  #tellAll(entry: Entry): void {
    const { object, version, state, copies, users, masterCopy } = entry;
    const producing = new Set([...users].flatMap(derived => [...derived.connections()]));
    for (const connection of producing) connection.send({ kind: "ObjectUpdate", object, version, state });
    for (const copy of copies) {
      if (copy === masterCopy) continue;
      if (copy.lazy) this.#tell(copy, 0, "");
      else this.#tell(copy, 0);
    }
  }

  #tell({ number, connection, taken, entry }: Copy, request: number, state = entry.state): void {
    const { version, term, masterCopy } = entry;
    const master = masterCopy?.number === number;
    connection.send({
      kind: "CopyUpdate",
      request,
      copy: number,
      term,
      master,
      write: taken,
      version,
      state,
    });
  }

  #forward(copy: Copy): void {
    const { number, patch, write, entry } = copy;
    const { masterCopy } = entry;
    // Without a master to take it, it is written again to the next one.
    if (patch === undefined || masterCopy === undefined || masterCopy === copy) return;
    copy.patch = undefined;
    const to = { copy: masterCopy.number, writer: number, write, patch: JSON.stringify(patch) };
    masterCopy.connection.send({ kind: "ObjectWrite", ...to });
  }

  #drop(copy: Copy): void {
    const { number, connection, entry } = copy;
    copy.pace.stop();
    this.#copies.get(connection)?.delete(number);
    entry.copies.delete(copy);
    if (entry.masterCopy === copy) this.#succeed(entry);
    this.#forgetIfUnused(entry);
  }

  #forgetIfUnused(entry: Entry): void {
    if (entry.users.size > 0 || entry.copies.size > 0) return;
    entry.pace.stop();
    this.#entries.delete(entry.object);
  }

  #copy(connection: Connection, number: number): Copy {
    const copy = this.#copies.get(connection)?.get(number);
    if (copy === undefined)
      throw new JechoError("ENDPOINT_UNKNOWN", `this connection has no copy ${number} of a shared object`);
    return copy;
  }
}

/** @throws JechoError `OBJECT_INVALID` */
function check(object: string, state: string): void {
  if (object.length === 0 || object.length > 64)
    throw new JechoError("OBJECT_INVALID", "an object's id has 1 to 64 characters");
  if (state.length > MAX_STATE_LENGTH)
    throw new JechoError("OBJECT_INVALID", `a state has at most ${MAX_STATE_LENGTH} characters`);
}

/** @throws JechoError `OBJECT_INVALID` */
function parsePatch(text: string): object {
  let patch: unknown;
  try {
    patch = JSON.parse(text);
  } catch (error) {
    throw new JechoError("OBJECT_INVALID", (error as Error).message);
  }
  if (typeof patch !== "object" || patch === null || Array.isArray(patch))
    throw new JechoError("OBJECT_INVALID", "a write is an object with the new values of some fields");
  return patch;
}
