import { encodeForNow, type Modulator } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import { PacedAct } from "./pace.ts";

/** Versions of an object that are handed on in a second, and writes of a copy; of more than that the newest. */
const MOST_PER_SECOND = 1000;

/** A derived channel whose modulator reads objects. */
export interface ObjectReader {
  readonly channel: { readonly number: number };
  readonly modulator: Modulator;
  /** Connections that have the modulator installed, or the gateway that has such. */
  connections(): Iterable<Pick<Connection, "sendBytes">>;
  /** Whether all copies of this object that the channel's modulators read are lazy; true where there are none. */
  isLazy(object: string): boolean;
}

/** An application's copy of an object. */
export class ObjectCopy {
  readonly number: number;
  readonly connection: Connection;
  readonly object: GatewayObject;
  readonly #lazy: boolean;
  /** The newest of its writes that the state is made with. */
  #taken = 0;
  /** Writes of this copy that the master has not been sent. */
  #patch: object | undefined;
  #write = 0;
  readonly #pace = new PacedAct(MOST_PER_SECOND, () => this.#forward());

  /**
   * @param number the copy's on that connection
   * @param lazy newer versions come without their state
   */
  constructor(number: number, connection: Connection, lazy: boolean, object: GatewayObject) {
    this.number = number;
    this.connection = connection;
    this.object = object;
    this.#lazy = lazy;
  }

  /** Hands a write of this copy, which is not the master, to the master. */
  write(write: number, patch: object): void {
    // Without a master to take it, it is written again to the next one: nothing is to gather here until then.
    const { masterCopy } = this.object;
    if (masterCopy === undefined || masterCopy === this) return;
    // A former write that still waits is one with this, for within one copy the later wins.
    this.#patch = Object.assign(this.#patch ?? Object.create(null), patch) as object;
    this.#write = write;
    this.#pace.ask();
  }

  /** The master has taken its writes up to this one. */
  taken(write: number): void {
    // One that was never handed on is none that the next version is made with.
    if (write > this.#taken && write <= this.#write) this.object.takenFrom(this.connection);
    this.#taken = Math.max(this.#taken, write);
  }

  /** Forgets writes that were not handed on: the copy writes them again to the next master. */
  forgetWrites(): void {
    this.#patch = undefined;
  }

  /** A newer version has come. */
  tellNewer(): void {
    if (this.#lazy) this.tell(0, "");
    else this.tell(0);
  }

  tell(request: number, state = this.object.state): void {
    const { version, term, masterCopy } = this.object;
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
    });
  }

  /** Closes the copy. */
  stop(): void {
    this.#pace.stop();
  }

  #forward(): void {
    const { masterCopy } = this.object;
    const patch = this.#patch;
    if (patch === undefined || masterCopy === undefined || masterCopy === this) return;
    this.#patch = undefined;
    masterCopy.connection.send({
      kind: "ObjectWrite",
      copy: masterCopy.number,
      writer: this.number,
      write: this.#write,
      patch: JSON.stringify(patch),
      by: nameOf(this.connection),
    });
  }
}

/** One shared object at the gateway: which copy is the master, its newest state, and which copies are to have it. */
export class GatewayObject {
  readonly id: string;
  /** Connection of the application that made it, which may have left; undefined for one that another gateway follows, or has. */
  readonly maker: Connection | undefined;
  /** Connection of the master copy; undefined when that has gone and there is no other. */
  master: Connection | undefined;
  /** The master's copy; undefined where it has not been opened, only brought along with a modulator. */
  masterCopy: ObjectCopy | undefined;
  /** Copies in the order in which they were opened. */
  readonly copies = new Set<ObjectCopy>();
  /** Derived channels whose modulators read it. */
  readonly users = new Set<ObjectReader>();
  /** Connections that brought it along with modulators of channels whose home is another gateway. */
  readonly bringers = new Set<Connection>();
  /** Connections that it is found by when they go. */
  readonly holders = new Set<Connection>();
  /** Counts the masters. */
  #term: number;
  #version: number;
  #state: string;
  #by: string;
  /** The connection whose write the master has taken since the newest version. */
  #writer: Connection | undefined;
  /** The newest version as the master wrote it, while that is there. */
  #frame: Uint8Array | undefined;
  readonly #pace = new PacedAct(MOST_PER_SECOND, () => this.#tellAll());

