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
  /** Schema (.bfbs) of the base channel's events; undefined for opaque bytes. Output before the first event has this type. */
  readonly schema: Uint8Array | undefined;
  /** Schemas of further types that its producers write. */
  readonly further?: readonly Uint8Array[];
  readonly modulator: ModulatorTable;
  /** The producer's offers. Default: those of every MOE. */
  readonly offers?: readonly Offer[];
  /** The present values of the producer's views, by their names in `needs`. */
  readonly context?: ReadonlyMap<string, Value>;
  /** Number of shared objects that the modulators before this one read. Default: 0. */
  readonly behind?: number;
  /** Subject that brought it; "", the default, where that has no name. */
  readonly by?: string;
  /** Whether the modulator runs in another process' stead, where `ModulatorOptions.allow` does not concern it. Default: false. */
  readonly isInstead?: boolean;
}

/** A newer state of a shared object; without a state, a version that may be pulled. */
export interface StateUpdate extends Omit<ObjectUpdate, "kind" | "derived"> {
  /** The modulator that pulled it. Default: for all. */
  readonly derived?: number;
}

/** Counts since the installation. */
export interface ModulatorStats {
  eventsIn: number;
  eventsOut: number;
  bytesOut: number;
  /** Processor time; 0 in the producer's thread, where it is the producer's own. */
  cpuMs: number;
  /** Events that a full queue dropped, before the modulator or in it, and events that it cannot read. */
  dropped: number;
  /** Times that the modulator was restarted without its state. */
  restarts: number;
}

export const NO_STATS: ModulatorStats = {
  eventsIn: 0,
  eventsOut: 0,
  bytesOut: 0,
  cpuMs: 0,
  dropped: 0,
  restarts: 0,
};

/** A tier's listener. One that throws harms nobody but its own program. */
export interface TierEvents {
  /** Memory for output runs. Default: new memory. */
  readonly room?: Room;
  /** Runs the function that hands out one turn's output, so that it is sent together or not at all. Default: run by run. */
  readonly together?: ((act: () => void) => void) | undefined;
  /**
   * A run of a derived channel in memory of its own or of `room`, and the tag of its input run.
   *
   * @param isLast whether it is the turn's last run of this producer and urgency; false for all runs of a turn that does not end
   */
  onEvents(run: EventsFrame, derived: number, tag: string | undefined, isLast: boolean): void;
  /** A modulator has been through a stretch, and no event of it waits in its queue. The turn's output comes next. */
  onSeen?(derived: number, of: Provenance): void;
  /** Modulators have been through stretches that were not reported by `onSeen`: `tellSeen` reports them. */
  onUnseen?(): void;
  /**
   * Called before and after the output of a turn without events (of a period, or of waiting events), which may stem from any stretch so far. What is
   * accounted for before these runs cannot be lost behind them.
   */
  onGathered?(derived: number): void;
  /** Every modulator has finished the run with this tag, or is gone. Their output has been handed out. */
  onDone?(tag: string): void;
  /** A modulator called a granted control, logged a line (`log`), or pulls an object (`pull`). */
  onCall?(derived: number, name: string, values: readonly Value[]): void;
  /** A modulator's `mostPerSecond` changed. */
  onRate?(derived: number): void;
  /** A modulator broke a limit or failed, and was removed. */
  onRemoved(derived: number, error: JechoError): void;
  /** A modulator goes on in another tier. */
  onTier?(derived: number, placement: TierPlacement): void;
  /** The host died, and a new one has the remaining modulators. */
  onRestart?(): void;
  /**
   * A modulator goes on, but was restarted without its state (`MODULATOR_RESTARTED` with the reason), or cannot read a type that a producer
   * writes (`TYPE_MISMATCH`: reported once; its events are dropped).
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
   * @param onInstalled called with the returned value before any other event of the modulator is reported
   * @returns the schemas that the modulator declares for its output and its input, and what it needs
   * @throws JechoError `MODULATOR_INVALID`, `MODULATOR_TOO_LARGE`, `PARAMETERS_INVALID`, `SERVICE_MISSING`, `SERVICE_NOT_GRANTED`,
   * `DELEGATE_FAILED`, `MODULATOR_FAILED`, `MODULATOR_TIMED_OUT`, `MODULATOR_OUT_OF_MEMORY`, `MODULATORS_NOT_SERVED`, `MODULATOR_HOST_FAILED`, `CLOSED`
   */
  install(request: InstallRequest, onInstalled?: (declared: Declared) => void): Promise<Declared>;

