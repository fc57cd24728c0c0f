import type { JechoError } from "@jecho/shared";
import type { EventsFrame, ObjectUpdate, Room } from "@jecho/shared/internal";
import type { Offer } from "../authoring/delegate.ts";
import type { ModulatorTable } from "../authoring/modulator.ts";
import type { Provenance } from "../running/provenance.ts";
import type { Declared } from "../sandbox/sandbox.ts";
import type { Value } from "../sandbox/values.ts";
import type { LentRun } from "./lent-run.ts";

/** A request to install a modulator. */
export interface InstallRequest {
  /** Number of the derived channel. */
  readonly derived: number;
  /** Number of the base channel. */
  readonly channel: number;
  /** Schema (.bfbs) of the base channel's events; undefined where they are opaque bytes. Output before the first event has this type. */
  readonly schema: Uint8Array | undefined;
  /** Schemas of others that its producers write, too. */
  readonly further?: readonly Uint8Array[];
  readonly modulator: ModulatorTable;
  /** The producer's offers. Default: those of every MOE. */
  readonly offers?: readonly Offer[];
  /** The present values of the views that it offers, by the names that modulators need them under. */
  readonly context?: ReadonlyMap<string, Value>;
  /** Number of shared objects that the modulators before this one read. Default: 0. */
  readonly behind?: number;
  /** Subject that brought it; "", the default, where that has no name. */
  readonly by?: string;
  /** Whether the modulator runs in another process' stead, where `ModulatorOptions.allow` does not concern it. Default: false. */
  readonly isInstead?: boolean;
}

/** A newer state of a shared object, or, without one, that there is such a version. */
export interface StateUpdate extends Omit<ObjectUpdate, "kind" | "derived"> {
  /** The modulator that has pulled it; by default it is for all. */
  readonly derived?: number;
}

/** Counts since the installation. */
export interface ModulatorStats {
  eventsIn: number;
  eventsOut: number;
  bytesOut: number;
  /** Processor time; 0 in the producer's thread, where it is the producer's own. */
  cpuMs: number;
  /** Events that fell out of a full queue, before the modulator or in it, or that it cannot read. */
  dropped: number;
  /** Times that the modulator began anew, without the state that it had. */
  restarts: number;
}

/** A tier's listener. One that throws harms nobody but its own program. */
export interface TierEvents {
  /** Memory for runs that are handed out. Default: new memory. */
  readonly room?: Room;
  /** Runs the act that hands out all that a modulator made in one turn, to go out together or not at all. Default: one by one. */
  readonly together?: ((act: () => void) => void) | undefined;
  /**
   * A run of events of a derived channel, alone in memory of its own or of `room`, and the tag of the run that it was made of.
   *
   * @param isLast whether no other run of the same turn is of the same producer and urgency; false for all of a turn that does not end
   */
  onEvents(run: EventsFrame, derived: number, tag: string | undefined, isLast: boolean): void;
  /** A modulator has been through a stretch, and nothing of it waits in its queue. What the turn made comes next. */
  onSeen?(derived: number, of: Provenance): void;
  /** Modulators have been through something that `onSeen` was not told of: `tellSeen` says it. */
  onUnseen?(): void;
  /**
   * Told before and after the runs that a turn without events has made, at a period's end or for what waited: they may be of any stretch so far.
   * What is said of those before the runs cannot be lost behind them.
   */
  onGathered?(derived: number): void;
  /** Every modulator has seen the run with this tag to its end, or is gone; their output has been handed out. */
  onDone?(tag: string): void;
  /** A modulator called a control, logged a line (`log`), or pulls an object that it calls so (`pull`); it was granted that. */
  onCall?(derived: number, name: string, values: readonly Value[]): void;
  /** A modulator wants another rate than before (`mostPerSecond`). */
  onRate?(derived: number): void;
  /** A modulator broke a limit or failed, and is gone. */
  onRemoved(derived: number, error: JechoError): void;
  /** A modulator goes on in another tier than it was installed in. */
  onTier?(derived: number, placement: TierPlacement): void;
  /** The host died and a new one has begun, with the modulators that remain. */
  onRestart?(): void;
  /**
   * A modulator goes on, but it began anew, without the state that it had (`MODULATOR_RESTARTED` with the reason), or cannot read what
   * a producer writes (`TYPE_MISMATCH`): that is told once, and those events are dropped.
   */
  onImpaired?(derived: number, why: JechoError): void;
}

/**
 * A place where modulators run. No call waits for a modulator, except in the local tier, whose modulators run
 * in the producer's thread while `enqueue` is called.
 */
