import { LentRun, type Provenance, type Tier } from "@jecho/modulators/internal";
import type { EventsFrame } from "@jecho/shared/internal";
import type { Installation } from "./installation.ts";
import type { FeedNames, Installations } from "./installations.ts";
import type { ModulationEvents } from "./modulation-events.ts";
import { SourceNumbers } from "./source-numbers.ts";

type RunEvents = Pick<
  ModulationEvents,
  "onEvents" | "onSeen" | "onStatement" | "onDone" | "onFurther" | "schemaOf"
>;

/** The input and output runs of modulators here. */
export class Runs {
  readonly #names: FeedNames;
  readonly #installed: Installations;
  readonly #events: RunEvents;
  readonly #sources = new SourceNumbers();
  #environment: Tier | undefined;
  /** Output that the modulators behind are given at the end of the turn. */
  readonly #waiting = new Set<{ readonly makes: string; readonly of: Provenance | undefined }>();
  #isReady = true;
  #whenReady: (() => void)[] = [];
  #nextFeed = 1;

  constructor(installed: Installations, events: RunEvents) {
    this.#names = installed.names;
    this.#installed = installed;
    this.#events = events;
  }

  /** Uses this environment from now on. */
  begin(environment: Tier): void {
    this.#environment = environment;
  }

  /**
   * Gives a run to every modulator of its channel.
   *
   * @param of the run's provenance
   * @param raising tag of the synchronous event that the run is, if any
   * @returns false where there is no modulator: `onDone` is not called
   */
  enqueue(base: string, frame: EventsFrame | LentRun, of: Provenance | undefined, raising?: string): boolean {
    const numbers = this.#names.numbersOf(base);
    for (let i = 1; i < numbers.length; i++) {
      // Each run that is waited for has its own tag.
      const tag = raising === undefined ? undefined : this.#tagFor(raisingOf(raising));
      if (!this.#enqueueAt(numbers[i] as number, frame, of, tag) && tag !== undefined) this.done(tag);
    }
    return numbers.length > 0 && this.#enqueueAt(numbers[0] as number, frame, of, raising);
  }

  /** @returns a tag for one more run that is waited for */
  #tagFor(raising: string): string {
    this.#events.onFurther(raising);
    return `${raising}>${this.#nextFeed++}`;
  }

