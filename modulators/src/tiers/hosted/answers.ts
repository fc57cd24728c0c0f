import { errorCode, JechoError } from "@jecho/shared";
import { type EventsFrame, type Frame, type Passed, parseFrame } from "@jecho/shared/internal";
import { decodeValues } from "../../sandbox/values.ts";
import type { Periods } from "../periods.ts";
import { handOut, type TierEvents, tell } from "../tier.ts";
import type { HostedModulator } from "./installation.ts";
import type { HostKeeper } from "./keeper.ts";
import type { Roster } from "./roster.ts";
import type { Batch, Outstanding } from "./work.ts";

export interface AnswersEvents {
  /** A modulator is installed; the callers that waited for this have been told. */
  installed(installation: HostedModulator, cpuMs: number): void;
  /** A modulator used this much time for a turn with so many events (0: a turn without events). The host may have room for more. */
  turned(installation: HostedModulator, cpuMs: number, events: number): void;
  /** A modulator has finished this batch. */
  seen(batch: Batch): void;
  /** A modulator could not be installed, or was removed. */
  removed(installation: HostedModulator, error: JechoError): void;
}

/** The tier's events that a host's answers cause. */
type AnswersListener = Pick<
  TierEvents,
  "together" | "onEvents" | "onGathered" | "onCall" | "onImpaired" | "onRate"
>;

/**
 * Takes the host's answers. None is trusted: a frame that comes out of turn is blamed on the modulator at work, which
 * got out of its sandbox or broke it.
 */
export class Answers {
  readonly #keeper: HostKeeper;
  readonly #outstanding: Outstanding;
  readonly #roster: Roster;
  readonly #periods: Periods;
  readonly #listener: AnswersListener;
  readonly #events: AnswersEvents;

  /** @param listener is told what modulators make and call, and when one began anew */
  constructor(
    from: { keeper: HostKeeper; outstanding: Outstanding; roster: Roster; periods: Periods },
    listener: AnswersListener,
    events: AnswersEvents,
  ) {
    this.#keeper = from.keeper;
    this.#outstanding = from.outstanding;
    this.#roster = from.roster;
    this.#periods = from.periods;
    this.#listener = listener;
    this.#events = events;
  }

  /** Acts on a frame. */
  take(bytes: Uint8Array): void {
    try {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const frame = parseFrame(view, bytes, 0, bytes.byteLength);
      if (this.#act(frame)) return;
      throw new JechoError("FRAME_UNEXPECTED", `the host sent ${frame.kind} where it may not`);
    } catch (error) {
      this.#keeper.condemn(new JechoError("MODULATOR_FAILED", (error as Error).message));
    }
  }

  /** @returns false where the host may not send this frame now */
  #act(frame: Frame): boolean {
    switch (frame.kind) {
      case "Events": {
        if (this.#roster.isLeaving(frame.channel)) return true;
        return this.#atWork(frame.channel)?.collect(frame, this.#keeper.frameBytes) ?? false;
      }
      case "Passed":
        return this.#passed(frame);
      case "Calls": {
        const at = this.#roster.leaving(frame.derived) ?? this.#atWork(frame.derived);
        return at?.collectCalls(decodeValues(frame.calls)) ?? false;
      }
      case "Done":
        return this.#turnDone(frame);
      case "Installed":
        return this.#installed(frame);
      case "Period": {
        const { derived, periodMs } = frame;
        const isKnown = this.#roster.get(derived) !== undefined;
        if (isKnown) this.#periods.set(derived, periodMs);
        return isKnown || this.#roster.isLeaving(derived);
      }
      case "Rate":
        return this.#rate(frame);
      case "Refused":
        return this.#failed(frame.request, frame);
      case "Removed": {
        const { derived } = frame;
        if (frame.code !== 0) return this.#failed(derived, frame);
        const isExpected = this.#outstanding.finish("remove", derived);
        const gone = this.#roster.leaving(derived);
        if (gone === undefined) return isExpected;
        this.#roster.left(derived);
        if (isExpected) this.#deliverCalls(gone);
        this.#events.turned(gone, frame.cpuMs, 0);
        return isExpected;
      }
      case "Impaired":
        return this.#impaired(frame);
      // A sign of life during a long call.
      case "Ping":
        return true;
      default:
        return false;
    }
  }

  /** This modulator, if it is the one that the host is running. */
  #atWork(derived: number): HostedModulator | undefined {
    return derived === this.#outstanding.current() ? this.#roster.get(derived) : undefined;
  }

