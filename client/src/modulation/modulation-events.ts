import type { Value } from "@jecho/modulators";
import type { Provenance } from "@jecho/modulators/internal";
import type { EventsFrame, Instead, Outgoing, Room, SourcePlace } from "@jecho/shared/internal";
import type { StateOfReaders } from "../producer/demand.ts";
import type { Installation } from "./installation.ts";

/** What modulators of this process need of the concentrator around them, and what they tell it. */
export interface ModulationEvents {
  /** Memory for runs that modulators make. */
  readonly room: Room;
  /** Sends together a modulator's output of one turn. */
  readonly together: (act: () => void) => void;
  /** A run that a modulator made, alone in its memory; of which synchronous event, if of one. Returns what the run accounts for. */
  onEvents(
    installation: Installation,
    frame: EventsFrame,
    raising: string | undefined,
    isLast: boolean,
  ): Provenance | undefined;
  /** A modulator has been through a stretch of what it is fed with. */
  onSeen(installation: Installation, of: Provenance): void;
  /** Modulators have been through something that is told when it is asked for (`runs.tellSeen`). */
  onUnseen(): void;
  /** A modulator has begun anew, without the state that it had. */
  onRestarted(installation: Installation): void;
  /** Positions of modulators are to be sent. @param installation of this one; undefined for all */
  onStatement(installation?: Installation): void;
  /** A modulator is to be installed, and is given what comes from now on. */
  onOrdered(hosted: number, feed: string, parent: Installation | undefined, wire: string): void;
  /** Called when the modulator could not be installed. */
  onRefused(hosted: number): void;
  /** A modulator is there. */
  onInstalled(installation: Installation): void;
  /** A modulator that outlived its connection has a number at the present one. */
  onAgain(installation: Installation): void;
  /** Every modulator has seen this synchronous event to its end. */
  onDone(raising: string): void;
  /** The output that a modulator made of this synchronous event goes on to further ones: `onDone` comes once more. */
  onFurther(raising: string): void;
  onAnswer(answer: Outgoing): void;
  /** The demand for this channel's producers may have changed. */
  onDemand(base: string): void;
  /** Modulators of this channel read a shared object that has a new state; nothing else is wanted. */
  onState(base: string, state: StateOfReaders): void;
  /** The feed of what `source` names that a modulator is to have which goes on at these places. */
  feedFor(source: string, places: readonly SourcePlace[]): string;
  /** Resolves when a modulator that runs in another process' stead is fed. Rejects with why it is not. */
  onFeed(name: string, instead: Instead, channel: number): Promise<void>;
  /** Called when nothing is fed by this any more. */
  onUnfed(name: string): void;
  /** The schema of the type with this token; undefined where nobody has told of it. */
  schemaOf(token: bigint): Uint8Array | undefined;
  /** The views that modulators of this channel need may have changed. */
  onNeeds(base: string): void;
  /** The modulator of this derived channel asks for the newest state of a shared object. */
  onPull(derived: number, object: string): void;
  /** A modulator of this channel called a control, or logged a line. */
  onCall(base: string, name: string, values: readonly Value[]): void;
}
