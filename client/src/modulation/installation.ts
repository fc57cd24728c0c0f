import type { Json } from "@jecho/modulators";
import type { Declared } from "@jecho/modulators/internal";
import type { Instead, Modulator, ObjectUpdate, SharedState } from "@jecho/shared/internal";
import type { ConsumerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { Lanes } from "../concentrator/outgoing/lane.ts";

/** A shared object as a modulator has it. */
export class ObjectRead {
  readonly name: string;
  readonly lazy: boolean;
  #version: number;
  #json: string;
  #state: Json | undefined;

  constructor({ name, version, state, lazy }: SharedState) {
    this.name = name;
    this.lazy = lazy;
    this.#version = version;
    this.#json = state;
  }

  /** Whether this is what it has. The order is the gateway's: one that was started again may count from an earlier version. */
  is(version: number, json: string): boolean {
    return version === this.#version && json === this.#json;
  }

  /** Parsed on first use: most states are replaced before that. */
  get state(): Json {
    this.#state ??= JSON.parse(this.#json) as Json;
    return this.#state;
  }

  /** @param json the newer state */
  advance(version: number, json: string): void {
    this.#version = version;
    this.#json = json;
    this.#state = undefined;
  }
}

/** A modulator that runs here. It outlives a connection, for its consumers come back. */
export interface Installation {
  /** Its number at the modulator host. */
  readonly hosted: number;
  /** The base channel's name. */
  readonly base: string;
  /** Name of its input's origin, whatever feed it comes by. A returning request finds the installation by it. */
  source: string;
  /** Name of its input: the base channel, or another modulator's output together with what producers publish there. */
  readonly feed: string;
  /** The host's number of that input. */
  readonly input: number;
  /** Name of its output, for modulators behind it. It cannot be a channel's name. */
  readonly makes: string;
  /** Name of its feed over the wire; "" for none. */
  wire: string;
  readonly modulator: Modulator;
  /** The subject that brought it; "" at a gateway without keys. */
  readonly by: string;
  readonly parameters: Json;
  readonly needs: readonly string[];
  /** Schema that it declared for its output; empty where that has the input's type. */
  readonly schema: Uint8Array;
  /** Schema that it declared for its input; empty where it takes any. */
  readonly reads: Uint8Array;
  /** Schema of its output. */
  readonly made: Uint8Array;
  /** Shared objects that it reads, by their ids. */
  readonly objects: Map<string, ObjectRead>;
  /** Shared objects that it has pulled, whose newest state has not come yet. */
  readonly pulled: Set<string>;
  /** The lanes of its output, by raw source. */
  readonly lanes: Map<bigint, Lanes>;
  /** Random number, new with each restart: the sources of its output begin with it. */
  incarnation: number;
  /** Lanes of earlier incarnations with something still to be sent. */
  former: Lanes[];
  /** Number of the producing process in whose stead it runs; 0 for this process. */
  readonly process: number;
  /** The only consumer of its output, where it makes that consumer's past; undefined for a derived channel. */
  readonly only: ConsumerEndpoint | undefined;
  /** Whether the modulator's output is for the consumers of this process alone. */
  readonly own: boolean;
  /** Numbers of that process's producers at the present connection, at the time of the request. */
  producers: readonly number[];
  /** The derived channel's number at the present connection; 0 while there is none. */
  number: number;
  /** The number at the last connection. */
  lastNumber: number;
  /** Whether it is to be removed once it has finished the events under way. */
  leaves: boolean;
  /** Removes it if the process in whose stead it runs does not come back, or nobody asks for it at another connection. */
  leaving: ReturnType<typeof setTimeout> | undefined;
  /** Number of remote consumers. */
  elsewhere: number;
  /** Whether the gateway has told their number. Output made before that, of a past with which its feed began, is kept for coming consumers. */
  isTold: boolean;
  /** Number of remote consumers that are not listening yet: coming ones, and modulators behind it without consumers. */
  unheard: number;
  /** Number of the newest request for it at the present connection; 0 for none. */
  request: number;
  /** The newest request, where it is fed over the wire: pending until that is answered; rejected with why it has ended. */
  opening: PromiseWithResolvers<never> | undefined;
}

type Placed = Pick<
  Installation,
  "by" | "hosted" | "base" | "source" | "feed" | "input" | "wire" | "opening" | "number" | "request"
>;

const NONE = new Uint8Array(0);

/** @param given schema of its input */
export function newInstallation(
  modulator: Modulator,
  instead: Pick<Instead, "process" | "own" | "producers"> | undefined,
  placed: Placed,
  { needs, schema = NONE, reads = NONE }: Declared,
  given: Uint8Array = NONE,
  only?: ConsumerEndpoint,
): Installation {
  const { process, own, producers } = instead ?? { process: 0, own: false, producers: [] };
  return {
    ...placed,
    needs,
    schema,
    reads,
    made: schema.byteLength > 0 ? schema : given,
    makes: `${placed.base}#${placed.hosted}`,
    process,
    only,
    own,
    producers,
    modulator,
    parameters: JSON.parse(modulator.parameters || "null") as Json,
    objects: new Map(modulator.objects.map(known => [known.object, new ObjectRead(known)])),
    pulled: new Set(),
    lanes: new Map(),
    incarnation: newIncarnation(),
    former: [],
    lastNumber: placed.number,
    leaves: false,
    leaving: undefined,
    // Whoever asked for it may want its output before the gateway tells the demand.
    elsewhere: process === 0 ? 1 : 0,
    isTold: process === 0 || own,
    unheard: process === 0 ? 1 : 0,
  };
}

/** Random, and not 0. */
export function newIncarnation(): number {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return random || 1;
}

/** A pending opening. A rejection that nobody waits for is no error. */
export function newOpening(): PromiseWithResolvers<never> {
  const opening = Promise.withResolvers<never>();
  opening.promise.catch(() => {});
  return opening;
}

/** Whether nobody has asked for it at the present connection, or its producing process may still come back. */
export function isApart({ number, leaves, leaving }: Installation): boolean {
  return number === 0 || (leaves && leaving !== undefined);
}

/** Forgets the installation's numbers, which are those of the broken connection, except its last one. */
export function leaveConnection(installation: Installation): void {
  if (installation.number !== 0) installation.lastNumber = installation.number;
  installation.number = 0;
  // A feed that was being opened ends with the connection; the modulator stays.
  installation.opening = undefined;
  for (const lanes of [...installation.lanes.values(), ...installation.former]) lanes.address(0, 0);
  // Its output waits until the gateway tells the demand.
  installation.isTold = installation.own;
  if (installation.process !== 0) installation.elsewhere = 0;
  installation.pulled.clear();
}

/** Whether two modulators are identical, with the same shared objects. */
export function isSame(a: Modulator, b: Modulator): boolean {
  const objects = ({ objects }: Modulator): string =>
    JSON.stringify(objects.map(({ name, object }) => [name, object]));
  if (a.source !== b.source || a.key !== b.key || (a.key === "" && a.parameters !== b.parameters))
    return false;
  return objects(a) === objects(b);
}

/** The modulator with the states that these updates bring. Lazy copies have what they have pulled. */
export function withStates(modulator: Modulator, updates: ReadonlyMap<string, ObjectUpdate>): Modulator {
  if (updates.size === 0) return modulator;
  const objects = modulator.objects.map(one => {
    const { version = one.version, state = one.state } = updates.get(`${one.object} false`) ?? {};
    return one.lazy ? one : { ...one, version, state };
  });
  return { ...modulator, objects };
}