  #installed(installed: Extract<Frame, { kind: "Installed" }>): boolean {
    const { derived, schema, needs, reads, cpuMs } = installed;
    if (!this.#outstanding.finish("install", derived)) return this.#roster.isLeaving(derived);
    const installation = this.#roster.get(derived);
    if (installation === undefined) return true;
    const declared = { schema: copyOf(schema), reads: copyOf(reads), needs };
    installation.answered(declared);
    this.#deliverCalls(installation);
    this.#events.installed(installation, cpuMs);
    return needs.every(name => installation.isGranted(name));
  }

  #failed(derived: number, { code, message }: { code: number; message: string }): boolean {
    const leaving = this.#roster.leaving(derived);
    if (leaving !== undefined) {
      leaving.discard();
      return true;
    }
    const installation = this.#roster.get(derived);
    if (installation === undefined) return false;
    this.#events.removed(installation, new JechoError(errorCode(code), message));
    return true;
  }

  #turnDone({ derived, batch, dropped, cpuMs, waiting }: Extract<Frame, { kind: "Done" }>): boolean {
    const installation = this.#roster.get(derived);
    const finished = batch === 0 ? undefined : this.#outstanding.finishBatch(batch, derived);
    const isExpected = batch === 0 ? this.#outstanding.finish("turn", derived) : finished !== undefined;
    if (installation === undefined || !isExpected) {
      const leaving = this.#roster.leaving(derived);
      if (leaving !== undefined) this.#events.turned(leaving, cpuMs, 0);
      return leaving !== undefined;
    }
    installation.stats.dropped += dropped;
    installation.stats.cpuMs += cpuMs;
    installation.strikes = 0;
    const runs = installation.deliver();
    const isGathered = finished === undefined && runs.length > 0;
    this.#together(() => {
      if (isGathered) tell(() => this.#listener.onGathered?.(derived));
      installation.turned(finished, waiting);
      handOut(runs, (run, isLast) => this.#handOut(run, derived, finished?.tag, isLast));
      installation.passed(finished);
      if (isGathered) tell(() => this.#listener.onGathered?.(derived));
    });
    this.#deliverCalls(installation);
    if (finished === undefined) this.#periods.done(derived);
    else this.#events.seen(finished);
    this.#events.turned(installation, cpuMs, finished?.run.count ?? 0);
    return true;
  }

  #impaired({ derived, code, message }: Extract<Frame, { kind: "Impaired" }>): boolean {
    const installation = this.#atWork(derived);
    if (installation === undefined) return this.#roster.isLeaving(derived);
    const why = new JechoError(errorCode(code), message);
    if (why.code === "MODULATOR_RESTARTED") {
      installation.stats.restarts++;
      // The batch's output so far was made with the state that is now lost.
      const tag = this.#outstanding.batch?.tag;
      this.#together(() => {
        for (const run of installation.deliver()) this.#handOut(run, derived, tag, false);
      });
      installation.passage.lost();
    } else if (why.code !== "TYPE_MISMATCH") return false;
    tell(() => this.#listener.onImpaired?.(derived, why));
    return true;
  }

  #together(act: () => void): void {
    const { together = doIt => doIt() } = this.#listener;
    together(act);
  }

  #handOut(run: EventsFrame, derived: number, tag: string | undefined, isLast: boolean): void {
    tell(() => this.#listener.onEvents(run, derived, tag, isLast));
  }

  /** Sends events that pass unchanged, from the producer's own copy. A modulator may let an event through at any time of its turn, and more than once. */
  #passed(passed: Passed): boolean {
    const { derived, ranges } = passed;
    if (this.#roster.isLeaving(derived)) return true;
    const installation = this.#atWork(derived);
    const run = this.#outstanding.batch?.run;
    if (installation === undefined || run === undefined || ranges.length % 2 !== 0) return false;
    for (let i = 0; i < ranges.length; i += 2) {
      const [first, end] = [ranges[i] as number, ranges[i + 1] as number];
      if (first >= end || end > run.count) return false;
      if (!installation.pass(run, first, end, passed, this.#keeper.frameBytes)) return false;
    }
    return true;
  }

  #rate({ derived, mostPerSecond }: Extract<Frame, { kind: "Rate" }>): boolean {
    const installation = this.#roster.get(derived);
    if (installation === undefined) return this.#roster.isLeaving(derived);
    if (!(mostPerSecond >= 0 && Number.isFinite(mostPerSecond))) return false;
    installation.mostPerSecond = mostPerSecond;
    tell(() => this.#listener.onRate?.(derived));
    return true;
  }

  #deliverCalls(installation: HostedModulator): void {
    for (const { name, values } of installation.deliverCalls())
      tell(() => this.#listener.onCall?.(installation.derived, name, values));
  }
}

/** @returns undefined for nothing */
function copyOf(schema: Uint8Array): Uint8Array | undefined {
  return schema.byteLength === 0 ? undefined : schema.slice();
}
