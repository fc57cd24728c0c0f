import {
  EventsFrame,
  encodeStretches,
  FLAG_URGENT,
  type Offer as Grant,
  inPieces,
  type ObjectUpdate,
  type Passed,
  type Room,
  type Stretch,
} from "@jecho/shared/internal";
import { grantsOf, MOE_OFFERS } from "../../authoring/delegate.ts";
import { Passage, type Provenance } from "../../running/provenance.ts";
import type { Declared } from "../../sandbox/sandbox.ts";
import type { NamedValues, Value } from "../../sandbox/values.ts";
import { type InstallRequest, type ModulatorStats, NO_STATS } from "../tier.ts";
import type { Share } from "./shares.ts";
import type { Batch } from "./work.ts";

/** Far more than a sandbox lets through in one turn. */
const MOST_CALLS = 65_536;

/** Events of a run that pass unchanged, with equal versions and urgency: they become one run of the derived channel. */
interface Passing {
  readonly run: EventsFrame;
  readonly events: Stretch;
  readonly as: Pick<Passed, "urgent" | "parameters" | "versions">;
  readonly stretches: { first: number; end: number }[];
}

/** Most bytes of a run per event besides the event itself: its end offset, and padding. */
const EVENT_BYTES = 12;

/** An order for the host that waits for its modulator's turn. */
export interface Errand {
  /** Position in the order in which all was given. */
  readonly order: number;
  /** @returns false where there is nothing to be sent any more */
  send(order: number): boolean;
}

/** One modulator at the producer's side, with all that is needed to install it again. */
export class HostedModulator {
  readonly derived: number;
  readonly installed: Settlement<Declared>;
  /** Services that the modulator may need, granted or not. */
  readonly grants: readonly Grant[];
  /** The description that the class gives of itself, once installed. */
  declared: Declared | undefined;
  readonly stats: ModulatorStats = { ...NO_STATS };
  /** Times in a row that the host was killed while this one was at work. */
  strikes = 0;
  readonly passage: Passage;
  /** Number of events since the oldest one that waits in the modulator's own queue, that one included; 0 where none waits. */
  waiting = 0;
  ready = true;
  readonly share: Share;
  /** Orders that wait for their turn. */
  readonly errands: Errand[] = [];
  /** Position of its first waiting run among those of its channel; undefined where none waits. */
  place: number | undefined;
  /** Whether a host has been asked to install it. */
  isOrdered = false;
  /** Events a second that it wants at most; 0 for every event. */
  mostPerSecond = 0;
  #request: InstallRequest;
  readonly #room: Room | undefined;
  readonly #context: Map<string, Value>;
  readonly #heard = new Map<string, number>();
  /** Stretches without events that came before the installation was answered: until then nobody knows of it. */
  #early: Provenance[] = [];
  #calls: NamedValues[] = [];
  #runs: EventsFrame[] = [];
  #runBytes = 0;
  /** The turn's newest group, to which more events may be added. */
  #passing: Passing | undefined;

  /**
   * @param share of the host's time
   * @param room for what passes. Default: new
   * @param onSeen called with its provenance
   */
  constructor(
    request: InstallRequest,
    share: Share,
    room: Room | undefined,
    onSeen: (derived: number, of: Provenance) => void,
    onInstalled: (declared: Declared) => void = () => {},
  ) {
    this.share = share;
    this.#room = room;
    this.passage = new Passage(request.derived, onSeen);
    this.installed = new Settlement(onInstalled);
    this.derived = request.derived;
    this.#request = request;
    this.#context = request.context?.size ? new Map(request.context) : new Map();
    this.grants = grantsOf(request.offers ?? MOE_OFFERS, request.modulator);
  }

  /** The newest views of the producer's state. */
  get context(): ReadonlyMap<string, Value> {
    return this.#context;
  }

  /** @returns whether it may read this view */
  setContext(name: string, value: Value): boolean {
    this.#context.set(name, value);
    return this.mayNeed(name);
  }

  /** Whether the modulator may need this; true until it is installed. */
  mayNeed(name: string): boolean {
    return this.declared?.needs.includes(name) ?? true;
  }

  /** Whether this name was granted: a modulator gets nothing else, whatever its sandbox asks for. */
  isGranted(name: string): boolean {
    if (name === "pull") return this.#request.modulator.objects.some(({ lazy }) => lazy);
    return this.grants.some(grant => grant.name === name && grant.granted);
  }

  /** The installation request, with the newest states of its shared objects and all types known so far. */
  get request(): InstallRequest {
    return this.#request;
  }

  /** Newest versions of the objects of which it has lazy copies. */
  get heard(): ReadonlyMap<string, number> {
    return this.#heard;
  }

  /** Notes a further type of its input, for a new host. */
  addType(schema: Uint8Array): void {
    this.#request = { ...this.#request, further: [...(this.#request.further ?? []), schema] };
  }