  constructor(id: string, master: Connection | undefined, version: number, state: string, term = 1) {
    this.id = id;
    this.maker = master;
    this.master = master;
    this.#version = version;
    this.#state = state;
    this.#by = nameOf(master);
    this.#term = term;
  }

  get term(): number {
    return this.#term;
  }

  get version(): number {
    return this.#version;
  }

  get state(): string {
    return this.#state;
  }

  /** It is kept on account of whoever made the object. @throws JechoError `OVERLOADED` */
  set state(state: string) {
    this.checkState(state);
    this.maker?.keep(2 * (state.length - this.#state.length));
    this.#state = state;
  }

  /** Whether there is room for another state. @throws JechoError `OVERLOADED` */
  checkState(state: string): void {
    const moreBytes = 2 * (state.length - this.#state.length);
    if (moreBytes > 0) this.maker?.checkKeeping(moreBytes);
  }

  /** The subject that made the newest version, as far as the master says whose writes are in it; "" at a gateway without keys. */
  get by(): string {
    return this.#by;
  }

  /** The master has taken a write, which is in its next version. */
  takenFrom(writer: Connection): void {
    this.#writer = writer;
  }

  get isUsed(): boolean {
    return this.users.size > 0 || this.copies.size > 0 || this.bringers.size > 0;
  }

  /** A new version from the master. @param frame as which it came, if it did: valid until this returns */
  advance(version: number, state: string, frame?: Uint8Array): void {
    if (version <= this.#version) return;
    this.state = state;
    this.#version = version;
    this.#by = nameOf(this.#writer ?? this.master);
    this.#writer = undefined;
    this.#frame = frame;
    this.#pace.ask();
    this.#frame = undefined;
  }

  /**
   * A new master, from another connection or with another copy.
   *
   * @param version of what it knows; 0 where that is nothing new
   */
  lead(
    master: Connection,
    copy: ObjectCopy | undefined,
    version: number,
    state: string,
    term = this.#term,
  ): void {
    if (version > 0) this.state = state;
    const before = this.masterCopy;
    this.master = master;
    this.masterCopy = copy;
    this.#term = Math.max(this.#term, term) + 1;
    if (version > 0) {
      this.#version = version;
      this.#by = nameOf(master);
      this.#pace.ask();
    }
    // Everybody else writes again what the former master may not have taken.
    for (const other of this.copies) {
      if (other === copy) continue;
      other.forgetWrites();
      if (other === before || version === 0) other.tell(0);
    }
  }

  /** The master has gone: the copy that was opened first is the next one. */
  succeed(): void {
    this.master = undefined;
    this.masterCopy = undefined;
    for (const copy of this.copies) {
      if (!copy.connection.isOpen) continue;
      this.lead(copy.connection, copy, 0, "");
      copy.tell(0);
      return;
    }
  }

  /** Called when nobody has a copy any more. */
  stop(): void {
    this.#pace.stop();
  }

  #tellAll(): void {
    const told = new Set<Pick<Connection, "sendBytes">>();
    // Mostly the very bytes that came are what is to be told.
    this.#tellUsers(this.#state, told, this.#frame);
    this.#tellUsers("", told);
    for (const copy of this.copies) if (copy !== this.masterCopy) copy.tellNewer();
  }

  /** Each process once: with the state where any modulator there has a copy that is not lazy, which is to be first. */
  #tellUsers(state: string, told: Set<Pick<Connection, "sendBytes">>, frame?: Uint8Array): void {
    let update = frame;
    for (const derived of this.users) {
      if (derived.isLazy(this.id) !== (state === "")) continue;
      for (const connection of derived.connections()) {
        if (told.has(connection)) continue;
        told.add(connection);
        update ??= encodeForNow({ kind: "ObjectUpdate", object: this.id, version: this.#version, state });
        connection.sendBytes(update);
      }
    }
  }
}

function nameOf(connection: Connection | undefined): string {
  return connection?.subject?.name ?? "";
}
