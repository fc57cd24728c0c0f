import { randomInt } from "node:crypto";
import { encodeForNow, type Modulator, type OpenObject } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import { PacedAct } from "./pace.ts";
import { hasUnread, type ToldProcess, WhenRead } from "./when-read.ts";

/** Most versions of an object, and writes of a copy, handed on per second; of more, the newest ones. */
const MOST_PER_SECOND = 1000;
/** Number of terms, the present one included, that the state is known to have come through. */
const MOST_TERMS = 64;
const LAST_COUNT = 2 ** 32 - 1;

/** A derived channel whose modulator reads objects. */
export interface ObjectReader {
  readonly channel: { readonly number: number };
  readonly modulator: Modulator;
  /** Connections with the modulator installed, or the gateway that has such connections. */
  connections(): Iterable<ToldProcess>;
  /** Whether all copies of this object that the channel's modulators read are lazy; true where there are none. */
  isLazy(object: string): boolean;
}

/** An application's copy of an object. */
export class ObjectCopy {
  readonly number: number;
  readonly connection: Connection;
  readonly object: GatewayObject;
  readonly #lazy: boolean;
  /** Number of its newest write that is in the state. */
  #taken = 0;
  /** Mark of the term that it was told last. */
  #mark: number | undefined;
  /** Writes of this copy that were not sent to the master. */
  #patch: object | undefined;
  #write = 0;
  readonly #pace = new PacedAct(MOST_PER_SECOND, () => this.#forward());
  readonly #whenRead: WhenRead;
  /** Copies whose writes wait for this one, the master. */
  #writers: Set<ObjectCopy> | undefined;

  /**
   * @param number the copy's on that connection
   * @param lazy whether newer versions come without their state
   */
  constructor(number: number, connection: Connection, lazy: boolean, object: GatewayObject) {
    this.number = number;
    this.connection = connection;
    this.object = object;
    this.#lazy = lazy;
    this.#whenRead = new WhenRead(connection, () => this.#hasRead());
  }

  /** Hands a write of this copy to the master. */
  write(write: number, patch: object): void {
    // Without a master the copy writes it again to the next one: nothing is kept here until then.
    const { masterCopy } = this.object;
    if (masterCopy === undefined || masterCopy === this) return;
    // A waiting former write is merged with this one: within a copy the later one wins.
    this.#patch = Object.assign(this.#patch ?? Object.create(null), patch) as object;
    this.#write = write;
    this.#pace.ask();
  }

  /** Whether this is a newer write than the state has. One that was never handed on is in no version. */
  isNew(write: number): boolean {
    return write > this.#taken && write <= this.#write;
  }

  /** The state has the copy's writes up to this one. */
  taken(write: number): void {
    this.#taken = write;
  }

  /** Forgets writes that were not handed on: the copy writes them again to the next master. */
  forgetWrites(): void {
    this.#patch = undefined;
  }

  /** Tells the copy the newest version. */
  tellNewer(): void {
    this.#whenRead.ask();
  }

  tell(request: number, state = this.object.state): void {
    const { version, term, masterCopy } = this.object;
    const [mark] = this.object.terms;
    const terms = mark === this.#mark ? [] : this.object.terms;
    this.#mark = mark;
    this.connection.send({
      kind: "CopyUpdate",
      request,
      copy: this.number,
      term,
      master: masterCopy?.number === this.number,
      write: this.#taken,
      version,
      state,
      by: this.object.by,
      terms,
    });
  }

  /** Closes the copy. */
  stop(): void {
    this.#pace.stop();
    this.#whenRead.end();
  }

  #forward(): void {
    const { masterCopy } = this.object;
    if (masterCopy === undefined || masterCopy === this) return;
    masterCopy.#writers ??= new Set();
    masterCopy.#writers.add(this);
    masterCopy.#whenRead.ask();
  }

  #hasRead(): void {
    const writers = this.#writers ?? [];
    this.#writers = undefined;
    if (this.object.masterCopy !== this) return this.#lazy ? this.tell(0, "") : this.tell(0);
    for (const writer of writers) writer.#writeTo(this);
  }

  #writeTo({ number, connection }: ObjectCopy): void {
    const patch = this.#patch;
    if (patch === undefined) return;
    this.#patch = undefined;
    connection.send({
      kind: "ObjectWrite",
      copy: number,
      writer: this.number,
      write: this.#write,
      patch: JSON.stringify(patch),
      by: nameOf(this.connection),
    });
  }
}

