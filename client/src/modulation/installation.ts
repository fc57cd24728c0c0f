import type { Json } from "@jecho/modulators";
import type { Instead, Modulator, SharedState } from "@jecho/shared/internal";
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

  get version(): number {
    return this.#version;
  }

  /** Read when somebody asks: most states are followed by another one before that. */
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

/** A modulator that runs here. It outlives a connection: its consumers come back and want what it goes on with. */
export interface Installation {
  /** Its number at the modulator host. */
  readonly hosted: number;
  /** The base channel's name. */
  readonly base: string;
  /** Names what it is made of, whichever feed that comes by: it is taken up again by this. */
  source: string;
  /** Name of its input: the base channel, or what another modulator makes, and what producers publish there. */
  readonly feed: string;
  /** The number that the host knows that by. */
  readonly input: number;
  /** Name of its output, for those that are behind it. No channel's name looks like that. */
  readonly makes: string;
  /** Name of the part of its input that comes over the wire; "" for none. */
  wire: string;
  readonly modulator: Modulator;
  /** The subject that brought it; "" at a gateway without keys. */
  readonly by: string;
  readonly parameters: Json;
  readonly needs: readonly string[];
  /** Schema that it declared; empty where its events have the type of its input. */
  readonly schema: Uint8Array;
  /** Schema of the type that it was written for; empty where it takes any. */
  readonly reads: Uint8Array;
  /** Schema of its events. */
  readonly made: Uint8Array;
  /** Shared objects that it reads, by their ids. */
  readonly objects: Map<string, ObjectRead>;
  /** Shared objects that it has pulled, and whose newest state is on its way. */
  readonly pulled: Set<string>;
  /** The counts of its output of each raw source's events, by that source. */
  readonly lanes: Map<bigint, Lanes>;
  /** Random number of its present state: the sources of its output begin with it. */
  incarnation: number;
  /** The counts of an incarnation before, of which something is still to be sent. */
  former: Lanes[];
  /** The producing process that it runs here in the stead of; 0 for none. Nothing here is of that process, but by its feed. */
  readonly process: number;
  /** The consumer that its output is for alone, which makes its past; undefined where that is a derived channel's. */
  readonly only: ConsumerEndpoint | undefined;
  /** Whether the modulator's output is for the consumers of this process alone. */
  readonly own: boolean;
  /** Numbers of that process' producers at the present connection, when it was asked for there. */
  producers: readonly number[];
  /** The derived channel's number at the present connection; 0 while there is none. */
  number: number;
  /** The number at the last connection. */
  lastNumber: number;
  /** Whether the modulator is to be removed when it has seen the events that are under way. */
  leaves: boolean;
  /** Removes it where the process that it runs in the stead of does not come back. */
  leaving: ReturnType<typeof setTimeout> | undefined;
  /** Number of remote consumers. */
  elsewhere: number;
  /** Whether the gateway has said how many those are. Output made before, of a past that its feed began with, is for consumers to come. */
  isTold: boolean;
  /** Number of those remote consumers that are none yet: a consumer to be, or a modulator behind it without any. */
  unheard: number;
  /** Pending until it is fed over the wire, and its installation is answered: rejected with why it has ended. */
  opening: PromiseWithResolvers<never> | undefined;
}

type Placed = Pick<
  Installation,
  | "by"
  | "hosted"
  | "base"
  | "source"
  | "feed"
  | "input"
  | "wire"
  | "needs"
  | "schema"
  | "reads"
  | "made"
  | "number"
>;

export function newInstallation(
  modulator: Modulator,
  instead: Pick<Instead, "process" | "own" | "producers"> | undefined,
  placed: Placed,
  only?: ConsumerEndpoint,
): Installation {
  const { process, own, producers } = instead ?? { process: 0, own: false, producers: [] };
  return {
    ...placed,
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
    // Somebody has asked for it, and may have events before the gateway says how many want them.
    elsewhere: process === 0 ? 1 : 0,
    isTold: process === 0 || own,
    unheard: process === 0 ? 1 : 0,
    opening: placed.wire === "" ? undefined : newOpening(),
  };
}

/** Random, and not 0. */
export function newIncarnation(): number {
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  return random || 1;
}

/** An opening that nobody need wait for: its rejection is no error. */
export function newOpening(): PromiseWithResolvers<never> {
  const opening = Promise.withResolvers<never>();
  opening.promise.catch(() => {});
  return opening;
}

/** Forgets the installation's numbers, which mean nothing at another connection, save to those who knew its own. */
export function leaveConnection(installation: Installation): void {
  if (installation.number !== 0) installation.lastNumber = installation.number;
  installation.number = 0;
  for (const lanes of [...installation.lanes.values(), ...installation.former]) lanes.address(0, 0);
  // What it makes waits until the gateway says who wants it.
  installation.isTold = installation.own;
  if (installation.process !== 0) installation.elsewhere = 0;
  installation.pulled.clear();
}

/** Whether two modulators are the very same, with the same shared objects. */
export function isSame(a: Modulator, b: Modulator): boolean {
  const objects = ({ objects }: Modulator): string =>
    JSON.stringify(objects.map(({ name, object }) => [name, object]));
  if (a.source !== b.source || a.key !== b.key || (a.key === "" && a.parameters !== b.parameters))
    return false;
  return objects(a) === objects(b);
}
