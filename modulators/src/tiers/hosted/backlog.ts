import { type EventsFrame, encodeControl } from "@jecho/shared/internal";
import type { Provenance } from "../../running/provenance.ts";
import { LentRun } from "../lent-run.ts";
import type { Errand, HostedModulator } from "./installation.ts";
import type { HostKeeper } from "./keeper.ts";
import type { Orders } from "./orders.ts";
import type { Roster } from "./roster.ts";
import type { Shares } from "./shares.ts";
import { joined, piecesOf, WaitingRuns } from "./waiting-runs.ts";
import type { Batch, Outstanding, Raised } from "./work.ts";

/** Bytes of runs that the host is sent before it has finished them. */
const WINDOW_BYTES = 4 << 20;
/** Most work, in expected time, that the host is sent before it has finished it: the next modulator in order may have to wait this long. */
const WINDOW_MS = 20;
/** Most unfinished frames at a host: nobody knows how long a modulator's next call takes. */
const MOST_WORK = 32;
/** Most expected time of the modulators that share one frame, and most difference between the times that they have used. */
const TOGETHER_MS = 10;
/** Frames at the host for one modulator while others wait: one in work, and one to go on with. */
const MOST_TURNS = 2;

/**
 * Work on its way to a host. As long as the host keeps up, a run goes to all its modulators at once. Otherwise each modulator has its own position
 * among the waiting runs, and the one that has used least of the host's time comes first: a slow modulator delays only itself.
 */
export class HostBacklog {
  readonly #limitBytes: number;
  readonly #keeper: HostKeeper;
  readonly #outstanding: Outstanding;
  readonly #roster: Roster;
  readonly #orders: Orders;
  readonly #shares: Shares;
  readonly #done: (raised: Raised) => void;
  /** Runs that wait, by channel. */
  readonly #waiting = new Map<number, WaitingRuns>();
  /** Modulators for which something waits. */
  readonly #behind = new Set<HostedModulator>();
  #batches = 0;

  /**
   * @param limitBytes of what waits and is not finished; beyond them the oldest runs that wait are dropped
   * @param done called with a run that all its modulators have finished
   */
  constructor(
    limitBytes: number,
    to: { keeper: HostKeeper; outstanding: Outstanding; roster: Roster; orders: Orders; shares: Shares },
    done: (raised: Raised) => void,
  ) {
    this.#limitBytes = limitBytes;
    this.#keeper = to.keeper;
    this.#outstanding = to.outstanding;
    this.#roster = to.roster;
    this.#orders = to.orders;
    this.#shares = to.shares;
    this.#done = done;
  }

