import type { SharedReference } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import { type CopyUpdate, type ObjectWrite, unplainIn } from "@jecho/shared/internal";
import type { PortNotice } from "../places/port.ts";
import { NewsListeners } from "../session/status.ts";

/** The part of a session that a copy uses. */
export interface ObjectPort {
  /** The copy has something to send by the end of the turn. */
  changed(object: SharedObject): void;
  pull(object: SharedObject): void;
  closed(object: SharedObject): void;
  /** The subject of the session's token; undefined where it has none. */
  subject(): string | undefined;
  /** The identity of the session's gateway; undefined before there was a connection. */
  gateway(): string | undefined;
}

/** A message of a copy: the master's state, or another copy's writes. */
export type ObjectNews =
  | { readonly version: number; readonly state: string; readonly taken: readonly Taken[] }
  | { readonly write: number; readonly patch: string };

/** A write of another copy that the master has taken. */
interface Taken {
  readonly copy: number;
  readonly write: number;
}

interface Write {
  readonly write: number;
  readonly patch: object;
}

const MAX_STATE_LENGTH = 65536;

/**
 * Parameters shared between applications and their modulators. Of each object's copies one is the master, which numbers the
 * versions; modulators have copies too, prompt ones unless their consumer calls them lazy. An application may change its copy,
 * whichever it is: the master takes changes in the order in which they reach it, field by field, so the last writer of a field wins.
 */
export class SharedObject<S extends object = object> implements SharedReference {
  /** Names this object everywhere: whoever knows it can read and change the object. */
  readonly id: string;
  readonly #port: ObjectPort;
  readonly #listeners = new NewsListeners<this>();
  /** The state as the master has it; this copy's own changes that are under way come on top. */
  #base: S;
  #state: Readonly<S>;
  #json: string;
  #version: number;
  #newest: number;
  #by: string | undefined;
  #term = 0;
  #isMaster: boolean;
  #isOpen = true;
  #isConnected = false;
  /** Writes of this copy that the master has not taken. */
  #writes: Write[] = [];
  #nextWrite = 1;
  /** Changes that are still to be sent. */
  #unsent: Partial<S> | undefined;
  /** Fields whose value this copy has given them, and the version that they came with. */
  readonly #own = new Map<string, number>();
  /** The version that this copy had when its connection ended last. */
  #connectedTo: number;
  #taken: Taken[] = [];
  readonly #ready = Promise.withResolvers<void>();
  #pulls: { resolve: () => void; reject: (error: JechoError) => void }[] = [];

