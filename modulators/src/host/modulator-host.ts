import { errorCode, JechoError } from "@jecho/shared";
import {
  type EventsFrame,
  encodeControl,
  type Frame,
  type ObjectUpdate,
  parseFrame,
} from "@jecho/shared/internal";
import { LentRun } from "../lent-run.ts";
import { type HostClock, Periods, SYSTEM_CLOCK } from "../periods.ts";
import { checkSizes } from "../running-modulator.ts";
import { DEFAULT_LIMITS, type Declared, type Limits } from "../sandbox/sandbox.ts";
import { type InstallRequest, type ModulatorStats, type Tier, type TierEvents, tell } from "../tier.ts";
import { decodeValues, encodeValues, type Value } from "../values.ts";
import type { CarrierKind } from "./carrier.ts";
import { Installation } from "./installation.ts";
import { type Death, Keeper } from "./keeper.ts";
import { type Batch, Outstanding, type Work } from "./work.ts";

export interface ModulatorHostOptions extends TierEvents {
  /** What the host lives in. */
  readonly carrier: CarrierKind;
  /** Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits> | undefined;
  /** Bytes of events that may wait for the host; beyond them the oldest runs are dropped. Default: 64 MiB. */
  readonly pendingBytes?: number | undefined;
  /** Default: the machine's. */
  readonly clock?: HostClock | undefined;
  /** How long a host without modulators is kept. Default: 5000. */
  readonly idleMs?: number | undefined;
}

export interface HostStats {
  /** Process id of the host, while there is one. */
  readonly pid: number | undefined;
  /** Times that a host died and was replaced. */
  readonly restarts: number;
  /** Bytes of events that the host has not finished or not been sent. */
  readonly pendingBytes: number;
}

/** Bytes of runs that the host is sent before it has finished them. */
const WINDOW_BYTES = 4 << 20;
/** A host that dies so often in a row without having done anything is not replaced any more. */
const FUTILE_STARTS = 3;
/** Deaths that may have come from anywhere, until the modulator at work is to blame. */
const STRIKES = 2;
const PREPARE_MS = 3;

/**
 * The hosted tier: runs modulators in a process or worker, watches it, and replaces it when it hangs or dies. No call
 * blocks.
 *
 * The host starts with the first modulator. It ends with `close`, some seconds after the last modulator is gone, and with
 * its producer whatever way that ends.
 */
export class ModulatorHost implements Tier {
  readonly #options: ModulatorHostOptions;
  readonly #limits: Limits;
  readonly #pendingLimit: number;
  readonly #keeper: Keeper;
  readonly #installations = new Map<number, Installation>();
  readonly #outstanding = new Outstanding();
  readonly #leaving = new Map<number, number>();
  readonly #updates = new Map<string, ObjectUpdate>();
  readonly #clock: HostClock;
  readonly #periods: Periods;
  #settling: (() => void)[] = [];
  #timeMs = 0;
  #waiting: Batch[] = [];
  #waitingBytes = 0;
  #batches = 0;
  #restarts = 0;
  #futile = 0;
  #isClosed = false;
  #preparing: NodeJS.Timeout | undefined;