  get bytes(): number {
    let { bytes } = this.#outstanding;
    for (const runs of this.#waiting.values()) bytes += runs.bytes;
    return bytes;
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#behind.size === 0;
  }

  /** Position of the oldest waiting entry in the order in which all was given; infinite where nothing waits. */
  get oldest(): number {
    let oldest = Number.POSITIVE_INFINITY;
    for (const runs of this.#waiting.values()) oldest = Math.min(oldest, runs.oldest?.order ?? oldest);
    for (const { errands } of this.#behind) oldest = Math.min(oldest, errands[0]?.order ?? oldest);
    return oldest;
  }

  /** A new host counts its runs from 1; its modulators are installed by others. */
  begin(): void {
    this.#batches = 0;
    for (const installation of [...this.#behind]) {
      installation.errands.length = 0;
      this.#rest(installation);
    }
  }

  clear(): void {
    this.#behind.clear();
    this.#waiting.clear();
  }

  enqueue(given: EventsFrame | LentRun, tag: string | undefined, of: Provenance | undefined): void {
    const run = given instanceof LentRun ? given.frame() : given;
    if (tag !== undefined) return this.#enqueue(run, tag, of);
    for (const piece of piecesOf(run, of)) this.#enqueue(piece.run, undefined, piece.of);
  }

  #enqueue(run: EventsFrame, tag: string | undefined, of: Provenance | undefined): void {
    const { channel } = run;
    const fed = this.#roster.fedWith(channel);
    const frame = run.raw();
    const order = this.#outstanding.next();
    const [awaited, unsent] = [fed.length, fed.length];
    const raised: Raised = { run, frame, tag, of, passed: [], after: [], order, awaited, unsent };
    if (this.#behind.size === 0) {
      let expectedMs = 0;
      for (const { share } of fed) expectedMs += share.expectedMs;
      const isMuch = expectedMs > TOGETHER_MS && fed.length > 1;
      if (!isMuch && this.#hasRoom(expectedMs, frame.byteLength))
        return this.#send([raised], fed, expectedMs);
    }
    const runs = this.#waiting.get(channel) ?? new WaitingRuns();
    this.#waiting.set(channel, runs);
    const place = runs.push(raised);
    for (const installation of fed) {
      installation.place ??= place;
      this.#wait(installation);
    }
    while (this.bytes > this.#limitBytes && this.#dropOldest());
    this.send();
  }

  /** Sends this order in the modulator's turn. */
  order(installation: HostedModulator, send: Errand["send"]): void {
    const order = this.#outstanding.next();
    if (this.#behind.size === 0 && this.#hasRoom(installation.share.expectedMs, 0))
      return this.#run(installation, { order, send });
    installation.errands.push({ order, send });
    this.#wait(installation);
    this.send();
  }

  /** Sends a modulator's waiting orders at once. */
  hurry(installation: HostedModulator): void {
    for (const errand of installation.errands.splice(0)) this.#run(installation, errand);
    this.#rest(installation);
  }

  /** A modulator is gone: its waiting runs are released. */
  forget(installation: HostedModulator): void {
    const { place, request } = installation;
    installation.errands.length = 0;
    installation.place = undefined;
    this.#rest(installation);
    const runs = this.#waiting.get(request.channel);
    if (place === undefined || runs === undefined) return;
    for (const raised of runs.since(place)) {
      raised.unsent--;
      this.seen(raised);
    }
    this.#trim(request.channel, runs);
  }

  /** A modulator has finished this run, or never will. */
  seen(raised: Raised): void {
    if (--raised.awaited === 0) this.#done(raised);
  }

  /** A frame that changes the producer's state behind all events raised so far. */
  follow(channel: number, frame: Uint8Array): void {
    const runs = this.#waiting.get(channel);
    if (runs?.newest === undefined) return this.#keeper.send(frame);
    runs.follow(frame);
    this.#sendTo(
      this.#roster.fedWith(channel).filter(({ place }) => place === undefined),
      frame,
    );
  }

  /** A stretch without events, behind all events raised so far. */
  pass(channel: number, of: Provenance): void {
    this.#waiting.get(channel)?.newest?.passed.push(of);
    const batches = new Set<Batch>();
    for (const installation of this.#roster.fedWith(channel)) {
      if (installation.place !== undefined) continue;
      const batch = this.#outstanding.newestBatch(channel, installation.derived);
      if (batch === undefined) installation.passes(of);
      else batches.add(batch);
    }
    for (const { passed } of batches) passed.push(of);
  }

  /** Sends what the host has room for. */
  send(): void {
    while (this.#behind.size > 0) {
      const next = this.#shares.next(this.#behind, MOST_TURNS);
      if (next === undefined) return;
      const bytes = next.errands.length > 0 ? 0 : this.#bytesFor(next);
      if (!this.#hasRoom(next.share.expectedMs, bytes)) return;
      const errand = next.errands.shift();
      if (errand === undefined) this.#give(next);
      else {
        this.#rest(next);
        this.#run(next, errand);
      }
    }
    if (this.#outstanding.size === 0) this.#shares.idle();
  }

  /** Sends a batch again that the former host has not finished. */
  resend(batch: Batch): void {
    for (const derived of batch.waiting) {
      const installation = this.#roster.get(derived);
      if (installation !== undefined) installation.share.turns++;
    }
    this.#sendBatch(batch, true);
  }

  #bytesFor({ place, request }: HostedModulator): number {
    return this.#waiting.get(request.channel)?.at(place as number).frame.byteLength ?? 0;
  }

  #run({ share }: HostedModulator, { order, send }: Errand): void {
    if (send(order)) share.turns++;
  }

  #hasRoom(expectedMs: number, frameBytes: number): boolean {
    const { size } = this.#outstanding;
    if (!this.#keeper.hasHost) return false;
    if (size === 0) return true;
    if (size >= MOST_WORK || this.#outstanding.expectedMs + expectedMs > WINDOW_MS) return false;
    const { bytes } = this.#outstanding;
    return bytes === 0 || bytes + frameBytes <= Math.min(WINDOW_BYTES, this.#limitBytes / 2);
  }

  /** Gives this modulator its next waiting runs, together with the other modulators that wait for the same ones. */
  #give(first: HostedModulator): void {
    const { channel } = first.request;
    const place = first.place as number;
    const runs = this.#waiting.get(channel) as WaitingRuns;
    const together = [first];
    const given = runs.from(place, first.share.mostEvents);
    const events = given.reduce((sum, { run }) => sum + run.count, 0);
    let expectedMs = first.share.expectedFor(events);
    const others = [...this.#behind].filter(
      one =>
        one !== first &&
        one.place === place &&
        one.request.channel === channel &&
        one.errands.length === 0 &&
        one.share.turns < MOST_TURNS &&
        one.share.sharer.usedMs - first.share.sharer.usedMs <= TOGETHER_MS,
    );
    if (others.length > 1) others.sort((a, b) => a.share.expectedMs - b.share.expectedMs);
    for (const other of others) {
      const { share } = other;
      if (given.length > 1 && share.mostEvents < events) continue;
      if (expectedMs + share.expectedFor(events) > TOGETHER_MS) continue;
      expectedMs += share.expectedFor(events);
      together.push(other);
    }
    for (const raised of given) raised.unsent -= together.length;
    const next = place + given.length;
    for (const installation of together) {
      installation.place = next === runs.end ? undefined : next;
      this.#rest(installation);
    }
    this.#trim(channel, runs);
    this.#send(given, together, expectedMs, true);
    for (const frame of (given.at(-1) as Raised).after) this.#sendTo(together, frame);
  }

  /** @param isApart whether it goes to some of the modulators of the channel only */
  #send(runs: readonly Raised[], to: readonly HostedModulator[], expectedMs: number, isApart = false): void {
    const { run, frame, tag, of, passed } = isApart ? joined(runs) : (runs[0] as Raised);
    const waiting = new Set<number>();
    for (const { derived, stats, share } of to) {
      waiting.add(derived);
      stats.eventsIn += run.count;
      share.turns++;
    }
    const { order } = runs[0] as Raised;
    const events = { run, frame, tag, of, passed };
    this.#sendBatch({ kind: "batch", ...events, runs, number: 0, waiting, expectedMs, order }, isApart);
  }

  #sendBatch(batch: Batch, isApart: boolean): void {
    this.#orders.timeIfNeeded();
    batch.number = ++this.#batches;
    this.#orders.updates();
    this.#outstanding.push(batch);
    if (isApart) this.#keeper.send(encodeControl({ kind: "Only", derived: [...batch.waiting] }));
    this.#keeper.send(batch.frame);
  }

  #sendTo(to: readonly HostedModulator[], frame: Uint8Array): void {
    if (to.length === 0) return;
    this.#keeper.send(encodeControl({ kind: "Only", derived: to.map(({ derived }) => derived) }));
    this.#keeper.send(frame);
  }

  #wait(installation: HostedModulator): void {
    this.#behind.add(installation);
    this.#shares.waits(installation.share);
  }

  /** Releases the modulator's share where nothing waits for it any more. */
  #rest(installation: HostedModulator): void {
    if (installation.errands.length > 0 || installation.place !== undefined) return;
    this.#behind.delete(installation);
    this.#shares.rests(installation.share);
  }

  #trim(channel: number, runs: WaitingRuns): void {
    runs.trim();
    if (runs.oldest === undefined) this.#waiting.delete(channel);
  }

