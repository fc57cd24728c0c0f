import type { Value } from "@jecho/modulators";
import type { Provenance } from "@jecho/modulators/internal";
import type { EventsFrame, Instead, Outgoing, Room, SourcePlace } from "@jecho/shared/internal";
import type { StateOfReaders } from "../producer/demand.ts";
import type { Installation } from "./installation.ts";

/** The part of a concentrator that this process' modulators use and report to. */
export interface ModulationEvents {
  /** Memory for modulators' output. */
  readonly room: Room;
  /** Sends the output of one turn of a modulator together. */
  readonly together: (act: () => void) => void;
  /** Takes a modulator's run, alone in its memory, and the tag of its synchronous event, if any. Returns the run's provenance. */
  onEvents(
    installation: Installation,
    frame: EventsFrame,
    raising: string | undefined,
    isLast: boolean,
  ): Provenance | undefined;
  /** A modulator has been through a stretch of its input. */
  onSeen(installation: Installation, of: Provenance): void;
  /** Modulators have been through stretches that `runs.tellSeen` reports. */
  onUnseen(): void;
  /** A modulator was restarted without its state. */
  onRestarted(installation: Installation): void;
  /** Sends the positions of modulators. @param installation one modulator; undefined for all */
  onStatement(installation?: Installation): void;
  /** A modulator is being installed, and is given events from now on. */
  onOrdered(hosted: number, feed: string, parent: Installation | undefined, wire: string): void;
  /** Called when the modulator could not be installed. */
  onRefused(hosted: number): void;
  /** A modulator is installed. */
  onInstalled(installation: Installation): void;
  /** A modulator that outlived its connection has a number at the present one. */
  onAgain(installation: Installation): void;
  /** All modulators have finished this synchronous event. */
  onDone(raising: string): void;
  /** A modulator's output of this synchronous event goes on to further modulators: `onDone` is called once more. */
  onFurther(raising: string): void;
  onAnswer(answer: Outgoing): void;
  /** The demand for this channel's producers may have changed. */
  onDemand(base: string): void;
  /** A shared object that modulators of this channel read has a new state; the demand is otherwise unchanged. */
  onState(base: string, state: StateOfReaders): void;
  /** Name of the feed, from `source`, for a modulator that goes on at these places. */
  feedFor(source: string, places: readonly SourcePlace[]): string;
  /**
   * Resolves when a modulator in another process's stead is fed. Rejects with why it is not.
   *
   * @param isBeside whether a modulator that runs here feeds it, too
   */
  onFeed(name: string, instead: Instead, channel: number, isBeside: boolean): Promise<void>;
  /** Called when no modulator is fed by this any more. */
  onUnfed(name: string): void;
  /** The schema of the type with this token; undefined where unknown. */
  schemaOf(token: bigint): Uint8Array | undefined;
  /** The views that modulators of this channel need may have changed. */
  onNeeds(base: string): void;
  /** The modulator of this derived channel asks for the newest state of a shared object. */
  onPull(derived: number, object: string): void;
  /** A modulator of this channel called a control, or logged a line. */
  onCall(base: string, name: string, values: readonly Value[]): void;
}
