import type { SharedReference } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import { type CopyUpdate, type ObjectWrite, unplainIn } from "@jecho/shared/internal";
import type { ControlRequest, PortNotice } from "../places/port.ts";
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

type NewsOf<Is extends ControlRequest["is"]> = Omit<Extract<ControlRequest, { is: Is }>, "endpoint">;

/** A message of a copy: the master's state, or another copy's writes. */
export type ObjectNews = NewsOf<"updateObject"> | NewsOf<"writeObject">;

/** A value that this copy has given a field. */
interface OwnValue {
  readonly value: unknown;
  /** Number of the write that it is on its way to the master with; Infinity for none. */
  write: number;
  /** The version that it came with; Infinity where no known one has it. */
  version: number;
}

const MAX_STATE_LENGTH = 65536;
const NEVER = Number.POSITIVE_INFINITY;

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
  #isMaster: boolean;
  #isOpen = true;
  #isConnected = false;
  /** Values of fields that this copy has given them, until another one has. */
  readonly #own = new Map<string, OwnValue>();
  #nextWrite = 1;
  /** Marks of the terms that the state has come through, and the versions that these began with, as the gateway said it last. */
  #terms: readonly number[] = [];
  /** Writes of other copies that the master has taken. */
  #taken: { readonly copy: number; readonly write: number }[] = [];
  readonly #ready = Promise.withResolvers<void>();
  #pulls: PromiseWithResolvers<void>[] = [];

  /** Made by `session.share` and `session.attach`. */
  constructor(id: string, state: S, version: number, port: ObjectPort) {
    this.id = id;
    this.#port = port;
    this.#version = this.#newest = version;
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
    return this.#by || undefined;
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
    if (!this.#isOpen) throw closed();
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
    } else this.#give(values, NEVER);
    this.#show(state, json);
    this.#listeners.tell(this);
  }

  /**
   * Fetches the newest state, for a lazy copy. On the others, which have it as soon as it is there, resolves at once.
   *
   * @throws JechoError `CONNECTION_LOST`, `CLOSED`
   */
  async pull(): Promise<void> {
    if (!this.#isOpen) throw closed();
    if (this.#newest === this.#version) return;
    if (!this.#isConnected) throw broken();
    const pull = Promise.withResolvers<void>();
    this.#pulls.push(pull);
    if (this.#pulls.length === 1) this.#port.pull(this as unknown as SharedObject);
    return pull.promise;
  }

  /** Lets the copy go. Modulators that read the object keep theirs. */
  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#port.closed(this as unknown as SharedObject);
    this.#isOpen = false;
    this.#ready.reject(closed());
    this.#failPulls(closed());
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
      return { is: "updateObject", version: this.#version, state: this.#json, taken };
    }
    const unsent = this.#pending().filter(([, { write }]) => write === NEVER);
    // Without a connection the write waits, and is sent with those that follow.
    if (unsent.length === 0 || !this.#isConnected) return undefined;
    const write = this.#nextWrite++;
    for (const [, own] of unsent) own.write = write;
    return { is: "writeObject", write, patch: JSON.stringify(valuesOf(unsent)) };
  }

  /** @internal For the session: what the concentrator tells of this copy. */
  notice(notice: PortNotice): void {
    if (!this.#isOpen) return;
    if (notice.is === "object") this.#receive(notice.update);
    else if (notice.is === "written") this.#take(notice.write);
    else if (notice.is === "refused") this.#ready.reject(notice.error);
    else if (notice.is === "interrupted") {
      this.#isConnected = false;
      for (const own of this.#own.values()) own.write = NEVER;
      this.#failPulls(broken());
    }
  }

  #receive({ terms, version, state, master, write, by }: CopyUpdate): void {
    this.#isConnected = true;
    this.#ready.resolve();
    const [before, newest] = [this.#json, this.#newest];
    const isNewTerm = terms.length > 0 && terms[0] !== this.#terms[0];
    if (master && this.#isMaster && !isNewTerm) this.#by = by;
    else {
      const isNews = state !== "" && (isNewTerm || version >= this.#version);
      if (isNews) {
        this.#base = JSON.parse(state) as S;
        // The gateway may have had later versions of the master's meanwhile: none of its further ones is less.
        this.#version = master ? Math.max(version, this.#version) : version;
        this.#by = by;
      }
      this.#newest = master ? this.#version : version;
      const upTo = commonOf(terms, this.#terms);
      for (const [name, own] of this.#own) {
        if (isNews && own.write <= write) {
          own.version = version;
          own.write = NEVER;
        }
        // Values that the former master may not have taken, or that the state lacks, are written again.
        else if (isNewTerm && own.version > upTo) own.version = own.write = NEVER;
        const isReplaced = JSON.stringify(own.value) !== JSON.stringify(this.#base[name as keyof S]);
        if (own.version < NEVER && isReplaced) this.#own.delete(name);
      }
      this.#isMaster = master;
      this.#taken = [];
      const pending = valuesOf(this.#pending());
      this.#show({ ...this.#base, ...pending });
      if (Object.keys(pending).length > 0) {
        if (master) {
          this.#base = this.#state;
          this.#count(pending);
        } else this.#port.changed(this as unknown as SharedObject);
      }
    }
    if (terms.length > 0) this.#terms = terms;
    if (state !== "") for (const { resolve } of this.#pulls.splice(0)) resolve();
    if (this.#json !== before || this.#newest !== newest) this.#listeners.tell(this);
  }

  /** The master counts a version of its own. @param values that this copy has given with it */
  #count(values: object = {}): void {
    this.#newest = ++this.#version;
    this.#give(values, this.#version);
  }

  #give(values: object, version: number): void {
    for (const [name, value] of Object.entries(values)) this.#own.set(name, { value, write: NEVER, version });
    this.#port.changed(this as unknown as SharedObject);
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
    this.#count();
    this.#by = by;
    this.#taken.push({ copy: writer, write });
    this.#show(this.#base);
    if (this.#json !== before) this.#listeners.tell(this);
  }

  /** Values of this copy's own that no version has. */
  #pending(): [name: string, own: OwnValue][] {
    return [...this.#own].filter(([, { version }]) => version === NEVER);
  }

  #show(state: S, json = JSON.stringify(state)): void {
    if (json === this.#json) return;
    this.#json = json;
    this.#state = Object.freeze(state);
  }

  #failPulls(error: JechoError): void {
    for (const { reject } of this.#pulls.splice(0)) reject(error);
  }
}

const closed = (): JechoError => new JechoError("CLOSED", "the shared object was closed");
const broken = (): JechoError => new JechoError("CONNECTION_LOST", "the connection broke");

/** The newest version that two states have both come from, by the terms that they have come through; -1 for none. */
function commonOf(one: readonly number[], other: readonly number[]): number {
  for (let i = 0; i < one.length; i += 2) {
    const j = other.indexOf(one[i] as number);
    if (j >= 0) return Math.min(one[i - 1] ?? NEVER, other[j - 1] ?? NEVER);
  }
  return -1;
}

/** The values by the fields' names, of which `__proto__` is one like any other. */
function valuesOf(own: readonly (readonly [name: string, own: OwnValue])[]): object {
  return Object.fromEntries(own.map(([name, { value }]) => [name, value]));
}

/** The values of fields, each read once, as data of their own. @throws JechoError `OBJECT_INVALID` where one is no plain JSON data */
function plainFields<F extends object>(fields: F, what: string): F {
  const isPlain = Object.prototype.toString.call(fields) === "[object Object]";
  if (!isPlain) throw new JechoError("OBJECT_INVALID", `${what} is an object with the values of fields`);
  const entries = Object.entries(fields);
  for (const entry of entries) {
    const unplain = unplainIn(entry[1], `"${entry[0]}"`);
    if (unplain !== undefined) throw new JechoError("OBJECT_INVALID", unplain);
    // JSON knows no zero with a sign.
    entry[1] = JSON.parse(JSON.stringify(entry[1]));
  }
  return Object.fromEntries(entries) as F;
}

/** @throws JechoError `OBJECT_INVALID` */
function checkLength({ length }: string): void {
  if (length <= MAX_STATE_LENGTH) return;
  const why = `a state has at most ${MAX_STATE_LENGTH} characters, and this would have ${length}`;
  throw new JechoError("OBJECT_INVALID", why);
}