/** A state of an object, as a client knows it. */
export type BroughtState = Pick<OpenObject, "term" | "terms" | "version" | "state">;

/** One shared object at the gateway: its master copy, its newest state, and the copies that get it. */
export class GatewayObject {
  readonly id: string;
  /** Connection of the application that made or brought it, which may have gone; undefined for one that another gateway follows. */
  readonly maker: Connection | undefined;
  /** Connection of the master copy; undefined where there is none. */
  master: Connection | undefined;
  /** The master copy; undefined where it was only brought with a modulator. */
  masterCopy: ObjectCopy | undefined;
  /** Copies, in order of opening. */
  readonly copies = new Set<ObjectCopy>();
  /** Derived channels whose modulators read it. */
  readonly users = new Set<ObjectReader>();
  /** Connections that brought it with modulators of other gateways' channels. */
  readonly bringers = new Set<Connection>();
  /** Connections by which it is found when they go. */
  readonly holders = new Set<Connection>();
  /** Counts the masters. */
  #term: number;
  /** A random mark for each term that the state has come through, and the version with which that term began, the latest first. */
  #terms: readonly number[];
  #version: number;
  #state: string;
  #by: string;
  /** Writes that the master says its next version has. */
  readonly #taken = new Map<ObjectCopy, number>();
  /** The connection of the latest of these. */
  #writer: Connection | undefined;
  /** The newest version's frame, as the master wrote it. */
  #frame: Uint8Array | undefined;
  readonly #pace = new PacedAct(MOST_PER_SECOND, () => this.#tellAll());
  /** Processes with modulators that have not read what they were sent before. */
  readonly #late = new WeakMap<ToldProcess, WhenRead>();

  constructor(
    id: string,
    master: Connection | undefined,
    version: number,
    state: string,
    term = 1,
    terms: readonly number[] = [],
    maker = master,
  ) {
    this.id = id;
    this.maker = maker;
    this.master = master;
    this.#version = version;
    this.#state = state;
    this.#by = nameOf(master);
    this.#term = term;
    // A lazy copy may have an older state than its term began with.
    this.#terms = terms
      .slice(0, 2 * MOST_TERMS)
      .map((one, i) => (i % 2 === 0 ? one : Math.min(one, version)));
  }

  get term(): number {
    return this.#term;
  }

  get terms(): readonly number[] {
    return this.#terms;
  }

  get version(): number {
    return this.#version;
  }

  get state(): string {
    return this.#state;
  }

  /** The newest state, which counts as kept for whoever made the object. @throws JechoError `OVERLOADED` */
  set state(state: string) {
    this.checkState(state);
    this.#keep(state);
  }