export interface Tier extends AsyncDisposable {
  /**
   * Installs a modulator on a base channel.
   *
   * @param onInstalled called with what is returned, before it is told what the modulator makes or that it is removed
   * @returns the schema of the derived channel's events, if the modulator declares one of its own, what it was written for, and what it needs
   * @throws JechoError `MODULATOR_INVALID`, `MODULATOR_TOO_LARGE`, `PARAMETERS_INVALID`, `SERVICE_MISSING`, `SERVICE_NOT_GRANTED`,
   * `DELEGATE_FAILED`, `MODULATOR_FAILED`, `MODULATOR_TIMED_OUT`, `MODULATOR_OUT_OF_MEMORY`, `MODULATORS_NOT_SERVED`, `MODULATOR_HOST_FAILED`, `CLOSED`
   */
  install(request: InstallRequest, onInstalled?: (declared: Declared) => void): Promise<Declared>;

  /** Tells of a further type of a base channel's events, before the first run of it. */
  addType(channel: number, schema: Uint8Array): void;

  /** Removes a modulator; nothing more of its channel comes. */
  remove(derived: number): void;

  /**
   * Hands a new state of a shared object to the modulators that read it. Older versions than the known one are left out. Lazy
   * copies only hear of it, unless `derived` names the one that has pulled it. Without a state: there is such a version.
   * It counts from a modulator's next call on. That comes at once where the modulator wants fewer than all events: the rate may
   * follow the state, and the next event be long in coming.
   */
  update(update: StateUpdate): void;

  /** Sets a view of a producer's state, for the modulators of its channel that need it. It counts for the runs that come. */
  setContext(channel: number, name: string, value: Value): void;

  /**
   * Hands one run of events of a base channel to its modulators.
   *
   * @param run a frame, which must not change any more, or events that are lent for the time of the call
   * @param tag comes back with what is made of the run, and with `onDone`
   * @param of what the run accounts for; comes back by `onSeen` from each modulator
   * @returns false where there is no modulator for it: nothing comes back
   */
  enqueue(run: EventsFrame | LentRun, tag?: string, of?: Provenance): boolean;

  /** A stretch has no events for the modulators of this channel: they have been through it in their turn, behind what came before. */
  pass(channel: number, of: Provenance): void;

  /** Tells of all that modulators have been through without a call (`onSeen`). @param derived of this one; undefined for all */
  tellSeen(derived?: number): void;

  /** Tells whether the transport is ready for more events of a derived channel. Until told, it is; else events wait in the modulator. */
  flow(derived: number, ready: boolean): void;

  /** Events a second that this modulator wants at most of a producer, as it said last; 0 for every event. */
  mostPerSecond(derived: number): number;

  /** Resolves when all that was given so far is finished, whatever is given meanwhile. */
  settled(): Promise<void>;

  /** Statistics of each modulator, by derived channel. */
  readonly modulators: ReadonlyMap<number, ModulatorStats>;

  /** Resolves when nothing of it is left. What was not finished is lost. */
  close(): Promise<void>;
}

/** The schema of the type with this token; undefined where nobody has told of it. */
export type SchemaOf = (token: bigint) => Uint8Array | undefined;

/** A modulator's place in a producing process. */
export interface TierPlacement {
  /** The tier: in the producer's thread as its own code (`local`) or compiled to WebAssembly, or in the modulators' host. */
  readonly tier: "local" | "compiled" | "hosted";
  /** The reason why the modulator is not compiled; "" where it need not be. */
  readonly why: string;
}

/** Runs a process' modulators, each in the tier that may have it. */
export interface Environment extends Tier {
  /** The present place of an installed modulator. */
  placementOf(derived: number): TierPlacement | undefined;

  /** Whether all events of this run, of another process, can be read without harm. No honest producer raises one that cannot. */
  isSound(run: EventsFrame, schemaOf: SchemaOf): boolean;
}

/** Hands out the runs that one turn made: see `TierEvents.onEvents`. */
export function handOut(
  runs: readonly EventsFrame[],
  hand: (run: EventsFrame, isLast: boolean) => void,
): void {
  const [first, second] = runs;
  // Most turns make one run, and the others most often several of one producer.
  if (first === undefined) return;
  if (second === undefined) return hand(first, true);
  const last = new Map<number, EventsFrame>();
  for (const run of runs) last.set(2 * run.producer + (run.isUrgent ? 1 : 0), run);
  const isLast = new Set(last.values());
  for (const run of runs) hand(run, isLast.has(run));
}

/** An error of the listener's is its own: it must not stop what goes on here. */
export function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