  /** Adds a type of a base channel's events, before its first run. */
  addType(channel: number, schema: Uint8Array): void;

  /** Removes a modulator. No further output of it is handed out. */
  remove(derived: number): void;

  /**
   * Hands a new state of a shared object to the modulators that read it, for their next call. Lazy
   * copies are only told of it, unless `derived` names the modulator that pulled it. Without a state: a version that may be pulled.
   * A modulator that wants fewer than all events is called at once: its rate may depend on the state, and the next event be far off.
   */
  update(update: StateUpdate): void;

  /** Sets a view of a producer's state for the modulators of its channel that need it, from the next run on. */
  setContext(channel: number, name: string, value: Value): void;

  /**
   * Hands one run of events of a base channel to its modulators.
   *
   * @param run a frame that does not change any more, or a run lent for the time of the call
   * @param tag returned with the run's output and with `onDone`
   * @param of the run's provenance, returned by `onSeen` for each modulator
   * @returns false where there is no modulator for it: nothing is called back
   */
  enqueue(run: EventsFrame | LentRun, tag?: string, of?: Provenance): boolean;

  /** A stretch without events for this channel's modulators: they are through it once they have finished all before it. */
  pass(channel: number, of: Provenance): void;

  /** Reports by `onSeen` the stretches that modulators have been through without a call. @param derived a modulator; undefined for all */
  tellSeen(derived?: number): void;

  /** Sets whether the transport is ready for events of a derived channel; until then it is. While it is not, events wait in the modulator. */
  flow(derived: number, ready: boolean): void;

  /** Has the modulator's period called now, as its input ends. @returns false where it has none */
  endPeriod(derived: number): boolean;

  /** The modulator's present `mostPerSecond`; 0 for all events. */
  mostPerSecond(derived: number): number;

  /** Resolves when all that was given before this call is finished. */
  settled(): Promise<void>;

  /** Statistics of each modulator, by derived channel. */
  readonly modulators: ReadonlyMap<number, ModulatorStats>;

  /** Ends the tier; unfinished work is lost. Resolves when it has ended. */
  close(): Promise<void>;
}

/** The schema of the type with this token; undefined where unknown. */
export type SchemaOf = (token: bigint) => Uint8Array | undefined;

/** A modulator's tier in a producing process. */
export interface TierPlacement {
  /** The tier: in the producer's thread as its own code (`local`) or compiled to WebAssembly, or in the modulators' host. */
  readonly tier: "local" | "compiled" | "hosted";
  /** Why the modulator is not compiled; "" where it is, or runs as the producer's own code. */
  readonly why: string;
}

/** Runs a process's modulators, each in the fastest tier that accepts it. */
export interface Environment extends Tier {
  /**
   * Gets ready for an installation, so that it holds the producer's thread no longer than it must.
   *
   * @returns undefined where nothing is to be waited for
   */
  prepare(request: InstallRequest): Promise<void> | undefined;

  /** The present place of an installed modulator. */
  placementOf(derived: number): TierPlacement | undefined;

  /** Whether all events of this run from another process are sound. No honest producer raises one that is not. */
  isSound(run: EventsFrame, schemaOf: SchemaOf): boolean;
}

/** Hands out the output of one turn: see `TierEvents.onEvents`. */
export function handOut(
  runs: readonly EventsFrame[],
  hand: (run: EventsFrame, isLast: boolean) => void,
): void {
  const [first, second] = runs;
  // Most turns make one run; of the others, most make several of one producer.
  if (first === undefined) return;
  if (second === undefined) return hand(first, true);
  const last = new Map<number, EventsFrame>();
  for (const run of runs) last.set(2 * run.producer + (run.isUrgent ? 1 : 0), run);
  const isLast = new Set(last.values());
  for (const run of runs) hand(run, isLast.has(run));
}

/** Runs a listener. An error that it throws does not stop the tier. */
export function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