  /** @returns whether it reads this object and has another version: a gateway that was started again may count from an earlier one */
  update({ object, version, state, derived }: ObjectUpdate): boolean {
    if (derived !== 0 && derived !== this.derived) return false;
    const { modulator } = this.#request;
    let isNews = false;
    const objects = modulator.objects.map(known => {
      if (known.object !== object) return known;
      const isTaken = state !== "" && (!known.lazy || derived !== 0);
      if (!isTaken && known.lazy) {
        this.#heard.set(object, version);
        isNews = true;
      }
      if (!isTaken || (known.version === version && known.state === state)) return known;
      isNews = true;
      return { ...known, version, state };
    });
    this.#request = { ...this.#request, modulator: { ...modulator, objects } };
    return isNews;
  }

  /** Keeps a run until its turn is over, so that a turn counts as a whole or not at all. @returns false beyond the limit */
  collect(run: EventsFrame, limitBytes: number): boolean {
    this.#closePassing();
    this.#runs.push(run);
    this.#runBytes += run.end - run.start;
    return this.#runBytes <= limitBytes;
  }

  /** Keeps events of a run that pass as they came in, as runs are kept. @returns false beyond the limit */
  pass(run: EventsFrame, first: number, end: number, as: Passing["as"], limitBytes: number): boolean {
    if (this.#passing?.run !== run || !isAlike(this.#passing.as, as)) {
      this.#closePassing();
      this.#passing = { run, events: run.stretch(), as, stretches: [] };
    }
    const { stretches } = this.#passing;
    const last = stretches.at(-1);
    if (last?.end === first) last.end = end;
    else stretches.push({ first, end });
    this.#runBytes += run.eventEnd(end - 1) - run.eventStart(first) + EVENT_BYTES * (end - first);
    return this.#runBytes <= limitBytes;
  }

  #closePassing(): void {
    if (this.#passing === undefined) return;
    const { run, events, as, stretches } = this.#passing;
    this.#passing = undefined;
    const header = {
      channel: this.derived,
      producer: run.producer,
      raised: 0,
      token: run.token,
      parameters: as.parameters,
      flags: as.urgent ? run.flags | FLAG_URGENT : run.flags,
      versions: as.versions.length === 0 ? undefined : [...as.versions],
    };
    const parts = stretches.map(stretch => ({ ...events, ...stretch }));
    this.#runs.push(EventsFrame.at(encodeStretches(header, parts, this.#room)));
  }

  /** Keeps a call until the turn is over. @returns false where the service was not granted */
  collectCalls(calls: readonly NamedValues[]): boolean {
    this.#calls.push(...calls);
    return this.#calls.length <= MOST_CALLS && calls.every(({ name }) => this.isGranted(name));
  }

  /** The calls of the turn. */
  deliverCalls(): readonly NamedValues[] {
    const calls = this.#calls;
    this.#calls = [];
    return calls;
  }

  /** The runs of the turn, with counts that go on when a host is replaced. */
  deliver(): readonly EventsFrame[] {
    this.#closePassing();
    const runs = inPieces(this.#runs);
    for (const run of runs) {
      run.recount(this.stats.eventsOut);
      this.stats.eventsOut += run.count;
      this.stats.bytesOut += run.end - run.start;
    }
    this.#runs = [];
    this.#runBytes = 0;
    return runs;
  }

  /** A turn has ended. @param batch the turn's events; undefined for a turn without */
  turned(batch: Batch | undefined, waiting: number): void {
    this.waiting = waiting;
    this.passage.turned(batch?.of, batch?.run.count ?? 0, waiting);
  }

  /** A stretch without events, behind all that it was given. */
  passes(of: Provenance): void {
    if (this.installed.isSettled) this.passage.turned(of, 0, this.waiting);
    else this.#early.push(of);
  }

  /** The host has installed the modulator. */
  answered(declared: Declared): void {
    this.declared = declared;
    this.installed.resolve(declared);
    for (const of of this.#early.splice(0)) this.passes(of);
  }

  /** The stretches without events behind a turn's: its output goes before them, for behind a gap they do not account for it. */
  passed(batch: Batch | undefined): void {
    for (const of of batch?.passed ?? []) this.passes(of);
  }

  /** Called when the host has died: what waited with it is lost. */
  discard(): void {
    this.passage.lost();
    this.waiting = 0;
    this.share.turns = 0;
    this.#passing = undefined;
    this.#runs = [];
    this.#runBytes = 0;
    this.#calls = [];
  }
}

/** Urgent events come alone. */
function isAlike(a: Passing["as"], b: Passing["as"]): boolean {
  if (a.urgent || b.urgent || a.parameters !== b.parameters) return false;
  return (
    a.versions.length === b.versions.length && a.versions.every((version, i) => version === b.versions[i])
  );
}

/** A promise that is settled from outside, once. */
class Settlement<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
  isSettled = false;

  /** @param onResolved called synchronously, before those who wait for the promise go on */
  constructor(onResolved: (value: T) => void) {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.promise = promise;
    // A rejection that nobody waits for is no error.
    promise.catch(() => {});
    this.resolve = value => {
      if (!this.isSettled) onResolved(value);
      this.isSettled = true;
      resolve(value);
    };
    this.reject = reason => {
      if (this.isSettled) return;
      this.isSettled = true;
      reject(reason);
    };
  }
}