  /** Whether there is room for another state. @throws JechoError `OVERLOADED` */
  checkState(state: string): void {
    const moreBytes = 2 * (state.length - this.#state.length);
    if (moreBytes > 0) this.maker?.checkKeeping(moreBytes);
  }

  /** The subject that made the newest version, according to the master; "" at a gateway without keys. */
  get by(): string {
    return this.#by;
  }

  /** The master has taken a copy's write, which will be in its next version. */
  taken(copy: ObjectCopy, write: number): void {
    if (!copy.isNew(write)) return;
    this.#taken.set(copy, write);
    this.#writer = copy.connection;
  }

  /** A copy is closed. */
  leaves(copy: ObjectCopy): void {
    this.copies.delete(copy);
    this.#taken.delete(copy);
    if (this.masterCopy === copy) this.succeed();
  }

  get isUsed(): boolean {
    return this.users.size > 0 || this.copies.size > 0 || this.bringers.size > 0;
  }

  /**
   * Takes what another gateway has, which may have been started again, and count from an earlier version. Whether there is room for it was said there.
   *
   * @param frame as for `advance`
   */
  follow(version: number, state: string, frame?: Uint8Array): void {
    if (version > 0 && (version !== this.#version || state !== this.#state))
      this.#take(version, state, frame);
  }

  /** Takes a new version from the master. @param frame its frame, if any, valid until this returns */
  advance(version: number, state: string, frame?: Uint8Array): void {
    if (version <= this.#version) return;
    this.checkState(state);
    this.#take(version, state, frame);
  }

  #keep(state: string): void {
    this.maker?.keep(2 * (state.length - this.#state.length));
    this.#state = state;
  }

  #take(version: number, state: string, frame: Uint8Array | undefined): void {
    this.#keep(state);
    this.#version = version;
    this.#by = nameOf(this.#writer ?? this.master);
    for (const [copy, write] of this.#taken) copy.taken(write);
    this.#forgetTaken();
    this.#frame = frame;
    this.#pace.ask();
    this.#frame = undefined;
  }

  /** A new master, from another connection or with another copy. @param known what its copy has, where that is newer */
  lead(master: Connection, copy: ObjectCopy | undefined, known?: BroughtState): void {
    if (known !== undefined) this.state = known.state;
    const before = this.masterCopy;
    this.master = master;
    this.masterCopy = copy;
    this.#forgetTaken();
    const { version = this.#version, term = this.#term, terms = this.#terms } = known ?? {};
    this.#terms = [randomInt(2 ** 32), version, ...terms].slice(0, 2 * MOST_TERMS);
    this.#term = Math.min(LAST_COUNT, Math.max(this.#term, term) + 1);
    if (known !== undefined) {
      // Whoever takes states from here takes none with a lower number.
      this.#version = Math.min(LAST_COUNT, Math.max(version, this.#version + 1));
      this.#by = nameOf(master);
      this.#pace.ask();
    }
    // All other copies repeat writes that the former master may not have taken.
    for (const other of this.copies) {
      if (other === copy) continue;
      other.forgetWrites();
      if (other === before || known === undefined) other.tell(0);
    }
  }

  /** The master has gone: the oldest copy is the next one. */
  succeed(): void {
    this.master = undefined;
    this.masterCopy = undefined;
    for (const copy of this.copies) {
      if (!copy.connection.isOpen) continue;
      this.lead(copy.connection, copy);
      copy.tell(0);
      return;
    }
  }

  /** Called when nobody has a copy any more. */
  stop(): void {
    this.#pace.stop();
  }

  #forgetTaken(): void {
    this.#taken.clear();
    this.#writer = undefined;
  }

  #tellAll(): void {
    const told = new Set<ToldProcess>();
    // Mostly the received bytes can be sent on.
    this.#tellUsers(this.#state, told, this.#frame);
    this.#tellUsers("", told);
    for (const copy of this.copies) if (copy !== this.masterCopy) copy.tellNewer();
  }

  /** Each process once, with the state where any modulator there has a copy that is not lazy; such ones come first. */
  #tellUsers(state: string, told: Set<ToldProcess>, frame?: Uint8Array): void {
    let update = frame;
    for (const derived of this.users) {
      if (derived.isLazy(this.id) !== (state === "")) continue;
      for (const connection of derived.connections()) {
        if (told.has(connection)) continue;
        told.add(connection);
        if (this.#waitsFor(connection)) continue;
        update ??= encodeForNow({ kind: "ObjectUpdate", object: this.id, version: this.#version, state });
        connection.sendBytes(update);
      }
    }
  }

  /** Whether the process is told the newest version by itself, once it has read what it was sent before. */
  #waitsFor(connection: ToldProcess): boolean {
    const known = this.#late.get(connection);
    if (known === undefined && !hasUnread(connection)) return false;
    const late = known ?? new WhenRead(connection, () => this.#tellLate(connection));
    this.#late.set(connection, late);
    late.ask();
    return true;
  }

  #tellLate(connection: ToldProcess): void {
    this.#late.delete(connection);
    const readers = [...this.users].filter(derived => [...derived.connections()].includes(connection));
    if (readers.length === 0) return;
    const state = readers.every(derived => derived.isLazy(this.id)) ? "" : this.#state;
    connection.sendBytes(
      encodeForNow({ kind: "ObjectUpdate", object: this.id, version: this.#version, state }),
    );
  }
}

function nameOf(connection: Connection | undefined): string {
  return connection?.subject?.name ?? "";
}