  constructor(options: ModulatorHostOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#pendingLimit = options.pendingBytes ?? 64 << 20;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#periods = new Periods(this.#clock, derived => this.#sendPeriod(derived));
    this.#keeper = new Keeper(options.carrier, this.#limits, options.idleMs ?? 5000, {
      frame: bytes => this.#receive(bytes),
      died: death => this.#died(death),
      isBusy: () => this.#outstanding.size > 0,
    });
  }

  async install(request: InstallRequest): Promise<Declared> {
    if (this.#isClosed) throw new JechoError("CLOSED", "the modulator host is closed");
    if (this.#installations.has(request.derived)) {
      throw new JechoError(
        "ARGUMENT_INVALID",
        `derived channel ${request.derived} has its modulator already`,
      );
    }
    checkSizes(request.modulator, this.#limits);
    const installation = new Installation(request);
    this.#installations.set(request.derived, installation);
    try {
      if (!this.#keeper.hasHost) this.#begin();
    } catch (error) {
      this.#installations.delete(request.derived);
      throw error;
    }
    this.#hold();
    this.#sendInstall(installation);
    return installation.installed.promise;
  }

  remove(derived: number): void {
    const installation = this.#installations.get(derived);
    if (installation === undefined) return;
    this.#forget(installation);
    if (!installation.installed.isSettled)
      installation.installed.reject(new JechoError("CLOSED", "the modulator was removed"));
    this.#leaving.set(derived, (this.#leaving.get(derived) ?? 0) + 1);
    this.#outstanding.push({ kind: "remove", derived });
    this.#keeper.send(encodeControl({ kind: "Remove", derived }));
    this.#sendWaiting();
    this.#hold();
  }

  update({ object, version, state }: Omit<ObjectUpdate, "kind">): void {
    let read = false;
    for (const installation of this.#installations.values()) {
      if (installation.update(object, version, state)) read = true;
    }
    if (!read) return;
    // However often it changes, the host hears of it once per turn of the event loop or run of events.
    if (this.#updates.size === 0) setTimeout(() => this.#sendUpdates());
    this.#updates.set(object, { kind: "ObjectUpdate", object, version, state });
  }

  setContext(channel: number, name: string, value: Value): void {
    let isNeeded = false;
    for (const installation of this.#installations.values()) {
      if (installation.request.channel === channel && installation.setContext(name, value)) isNeeded = true;
    }
    if (!isNeeded) return;
    const context = contextFrame(channel, name, value);
    // What waits was raised before it.
    const last = this.#waiting.at(-1);
    if (last === undefined) this.#keeper.send(context);
    else last.after.push(context);
  }

  enqueue(run: EventsFrame | LentRun, tag?: string): boolean {
    const { channel, count } = run;
    if (!this.#hasModulators(channel)) return false;
    const frame = (run instanceof LentRun ? run.frame() : run).raw();
    this.#waiting.push({
      kind: "batch",
      channel,
      frame,
      events: count,
      tag,
      number: 0,
      waiting: new Set<number>(),
      after: [],
    });
    this.#waitingBytes += frame.byteLength;
    while (this.#waitingBytes + this.#outstanding.bytes > this.#pendingLimit && this.#waiting.length > 1)
      this.#dropOldest();
    this.#sendWaiting();
    return true;
  }

  flow(derived: number, ready: boolean): void {
    const installation = this.#installations.get(derived);
    if (installation === undefined || installation.ready === ready) return;
    installation.ready = ready;
    if (ready) this.#outstanding.push({ kind: "turn", derived });
    this.#keeper.send(encodeControl({ kind: "Flow", derived, ready }));
  }

  settled(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise(resolve => this.#settling.push(resolve));
  }

  get modulators(): ReadonlyMap<number, ModulatorStats> {
    return new Map([...this.#installations].map(([derived, { stats }]) => [derived, { ...stats }]));
  }

  get stats(): HostStats {
    return {
      pid: this.#keeper.pid,
      restarts: this.#restarts,
      pendingBytes: this.#waitingBytes + this.#outstanding.bytes,
    };
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      const error = new JechoError("CLOSED", "the modulator host is closed");
      for (const installation of this.#installations.values()) installation.installed.reject(error);
      this.#installations.clear();
      this.#outstanding.clear();
      this.#waiting = [];
      this.#waitingBytes = 0;
      this.#periods.clear();
      clearTimeout(this.#preparing);
      this.#settle();
    }
    return this.#keeper.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- to the host

  #begin(): void {
    this.#batches = 0;
    this.#timeMs = 0;
    this.#keeper.begin();
  }

  #sendInstall({ request, ready, derived, grants, context }: Installation): void {
    const { channel, schema, modulator } = request;
    if (schema !== undefined) this.#keeper.send(encodeControl({ kind: "BaseType", channel, schema }));
    for (const [name, value] of context) this.#keeper.send(contextFrame(channel, name, value));
    this.#sendTime();
    this.#outstanding.push({ kind: "install", derived });
    this.#keeper.send(
      encodeControl({ kind: "Install", request: derived, channel, derived, modulator, offers: grants }),
    );
    if (!ready) this.#keeper.send(encodeControl({ kind: "Flow", derived, ready }));
  }

  /** The host makes ready what the next installation needs, when those who wait for this one have had their answer. */
  #prepareSoon(): void {
    clearTimeout(this.#preparing);
    this.#preparing = setTimeout(
      () => this.#keeper.send(encodeControl({ kind: "Ping", time: 0 })),
      PREPARE_MS,
    );
    this.#preparing.unref?.();
  }

  #sendUpdates(): void {
    for (const update of this.#updates.values()) this.#keeper.send(encodeControl(update));
    this.#updates.clear();
  }

  /** Every modulator sees the producer's time, in steps of what it is given. */
  #sendTime(): void {
    const timeMs = this.#clock.now();
    if (timeMs !== this.#timeMs) this.#keeper.send(encodeControl({ kind: "Clock", timeMs }));
    this.#timeMs = timeMs;
  }

  #sendTimeIfNeeded(): void {
    for (const installation of this.#installations.values()) {
      if (installation.mayNeed("clock")) return this.#sendTime();
    }
  }

  #sendPeriod(derived: number): void {
    this.#sendTimeIfNeeded();
    this.#outstanding.push({ kind: "turn", derived });
    this.#keeper.send(encodeControl({ kind: "Period", derived, periodMs: 0 }));
  }

  #sendWaiting(): void {
    while (this.#waiting.length > 0) {
      const [batch] = this.#waiting as [Batch];
      const { bytes } = this.#outstanding;
      if (bytes > 0 && bytes + batch.frame.byteLength > Math.min(WINDOW_BYTES, this.#pendingLimit / 2))
        return;
      this.#waiting.shift();
      this.#waitingBytes -= batch.frame.byteLength;
      for (const { derived, request, stats } of this.#installations.values()) {
        if (request.channel !== batch.channel) continue;
        batch.waiting.add(derived);
        stats.eventsIn += batch.events;
      }
      this.#sendBatch(batch);
    }
  }

  #sendBatch(batch: Batch): void {
    if (batch.waiting.size === 0) {
      this.#sendAfter(batch);
      return this.#done(batch);
    }
    this.#sendTimeIfNeeded();
    batch.number = ++this.#batches;
    this.#sendUpdates();
    this.#outstanding.push(batch);
    this.#keeper.send(batch.frame);
    this.#sendAfter(batch);
  }

  #sendAfter({ after }: Batch): void {
    for (const frame of after) this.#keeper.send(frame);
  }

  #dropOldest(): void {
    const batch = this.#waiting.shift() as Batch;
    this.#waitingBytes -= batch.frame.byteLength;
    for (const { request, stats } of this.#installations.values()) {
      if (request.channel === batch.channel) stats.dropped += batch.events;
    }
    this.#sendAfter(batch);
    this.#done(batch);
  }

  #done({ tag }: Batch): void {
    if (tag !== undefined) tell(() => this.#options.onDone?.(tag));
  }

  #hasModulators(channel: number): boolean {
    for (const { request } of this.#installations.values()) if (request.channel === channel) return true;
    return false;
  }

  // ---- from the host

  #receive(bytes: Uint8Array): void {
    this.#futile = 0;
    try {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const frame = parseFrame(view, bytes, 0, bytes.byteLength);
      if (this.#act(frame)) return this.#settle();
      throw new JechoError("FRAME_UNEXPECTED", `the host sent ${frame.kind} where it may not`);
    } catch (error) {
      // Whoever is at work in it got out of the sandbox, or broke it.
      this.#keeper.condemn(new JechoError("MODULATOR_FAILED", (error as Error).message));
    }
  }

  /** @returns false where the host may not send this frame now */
  #act(frame: Frame): boolean {
    switch (frame.kind) {
      case "Events": {
        if (this.#leaving.has(frame.channel)) return true;
        const installation = this.#installations.get(frame.channel);
        if (installation === undefined || frame.channel !== this.#outstanding.current()) return false;
        return installation.collect(frame, this.#keeper.frameBytes);
      }
      case "Calls": {
        const { derived } = frame;
        if (this.#leaving.has(derived)) return true;
        const installation = this.#installations.get(derived);
        if (installation === undefined || derived !== this.#outstanding.current()) return false;
        return installation.collectCalls(decodeValues(frame.calls));
      }
      case "Done":
        return this.#turnDone(frame);
      case "Installed": {
        const { derived, schema, needs } = frame;
        const done = this.#outstanding.finish("install", derived);
        if (!done) return this.#leaving.has(derived);
        const output = schema.byteLength === 0 ? undefined : schema.slice();
        const installation = this.#installations.get(derived);
        if (installation === undefined) return true;
        installation.needs = needs;
        installation.installed.resolve({ schema: output, needs });
        this.#deliverCalls(installation);
        this.#prepareSoon();
        return needs.every(name => installation.isGranted(name));
      }
      case "Period": {
        const { derived, periodMs } = frame;
        if (this.#installations.has(derived)) this.#periods.set(derived, periodMs);
        return this.#installations.has(derived) || this.#leaving.has(derived);
      }
      case "Refused":
        if (this.#leaving.has(frame.request)) return true;
        return this.#remove(frame.request, new JechoError(errorCode(frame.code), frame.message));
      case "Removed": {
        const { derived, code, message } = frame;
        if (code !== 0)
          return (
            this.#leaving.has(derived) || this.#remove(derived, new JechoError(errorCode(code), message))
          );
        const left = this.#leaving.get(derived) ?? 0;
        if (left > 1) this.#leaving.set(derived, left - 1);
        else this.#leaving.delete(derived);
        return this.#outstanding.finish("remove", derived);
      }
      // It is alive, in the middle of something long.
      case "Ping":
        return true;
      default:
        return false;
    }
  }

  #turnDone({ derived, batch, dropped, cpuMs }: Extract<Frame, { kind: "Done" }>): boolean {
    const installation = this.#installations.get(derived);
    const finished = batch === 0 ? undefined : this.#outstanding.finishBatch(batch, derived);
    const isExpected = batch === 0 ? this.#outstanding.finish("turn", derived) : finished !== undefined;
    if (installation === undefined || !isExpected) return this.#leaving.has(derived);
    installation.stats.dropped += dropped;
    installation.stats.cpuMs += cpuMs;
    installation.strikes = 0;
    for (const run of installation.deliver())
      tell(() => this.#options.onEvents(run.raw(), derived, finished?.tag));
    this.#deliverCalls(installation);
    if (finished === undefined) this.#periods.done(derived);
    else if (finished.waiting.size === 0) this.#done(finished);
    this.#sendWaiting();
    return true;
  }

  #deliverCalls(installation: Installation): void {
    for (const { name, values } of installation.deliverCalls()) {
      tell(() => this.#options.onCall?.(installation.derived, name, values));
    }
  }

  #isIdle(): boolean {
    return this.#outstanding.size === 0 && this.#waiting.length === 0;
  }

  #settle(): void {
    if (this.#settling.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#settling.splice(0)) resolve();
  }

  // ---- ends

  #remove(derived: number, error: JechoError): boolean {
    const installation = this.#installations.get(derived);
    if (installation === undefined) return false;
    this.#forget(installation);
    if (installation.installed.isSettled) tell(() => this.#options.onRemoved(derived, error));
    else installation.installed.reject(error);
    this.#sendWaiting();
    this.#hold();
    return true;
  }

  #forget({ derived }: Installation): void {
    this.#installations.delete(derived);
    this.#periods.set(derived, 0);
    for (const batch of this.#outstanding.forget(derived)) this.#done(batch);
  }

  #hold(): void {
    this.#keeper.hold(this.#installations.size > 0, () => {
      this.#leaving.clear();
      this.#outstanding.clear();
    });
  }

  #died({ error, isForeign, hadBegun }: Death): void {
    const current = this.#installations.get(this.#outstanding.current() ?? -1);
    const work = this.#outstanding.clear();
    this.#leaving.clear();
    this.#periods.clear();
    for (const installation of this.#installations.values()) installation.discard();
    if (current !== undefined) {
      current.strikes += isForeign ? 1 : STRIKES;
      // Without a single frame from it, the host itself is at fault.
      if (current.strikes >= STRIKES && hadBegun) this.#remove(current.derived, error);
    }
    if (!hadBegun && ++this.#futile === FUTILE_STARTS) {
      const failed =
        error.code === "MODULATORS_NOT_SERVED"
          ? error
          : new JechoError("MODULATOR_HOST_FAILED", `the host does not start: ${error.message}`);
      for (const derived of [...this.#installations.keys()]) this.#remove(derived, failed);
    }
    this.#restarts++;
    if (this.#installations.size === 0) {
      for (const item of work) if (item.kind === "batch") this.#done(item);
      return this.#settle();
    }
    for (const { stats } of this.#installations.values()) stats.restarts++;
    this.#begin();
    this.#hold();
    this.#resume(work);
    tell(() => this.#options.onRestart?.());
  }

  /**
   * Brings a new host to where the old one was. What one modulator has finished, those after it may not have; so each is
   * installed just before the first run that it has not finished, and sees none twice.
   */
  #resume(work: readonly Work[]): void {
    const absent = new Map(this.#installations);
    // The order of installation is the order in which the host runs them.
    this.#installations.clear();
    const install = (installation: Installation): void => {
      absent.delete(installation.derived);
      this.#installations.set(installation.derived, installation);
      this.#sendInstall(installation);
    };
    for (const item of work) {
      if (item.kind !== "batch") continue;
      const unfinished = new Set(item.waiting);
      for (const derived of unfinished) {
        const installation = absent.get(derived);
        if (installation !== undefined) install(installation);
      }
      item.waiting.clear();
      for (const derived of this.#installations.keys())
        if (unfinished.has(derived)) item.waiting.add(derived);
      this.#sendBatch(item);
    }
    for (const installation of [...absent.values()]) install(installation);
    this.#sendWaiting();
  }
}

function contextFrame(channel: number, name: string, value: Value): Uint8Array {
  return encodeControl({ kind: "Context", channel, name, value: encodeValues([{ name, values: [value] }]) });
}