  #enqueueAt(
    hosted: number,
    frame: EventsFrame | LentRun,
    of: Provenance | undefined,
    raising: string | undefined,
  ): boolean {
    if (this.#environment === undefined) return false;
    if (!this.#tellType(hosted, frame.token)) {
      // No modulator can read them: they are discarded.
      if (of !== undefined) this.#environment.pass(hosted, of);
      return false;
    }
    // The host's numbers for channel and source outlive connections; the frame itself, which is still to be sent, keeps its own.
    const producer = of === undefined ? 0 : this.#sources.numberOf(of.source.id, frame.producer);
    if (frame.channel === hosted && frame.producer === producer)
      return this.#environment.enqueue(frame, raising, of);
    if (frame instanceof LentRun)
      return this.#environment.enqueue(frame.readdressed(hosted, producer), raising, of);
    const copy = frame.copy();
    copy.readdress(hosted, producer);
    return this.#environment.enqueue(copy, raising, of);
  }

  /** The raw source of this output run; undefined for none, or where unknown. */
  sourceOf({ producer }: EventsFrame): bigint | undefined {
    return this.#sources.sourceOf(producer);
  }

  /** A stretch without events for the modulators of this channel. */
  pass(base: string, of: Provenance): void {
    for (const hosted of this.#names.numbersOf(base)) this.#environment?.pass(hosted, of);
  }

  /** A stretch without events for the modulators behind this one, after its output so far. */
  passBehind({ makes }: Installation, of: Provenance): void {
    if (this.#names.has(makes)) queueMicrotask(() => this.pass(makes, of));
  }

  /** Count up to which the modulators behind this one have been given what it made of a source. @param through and it has been through */
  reachedBehind({ makes }: Installation, { id, urgent }: Provenance["source"], through: number): number {
    let reached = through;
    for (const { makes: by, of } of this.#waiting)
      if (by === makes && of?.source.id === id && of.source.urgent === urgent)
        reached = Math.min(reached, of.after);
    return reached;
  }

  /** A modulator has been through a stretch of its input. */
  seen(hosted: number, of: Provenance): void {
    const installation = this.#installed.get(hosted);
    if (installation !== undefined) this.#events.onSeen(installation, of);
  }

  /** Has the environment report all stretches that modulators have been through. @param only one modulator; undefined for all */
  tellSeen(only?: Installation): void {
    this.#environment?.tellSeen(only?.hosted);
  }

  /**
   * Takes a modulator's output run.
   *
   * @param tag of its input run, if somebody waits for that
   * @param isLast see `TierEvents.onEvents`
   */
  made(frame: EventsFrame, tag: string | undefined, isLast: boolean): void {
    const installation = this.#installed.get(frame.channel);
    if (installation === undefined) return;
    const raising = tag === undefined ? undefined : raisingOf(tag);
    const of = this.#events.onEvents(installation, frame, raising, isLast);
    this.#feed(installation, frame, of, frame.isSync ? raising : undefined);
  }

  /** Called when all modulators have finished the run with this tag. */
  done(tag: string): void {
    this.#events.onDone(raisingOf(tag));
  }

  /** Sets whether the connection can take more output. */
  flow(ready: boolean): void {
    this.#isReady = ready;
    if (ready) for (const resolve of this.#whenReady.splice(0)) resolve();
    for (const { hosted } of this.#installed) this.#environment?.flow(hosted, ready);
  }

  /** Resolves when modulators have finished their input so far, one behind the other, and their output has been handed out. */
  async finished(): Promise<void> {
    // A modulator behind another gets its input at the end of the turn.
    for (let behind = this.#installed.depth; behind > 0; behind--) {
      await this.#environment?.settled();
      // Until then their output waits with them.
      while (!this.#isReady) await new Promise<void>(resolve => this.#whenReady.push(resolve));
      this.#events.onStatement();
      await new Promise<void>(resolve => queueMicrotask(resolve));
    }
  }

  /** The last events of a channel have been through its modulators: calls their periods. @returns whether any has one */
  endPeriods(channel: string): boolean {
    let isAny = false;
    for (const { hosted } of this.#installed.madeOf(channel).keys())
      if (this.#environment?.endPeriod(hosted)) isAny = true;
    return isAny;
  }

  /** Gives a modulator's output to the modulators behind it, in order. */
  #feed(
    installation: Installation,
    frame: EventsFrame,
    of: Provenance | undefined,
    raising: string | undefined,
  ): void {
    const [hosted] = this.#names.numbersOf(installation.makes);
    if (hosted === undefined) return;
    const copy = frame.copy();
    copy.readdress(hosted, frame.producer);
    const tag = raising === undefined ? undefined : this.#tagFor(raising);
    const waiting = { makes: installation.makes, of };
    this.#waiting.add(waiting);
    // The environment is in the middle of handing out this run.
    queueMicrotask(() => {
      this.#waiting.delete(waiting);
      const isTaken = this.enqueue(installation.makes, copy, of, tag);
      if (!isTaken && raising !== undefined) this.#events.onDone(raising);
    });
  }

  /** Tells the environment a type before its first run. @returns false where the type is unknown here */
  #tellType(hosted: number, token: bigint): boolean {
    if (token === 0n) return true;
    const told = this.#names.typesOf(hosted);
    if (told.has(token)) return true;
    const schema = this.#installed.schemaOf(token) ?? this.#events.schemaOf(token);
    if (schema === undefined) return false;
    told.set(token, schema);
    this.#environment?.addType(hosted, schema);
    return true;
  }
}

function raisingOf(tag: string): string {
  const end = tag.indexOf(">");
  return end < 0 ? tag : tag.slice(0, end);
}