  /** Made by `session.share` and `session.attach`. */
  constructor(id: string, state: S, version: number, port: ObjectPort) {
    this.id = id;
    this.#port = port;
    this.#version = version;
    this.#newest = version;
    this.#connectedTo = version;
    this.#isMaster = version > 0;
    this.#state = Object.freeze(plainFields(state, "a state"));
    this.#json = JSON.stringify(this.#state);
    checkLength(this.#json);
    this.#base = this.#state;
    // An application that never asks need not handle its failure.
    this.#ready.promise.catch(() => {});
  }

  /** The newest state that this copy knows, with its own changes; it is never changed, only replaced. */
  get state(): Readonly<S> {
    return this.#state;
  }

  /** Counts the updates; derived events say with which version they were made. */
  get version(): number {
    return this.#version;
  }

  /**
   * The subject that made this version, by the master's word for whose change it took last; undefined where the gateway knows no users, and before it knows the object.
   */
  get by(): string | undefined {
    return this.#by;
  }

  /** The newest version that there is, as far as this copy has heard: on a lazy one it may be ahead of `version`. */
  get newestVersion(): number {
    return this.#newest;
  }

  /**
   * Whether this is the master copy. The first sharer's copy is the master until its connection ends; then
   * the copy attached first.
   */
  get isMaster(): boolean {
    return this.#isMaster;
  }

  /**
   * Resolves when the gateway knows the object, so that others can attach to it.
   *
   * @throws JechoError `OVERLOADED` with too many shared objects in one session, what ended the connection, `CLOSED`
   */
  ready(): Promise<void> {
    return this.#ready.promise;
  }

  /**
   * Calls back when the state has changed, here or elsewhere, and when there is a newer version; returns what stops that. In React:
   *
   * ```ts
   * const state = useSyncExternalStore(changed => object.onChange(changed), () => object.state);
   * ```
   */
  onChange(listener: (object: this) => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Replaces some of the state and publishes it: shown here at once, elsewhere as soon as the master has taken it. What does
   * not change costs nothing.
   *
   * @param patch values of some fields, as they are now: what is changed inside of them later is not part of it
   * @throws JechoError `OBJECT_INVALID` where the new state is not plain JSON data, or has more than 65,536 characters, `CLOSED`
   */
  update(patch: Partial<S>): void {
    if (!this.#isOpen) throw new JechoError("CLOSED", "the shared object was closed");
    // Before anything else is looked at: to read it may run the application's code, which may change the object.
    const values = plainFields(patch, "an update");
    const state = { ...this.#state, ...values };
    const json = JSON.stringify(state);
    if (json === this.#json) return;
    checkLength(json);
    if (this.#isMaster) {
      this.#base = state;
      this.#count(values);
      this.#by = this.#port.subject();
    } else this.#unsent = { ...this.#unsent, ...values };
    this.#show(state, json);
    this.#port.changed(this as unknown as SharedObject);
    this.#listeners.tell(this);
  }

  /**
   * Fetches the newest state, for a lazy copy. On the others, which have it as soon as it is there, resolves at once.
   *
   * @throws JechoError `CONNECTION_LOST`, `CLOSED`
   */
  pull(): Promise<void> {
    if (!this.#isOpen) return Promise.reject(new JechoError("CLOSED", "the shared object was closed"));
    if (this.#newest === this.#version) return Promise.resolve();
    if (!this.#isConnected)
      return Promise.reject(new JechoError("CONNECTION_LOST", "the connection broke before the answer came"));
    return new Promise((resolve, reject) => {
      this.#pulls.push({ resolve, reject });
      if (this.#pulls.length === 1) this.#port.pull(this as unknown as SharedObject);
    });
  }

  /** Lets the copy go. Modulators that read the object keep theirs. */
  close(): Promise<void> {
    if (this.#isOpen) {
      this.#port.closed(this as unknown as SharedObject);
      this.#isOpen = false;
      this.#ready.reject(new JechoError("CLOSED", "the shared object was closed"));
      this.#failPulls(new JechoError("CLOSED", "the shared object was closed"));
    }
    return Promise.resolve();
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** @internal Identity of the gateway that it is shared at; undefined before there was a connection. */
  get gateway(): string | undefined {
    return this.#port.gateway();
  }

  /** @internal For the session: the message to send, if there is one. */
  takeNews(): ObjectNews | undefined {
    if (this.#isMaster) {
      const taken = this.#taken;
      this.#taken = [];
      // Most often the master's shown state is the one that it has.
      const state = this.#base === this.#state ? this.#json : JSON.stringify(this.#base);
      return { version: this.#version, state, taken };
    }
    const patch = this.#unsent;
    // Without a connection the write waits, and is sent with those that follow.
    if (patch === undefined || !this.#isConnected) return undefined;
    this.#unsent = undefined;
    const write = this.#nextWrite++;
    this.#writes.push({ write, patch });
    return { write, patch: JSON.stringify(patch) };
  }

  /** @internal For the session: what the concentrator tells of this copy. */
  notice(notice: PortNotice): void {
    if (!this.#isOpen) return;
    if (notice.is === "object") this.#receive(notice.update);
    else if (notice.is === "written") this.#take(notice.write);
    else if (notice.is === "refused") this.#ready.reject(notice.error);
    else if (notice.is === "interrupted") {
      if (this.#isConnected) this.#connectedTo = this.#version;
      this.#isConnected = false;
      this.#writeAgain();
      this.#failPulls(new JechoError("CONNECTION_LOST", "the connection broke before the answer came"));
    }
  }

  #receive(update: CopyUpdate): void {
    const { term, version, state, master } = update;
    if (term < this.#term) return;
    this.#isConnected = true;
    this.#ready.resolve();
    const [before, newest] = [this.#json, this.#newest];
    const isNewTerm = term > this.#term;
    const lacking = isNewTerm ? this.#lackingIn(update) : {};
    this.#term = term;
    if (master && this.#isMaster) this.#countFrom(update);
    else {
      if (master || (state !== "" && (isNewTerm || version >= this.#version))) this.#replace(update);
      if (isNewTerm) this.#writeAgain(lacking);
      this.#newest = version;
      this.#isMaster = master;
      this.#taken = [];
      if (master) this.#takeOwn();
      if (this.#unsent !== undefined) this.#port.changed(this as unknown as SharedObject);
      this.#showAll();
    }
    if (state !== "") for (const { resolve } of this.#pulls.splice(0)) resolve();
    if (this.#json !== before || this.#newest !== newest) this.#listeners.tell(this);
  }

  /** What this copy changed and the state of a new term lacks: changes behind the version that the state has of the copy's former term. */
  #lackingIn({ term, terms }: CopyUpdate): Partial<S> {
    const known = this.#term === 0 ? undefined : terms[term - this.#term - 1];
    const upTo = known ?? this.#connectedTo;
    const names = [...this.#own].filter(([, version]) => version > upTo).map(([name]) => name as keyof S);
    return Object.fromEntries(names.map(name => [name, this.#base[name]])) as Partial<S>;
  }

  /** Takes the state of another copy. */
  #replace({ version, state, write, by }: CopyUpdate): void {
    const before = this.#base;
    if (state !== "") this.#base = JSON.parse(state) as S;
    const isAs = (values: Partial<S>, name: string): boolean =>
      JSON.stringify(values[name as keyof S]) === JSON.stringify(this.#base[name as keyof S]);
    for (const name of this.#own.keys()) if (!isAs(before, name)) this.#own.delete(name);
    for (const { write: own, patch } of this.#writes)
      for (const name of own > write ? [] : Object.keys(patch))
        if (isAs(patch, name)) this.#own.set(name, version);
    this.#writes = this.#writes.filter(own => own.write > write);
    this.#version = version;
    this.#by = by || undefined;
  }

  /** This copy becomes the master, which takes what it has written itself. */
  #takeOwn(): void {
    const own = this.#unsent;
    this.#unsent = undefined;
    if (own === undefined) return;
    this.#base = { ...this.#base, ...own };
    this.#count(own);
    this.#port.changed(this as unknown as SharedObject);
  }

  /** This copy stays the master: the gateway may have counted further, of another copy's versions. */
  #countFrom({ version, state, by }: CopyUpdate): void {
    if (version === this.#version) this.#by = by || undefined;
    if (version <= this.#version) return;
    this.#version = version;
    this.#newest = version;
    if (JSON.stringify(this.#base) === state) return;
    this.#count({});
    this.#port.changed(this as unknown as SharedObject);
  }

  /** Counts a new version. @param values of this copy's own that it brings */
  #count(values: Partial<S>): void {
    this.#version++;
    this.#newest = this.#version;
    for (const name of Object.keys(values)) this.#own.set(name, this.#version);
  }

  /** For the master: another copy's write. It counts as an update even where it changes nothing, so that its writer hears of it. */
  #take({ writer, write, patch, by }: ObjectWrite): void {
    // Its writer hears of the new master, and writes again.
    if (!this.#isMaster) return;
    const values = JSON.parse(patch) as Partial<S>;
    const state = { ...this.#base, ...values };
    const before = this.#json;
    // A write that would make the state too large counts as no change, which corrects its writer.
    if (JSON.stringify(state).length <= MAX_STATE_LENGTH) {
      this.#base = state;
      for (const name of Object.keys(values)) this.#own.delete(name);
    }
    this.#count({});
    this.#by = by || undefined;
    this.#taken.push({ copy: writer, write });
    this.#showAll();
    this.#port.changed(this as unknown as SharedObject);
    if (this.#json !== before) this.#listeners.tell(this);
  }

  /** Has all changes sent again, as one write, that the master may not have taken. @param lacking those that it has lost */
  #writeAgain(lacking: Partial<S> = {}): void {
    const again = merged<Partial<S>>([lacking, ...this.#writes.map(({ patch }) => patch), this.#unsent]);
    this.#writes = [];
    this.#unsent = Object.keys(again).length === 0 ? undefined : again;
  }

  #showAll(): void {
    const state = merged<S>([this.#base, ...this.#writes.map(({ patch }) => patch), this.#unsent]);
    const json = JSON.stringify(state);
    if (json !== this.#json) this.#show(state, json);
  }

  #show(state: S, json: string): void {
    this.#json = json;
    this.#state = Object.freeze(state);
  }

  #failPulls(error: JechoError): void {
    for (const { reject } of this.#pulls.splice(0)) reject(error);
  }
}

/** All fields of these; the later ones count. As assigning them would, but for one named `__proto__`, which is a field like any other. */
function merged<F extends object>(parts: readonly (object | undefined)[]): F {
  return Object.fromEntries(parts.flatMap(part => Object.entries(part ?? {}))) as F;
}

/** The values of fields, each read once, as data of their own. @throws JechoError `OBJECT_INVALID` where one is no plain JSON data */
function plainFields<F extends object>(fields: F, what: string): F {
  const isPlain = Object.prototype.toString.call(fields) === "[object Object]";
  if (!isPlain) throw new JechoError("OBJECT_INVALID", `${what} is an object with the values of fields`);
  const entries = Object.entries(fields);
  for (const entry of entries) {
    const value: unknown = entry[1];
    if (typeof value === "string") continue;
    const unplain = unplainIn(value, `"${entry[0]}"`);
    if (unplain !== undefined) throw new JechoError("OBJECT_INVALID", unplain);
    if (typeof value === "object") entry[1] = JSON.parse(JSON.stringify(value));
    // JSON knows no zero with a sign.
    else if (value === 0) entry[1] = 0;
  }
  return Object.fromEntries(entries) as F;
}

/** @throws JechoError `OBJECT_INVALID` */
function checkLength({ length }: string): void {
  if (length <= MAX_STATE_LENGTH) return;
  const why = `a state has at most ${MAX_STATE_LENGTH} characters, and this would have ${length}`;
  throw new JechoError("OBJECT_INVALID", why);
}
