import { LentRun, type Tier } from "@jecho/modulators/internal";
import type { EventsFrame } from "@jecho/shared/internal";
import { atEndOfTurn } from "../turn.ts";
import type { FeedNames } from "./feed-names.ts";
import type { Installation } from "./installation.ts";
import type { Installations } from "./installations.ts";
import type { ModulationEvents } from "./modulation.ts";

type RunEvents = Pick<ModulationEvents, "onEvents" | "onDone" | "onFurther" | "schemaOf">;

/** The runs that modulators here are given, and those that they make. */
export class Runs {
  readonly #names: FeedNames;
  readonly #installed: Installations;
  readonly #events: RunEvents;
  #environment: Tier | undefined;
  /** Counts what modulators make. */
  #made = 0;
  #isReady = true;
  #whenReady: (() => void)[] = [];
  #nextFeed = 1;

  constructor(names: FeedNames, installed: Installations, events: RunEvents) {
    this.#names = names;
    this.#installed = installed;
    this.#events = events;
  }

  /** There is an environment from now on. */
  begin(environment: Tier): void {
    this.#environment = environment;
  }

  /**
   * Gives a run to every modulator of its channel.
   *
   * @param raising names the synchronous event that the run is
   * @returns false where there is no modulator, so that `onDone` will not come
   */
  enqueue(base: string, frame: EventsFrame | LentRun, raising?: string): boolean {
    const hosted = this.#names.numberOf(base);
    if (this.#environment === undefined || hosted === undefined) return false;
    if (!this.#tellType(hosted, frame.token)) return false;
    if (frame.channel === hosted) return this.#environment.enqueue(frame, raising);
    // The host knows the channel by a number that is the same over connections; the frame itself is still to be sent.
    if (frame instanceof LentRun) return this.#environment.enqueue(frame.readdressed(hosted), raising);
    const copy = frame.copy();
    copy.readdress(hosted, frame.producer);
    return this.#environment.enqueue(copy, raising);
  }

  /** A modulator made this. @param tag of the run that it was made of, if somebody waits for that */
  made(frame: EventsFrame, tag: string | undefined): void {
    const installation = this.#installed.get(frame.channel);
    if (installation === undefined) return;
    const raising = tag === undefined ? undefined : raisingOf(tag);
    this.#made++;
    this.#events.onEvents(installation, frame, raising);
    this.#feed(installation, frame, frame.isSync ? raising : undefined);
  }

  /** All modulators have seen the run with this tag to its end. */
  done(tag: string): void {
    this.#events.onDone(raisingOf(tag));
  }

  /** Can the connection take more of what is made here? */
  flow(ready: boolean): void {
    this.#isReady = ready;
    if (ready) for (const resolve of this.#whenReady.splice(0)) resolve();
    for (const { hosted } of this.#installed) this.#environment?.flow(hosted, ready);
  }

  /** Resolves when modulators have finished what they were given, one behind the other, and what they made of it has been handed out. */
  async finished(): Promise<void> {
    for (let made = -1; made !== this.#made; ) {
      made = this.#made;
      await this.#environment?.settled();
      if (this.#isReady) continue;
      // Until then what they have made waits with them.
      await new Promise<void>(resolve => this.#whenReady.push(resolve));
      made = -1;
    }
  }

  /** What a modulator made goes on to those that are behind it, in the same order. */
  #feed(installation: Installation, frame: EventsFrame, raising: string | undefined): void {
    const hosted = this.#names.numberOf(installation.makes);
    if (hosted === undefined) return;
    const copy = frame.copy();
    copy.readdress(hosted, frame.producer);
    // Each run that is waited for has a tag of its own.
    const tag = raising === undefined ? undefined : `${raising}>${this.#nextFeed++}`;
    if (raising !== undefined) this.#events.onFurther(raising);
    // The environment is in the middle of handing out this run.
    atEndOfTurn(() => {
      const isTaken = this.#tellType(hosted, copy.token) && this.#environment?.enqueue(copy, tag) === true;
      if (!isTaken && raising !== undefined) this.#events.onDone(raising);
    });
  }

  /** The environment hears of a type before the first run of it. @returns false where nobody has told of it here */
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
