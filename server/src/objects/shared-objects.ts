import { JechoError } from "@jecho/shared";
import {
  encodeControl,
  type Modulator,
  type ObjectTaken,
  type ObjectUpdate,
  type ObjectWrite,
  type OpenObject,
  type SharedState,
  unplainIn,
} from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import { ENDPOINT_BYTES } from "../connections/crowd.ts";
import { LimitReached } from "../gateway/limit-reached.ts";
import type { ObjectHomes } from "./object-homes.ts";
import { GatewayObject, ObjectCopy, type ObjectReader } from "./shared-object.ts";

/** Greatest version, and term, that a client may say. */
const MOST_COUNTED = 2 ** 32 - 2 ** 16;
const MAX_STATE_LENGTH = 65536;

/**
 * The gateway's part in shared objects: it hands writes to the master copy, and each new version from there to all other
 * copies, including those of modulators. It keeps the newest version for later copies, and for the next master.
 */
export class SharedObjects {
  readonly #objects = new Map<string, GatewayObject>();
  readonly #copies = new Map<Connection, Map<number, ObjectCopy>>();
  readonly #byNumber = new Map<number, ObjectCopy>();
  /** Objects that each connection brought, made or took over. */
  readonly #held = new Map<Connection, Set<GatewayObject>>();
  readonly #mostPerConnection: number;
  /** Number of objects that each connection has made. */
  readonly #made = new Map<Connection, number>();

  #homes: ObjectHomes | undefined;

  /** @param mostPerConnection most objects that a connection makes, and copies that it has */
  constructor(mostPerConnection: number) {
    this.#mostPerConnection = mostPerConnection;
  }

  /** Other gateways have objects, too: of theirs this one keeps the newest states for modulators here. */
  joins(homes: ObjectHomes): void {
    this.#homes = homes;
  }