  /** @returns false where there is none that may be dropped */
  #dropOldest(): boolean {
    let channel = 0;
    let runs: WaitingRuns | undefined;
    for (const [number, candidate] of this.#waiting) {
      const order = candidate.oldest?.order ?? Number.POSITIVE_INFINITY;
      if (order < (runs?.oldest?.order ?? Number.POSITIVE_INFINITY)) [channel, runs] = [number, candidate];
    }
    const oldest = runs?.oldest;
    // The newest run stays.
    if (runs === undefined || oldest === undefined || (this.#waiting.size === 1 && oldest === runs.newest))
      return false;
    const place = runs.first;
    const missing = [...this.#behind].filter(one => one.request.channel === channel && one.place === place);
    for (const installation of missing) {
      installation.stats.dropped += oldest.run.count;
      installation.place = place + 1 === runs.end ? undefined : place + 1;
      this.#rest(installation);
    }
    for (const frame of oldest.after) this.#sendTo(missing, frame);
    oldest.unsent = 0;
    this.#trim(channel, runs);
    for (const _ of missing) this.seen(oldest);
    for (const passed of oldest.passed) this.pass(channel, passed);
    // A later run tells what is missing before it. Where none waits, the source may raise nothing more.
    const { of } = oldest;
    if (of !== undefined && !runs.hasOf(of.source)) this.pass(channel, { ...of, after: of.through });
    return true;
  }
}