  /** Objects may have other homes: theirs are followed there, and whoever has copies here of what is not this gateway's any more looks for it there. */
  moved(): void {
    const homes = this.#homes;
    for (const object of homes === undefined ? [] : [...this.#objects.values()]) {
      const { id, version, state, master, bringers, copies } = object;
      if (homes?.isHome(id) !== false) continue;
      if (object.users.size > 0) homes.follow(id, version, state);
      const users = new Set([...bringers, ...Array.from(copies, ({ connection }) => connection)]);
      if (master !== undefined) users.add(master);
      for (const user of users) user.end("CHANNEL_MOVED");
    }
  }

  /** A consumer brings its objects with a modulator. @throws JechoError `OBJECT_INVALID`, `OVERLOADED` */
  bring(connection: Connection, states: readonly SharedState[]): void {
    const isHere = ({ object }: SharedState): boolean => this.#homes?.isHome(object) !== false;
    this.#checkMany(connection, this.#unknownOf(states).size);
    try {
      this.#bring(connection, states.filter(isHere));
      for (const state of states) if (!isHere(state)) this.#follow(connection, state);
    } catch (error) {
      this.forgetUnused(states);
      throw error;
    }
  }

  /** A client brings objects with a modulator of another gateway's channel. @throws JechoError `OBJECT_INVALID`, `OVERLOADED` */
  bringElsewhere(connection: Connection, states: readonly SharedState[]): void {
    this.#bring(connection, states);
    for (const { object: id } of states) {
      const object = this.#objects.get(id);
      if (object === undefined) continue;
      object.bringers.add(connection);
      this.#hold(connection, object);
    }
  }

  /** Another gateway has modulators that read this object. */
  follow(reader: ObjectReader, id: string, version: number, state: string): void {
    check(id, state);
    let object = this.#objects.get(id);
    if (object === undefined) {
      object = new GatewayObject(id, undefined, version, state);
      this.#objects.set(id, object);
    } else if (object.master === undefined && version > object.version) object.follow(version, state);
    object.users.add(reader);
    // The reader's gateway may have another version.
    if (object.version !== version || object.state !== state)
      for (const follower of reader.connections())
        follower.sendBytes(
          encodeControl({ kind: "ObjectUpdate", object: id, version: object.version, state: object.state }),
        );
  }

  /** Modulators of another gateway no longer read this object. */
  unfollow(reader: ObjectReader, id: string): void {
    const object = this.#objects.get(id);
    if (object?.users.delete(reader)) this.#forgetIfUnused(object);
  }

  /** Takes a newer version of another gateway's object. */
  followed({ object: id, version, state }: ObjectUpdate, frame: Uint8Array): void {
    const object = this.#objects.get(id);
    if (this.#homes?.isHome(id) === false) object?.follow(version, state, frame);
  }

  #follow(connection: Connection, { object: id, version, state }: SharedState): void {
    check(id, state, version);
    if (!this.#objects.has(id))
      this.#make(new GatewayObject(id, undefined, version, "", 1, [], connection), connection, state);
    this.#homes?.follow(id, version, state);
  }

  #unknownOf(states: readonly SharedState[]): Set<string> {
    return new Set(states.map(({ object }) => object).filter(id => !this.#objects.has(id)));
  }

  #bring(connection: Connection, states: readonly SharedState[]): void {
    this.#checkMany(connection, this.#unknownOf(states).size);
    for (const { object: id, version, state } of states) check(id, state, version);
    for (const { object: id, version, state } of states) {
      const object = this.#objects.get(id);
      if (object === undefined) this.#create(id, connection, version, state);
      // This gateway knows other versions than the master's better.
      else if (object.master === undefined) {
        object.lead(connection, undefined, { term: object.term, terms: object.terms, version, state });
        this.#hold(connection, object);
      } else if (object.master === connection) object.advance(version, state);
    }
  }

  /**
   * Opens a copy for an application, which gets the state and all newer ones. The first copy is the master; so is one with a newer version
   * than this gateway's, which may have been restarted.
   *
   * @param number the copy's on that connection
   * @throws JechoError `OBJECT_UNKNOWN`, `OBJECT_INVALID`, `OVERLOADED`
   */
  open(connection: Connection, number: number, opens: OpenObject): void {
    const { request, object: id, term, terms, version, state, lazy } = opens;
    const isNew = version === 0;
    if (!isNew) check(id, state, version, term);
    let own = this.#copies.get(connection);
    if ((own?.size ?? 0) >= this.#mostPerConnection) throw this.#tooMany();
    connection.checkKeeping(ENDPOINT_BYTES);
    let object = this.#objects.get(id);
    if (object === undefined && isNew) throw new JechoError("OBJECT_UNKNOWN", "no shared object has this id");
    if (object === undefined) this.#checkMany(connection, 1);
    object ??= this.#create(id, connection, version, state, term, terms);
    if (!isNew) object.checkState(state);
    const copy = new ObjectCopy(number, connection, lazy, object);
    connection.keep(ENDPOINT_BYTES);
    own ??= new Map();
    this.#copies.set(connection, own);
    own.set(number, copy);
    this.#byNumber.set(number, copy);
    object.copies.add(copy);
    const knowsMore = term > object.term || (term === object.term && version > object.version);
    const isBrought = object.master === connection && object.masterCopy === undefined && !isNew;
    if (isBrought || object.master === undefined || (!isNew && knowsMore))
      object.lead(connection, copy, knowsMore ? opens : undefined);
    copy.tell(request);
  }

  /** @throws JechoError `ENDPOINT_UNKNOWN` */
  pull(connection: Connection, number: number): void {
    this.#copy(connection, number).tell(0);
  }

  /**
   * The modulator of a derived channel, which runs at this connection, pulls an object. A modulator that has gone meanwhile gets no
   * answer.
   *
   * @throws JechoError `OBJECT_UNKNOWN` where it does not read it
   */
  pullFor(connection: Connection, derived: ObjectReader | undefined, id: string): void {
    if (derived === undefined || !new Set(derived.connections()).has(connection)) return;
    const [state] = this.current(derived.modulator.objects.filter(({ object }) => object === id));
    if (state === undefined)
      throw new JechoError("OBJECT_UNKNOWN", "the modulator does not read this object");
    const { object, version, state: text } = state;
    connection.send({ kind: "ObjectUpdate", object, version, state: text, derived: derived.channel.number });
  }

  /** Takes a write of a copy that is not the master. @throws JechoError `ENDPOINT_UNKNOWN`, `OBJECT_INVALID` */
  write(connection: Connection, { copy: number, write, patch }: ObjectWrite): void {
    const copy = this.#copy(connection, number);
    if (patch.length > MAX_STATE_LENGTH)
      throw new JechoError("OBJECT_INVALID", `a write has at most ${MAX_STATE_LENGTH} characters`);
    copy.write(write, parseFields(patch, "a write"));
  }

  /**
   * Takes a new version from the master copy, which is ignored where nobody else has the object.
   *
   * @param frame the update's frame
   * @throws JechoError `OBJECT_INVALID` where the state is too large, or the connection has no copy
   */
  update(
    connection: Connection,
    { object: id, version, state, derived }: ObjectUpdate,
    frame: Uint8Array,
  ): void {
    check(id, state, version);
    const object = this.#objects.get(id);
    if (object === undefined) return;
    if (object.master !== connection) {
      // A copy that does not yet know that another one is the master repeats the change as a write.
      if (Array.from(object.copies).some(copy => copy.connection === connection)) return;
      throw new JechoError("OBJECT_INVALID", "the object's master copy is at another connection");
    }
    // Only the gateway sends updates for one modulator.
    object.advance(version, state, derived === 0 ? frame : undefined);
  }

  /** The master has taken a copy's write, which will be in its next update. */
  taken(master: Connection, { copy: number, write }: ObjectTaken): void {
    const copy = this.#byNumber.get(number);
    if (copy?.object.masterCopy?.connection === master) copy.object.taken(copy, write);
  }

  /** Whether a copy has this number. */
  hasCopy(number: number): boolean {
    return this.#byNumber.has(number);
  }

  /** Closes a copy. */
  close(connection: Connection, number: number): boolean {
    const copy = this.#copies.get(connection)?.get(number);
    if (copy === undefined) return false;
    this.#drop(copy);
    return true;
  }

  /** Forgets a connection's copies, and objects that it brought for a modulator that was not installed. */
  forgetConnection(connection: Connection): void {
    for (const copy of [...(this.#copies.get(connection)?.values() ?? [])]) this.#drop(copy);
    this.#copies.delete(connection);
    const held = this.#held.get(connection) ?? [];
    this.#held.delete(connection);
    for (const object of held) {
      object.holders.delete(connection);
      object.bringers.delete(connection);
      if (object.master === connection) object.succeed();
      this.#forgetIfUnused(object);
    }
  }

  /**
   * A session's master copies move to another device: those among its copies, by their numbers, and those that it only brought
   * with modulators. Of objects that this device may not share the copies end. @returns their newest states
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
    for (const id of new Set([...brought, ...copies.map(({ object }) => object.id)])) {
      const object = this.#objects.get(id);
      if (object?.master !== from || to.subject?.may("share", id) === false) continue;
      // Another session of that process may have the master copy.
      if (object.masterCopy !== undefined && !copies.includes(object.masterCopy)) continue;
      object.master = to;
      object.masterCopy = undefined;
      this.#hold(to, object);
      states.push({ name: "", object: id, version: object.version, state: object.state, lazy: false });
    }
    for (const copy of copies) this.#drop(copy);
    return states;
  }

  /** The newest states of these objects. */
  current(states: readonly SharedState[]): SharedState[] {
    return states.map(known => {
      const object = this.#objects.get(known.object);
      return object === undefined ? known : { ...known, version: object.version, state: object.state };
    });
  }

  /** The modulator, with the newest states of its shared objects. */
  withNewest(modulator: Modulator): Modulator {
    if (modulator.objects.length === 0) return modulator;
    return { ...modulator, objects: this.current(modulator.objects) };
  }

  use(derived: ObjectReader): void {
    for (const { object } of derived.modulator.objects) this.#objects.get(object)?.users.add(derived);
  }

  release(derived: ObjectReader): void {
    const { objects } = derived.modulator;
    for (const { object } of objects) this.#objects.get(object)?.users.delete(derived);
    this.forgetUnused(objects);
  }

  /**
   * Forgets those of these objects that nobody reads: they were brought with a modulator that was refused, or equals one
   * that reads others.
   */
  forgetUnused(states: readonly SharedState[]): void {
    for (const { object: id } of states) {
      const object = this.#objects.get(id);
      if (object !== undefined) this.#forgetIfUnused(object);
    }
  }

  /** @throws JechoError `OVERLOADED` where a connection would make too many */
  #checkMany(connection: Connection, more: number): void {
    if ((this.#made.get(connection) ?? 0) + more > this.#mostPerConnection) throw this.#tooMany();
  }

  #tooMany(): JechoError {
    return new LimitReached(
      "objectsPerConnection",
      "OVERLOADED",
      `a connection has at most ${this.#mostPerConnection} shared objects`,
    );
  }

  #create(
    id: string,
    master: Connection,
    version: number,
    state: string,
    term?: number,
    terms?: readonly number[],
  ): GatewayObject {
    const object = new GatewayObject(id, master, version, "", term, terms);
    this.#make(object, master, state);
    this.#hold(master, object);
    return object;
  }

  /** An object begins, on account of its maker. @throws JechoError `OVERLOADED` */
  #make(object: GatewayObject, maker: Connection, state: string): void {
    object.state = state;
    maker.keep(ENDPOINT_BYTES);
    this.#objects.set(object.id, object);
    this.#made.set(maker, (this.#made.get(maker) ?? 0) + 1);
  }

  #hold(connection: Connection, object: GatewayObject): void {
    const held = this.#held.get(connection);
    if (held === undefined) this.#held.set(connection, new Set([object]));
    else held.add(object);
    object.holders.add(connection);
  }

  #drop(copy: ObjectCopy): void {
    const { number, connection, object } = copy;
    copy.stop();
    this.#copies.get(connection)?.delete(number);
    this.#byNumber.delete(number);
    connection.keep(-ENDPOINT_BYTES);
    object.leaves(copy);
    this.#forgetIfUnused(object);
  }

  #forgetIfUnused(object: GatewayObject): void {
    if (object.isUsed) return;
    object.stop();
    this.#objects.delete(object.id);
    for (const holder of object.holders) {
      const held = this.#held.get(holder);
      if (held?.delete(object) && held.size === 0) this.#held.delete(holder);
    }
    this.#homes?.unfollow(object.id);
    if (object.maker === undefined) return;
    object.state = "";
    object.maker.keep(-ENDPOINT_BYTES);
    const left = (this.#made.get(object.maker) ?? 0) - 1;
    if (left > 0) this.#made.set(object.maker, left);
    else this.#made.delete(object.maker);
  }

  #copy(connection: Connection, number: number): ObjectCopy {
    const copy = this.#copies.get(connection)?.get(number);
    if (copy === undefined)
      throw new JechoError("ENDPOINT_UNKNOWN", `this connection has no copy ${number} of a shared object`);
    return copy;
  }
}

/** @throws JechoError `OBJECT_INVALID` */
function check(object: string, state: string, ...counts: readonly number[]): void {
  if (object.length === 0 || object.length > 64)
    throw new JechoError("OBJECT_INVALID", "an object's id has 1 to 64 characters");
  // Others have to be able to count further.
  if (counts.some(count => count > MOST_COUNTED))
    throw new JechoError("OBJECT_INVALID", `an object's versions and terms are at most ${MOST_COUNTED}`);
  if (state.length > MAX_STATE_LENGTH)
    throw new JechoError("OBJECT_INVALID", `a state has at most ${MAX_STATE_LENGTH} characters`);
  // Receivers read it without checking it again.
  parseFields(state, "a state");
}

/** @throws JechoError `OBJECT_INVALID` */
function parseFields(text: string, what: string): object {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch (error) {
    throw new JechoError("OBJECT_INVALID", `${what} is no JSON: ${(error as Error).message}`);
  }
  if (typeof fields !== "object" || fields === null || Array.isArray(fields))
    throw new JechoError("OBJECT_INVALID", `${what} is an object with the values of fields`);
  // A number such as 1e999 is read as infinity, which is no plain data.
  for (const name of Object.keys(fields)) {
    const unplain = unplainIn((fields as Record<string, unknown>)[name], `"${name}"`);
    if (unplain !== undefined) throw new JechoError("OBJECT_INVALID", unplain);
  }
  return fields;
}
