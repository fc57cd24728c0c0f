/** The producer's side of the modulator host; for Node only. */
import { type ErrorCode, errorCode, JechoError } from "@jecho/shared";
import { encodeControl, type Frame, type ObjectUpdate, parseFrame } from "@jecho/shared/internal";
import type { ModulatorTable } from "../modulator.ts";
import { DEFAULT_LIMITS, type Declared, type Limits } from "../sandbox/sandbox.ts";
import { decodeValues, encodeValues, type Value } from "../values.ts";
import { Child, type Exit } from "./child.ts";
import { checkSizes } from "./hosted-modulator.ts";
import { Installation, type InstallRequest, type ModulatorStats } from "./installation.ts";
import { type HostClock, Periods, SYSTEM_CLOCK } from "./periods.ts";
import { GUARD } from "./watch.ts";
import { type Batch, Outstanding, type Work } from "./work.ts";

export {
  DEFAULT_LIMITS,
  type HostClock,
  type InstallRequest,
  type Limits,
  type ModulatorStats,
  type ModulatorTable,
};

export interface ModulatorHostOptions {
  /** A run of events of a derived channel, as one frame in memory of its own, and the tag of the run that it was made of. */
  onEvents(frame: Uint8Array, derived: number, tag: string | undefined): void;
  /** Every modulator has seen the run with this tag to its end, or is gone; what they made of it has been handed out. */
  onDone?(tag: string): void;
  /** A modulator broke a limit or failed, and is gone. */
  onRemoved(derived: number, error: JechoError): void;
  /** A modulator called a control, or logged a line (`log`); it was granted that. */
  onCall?(derived: number, name: string, values: readonly Value[]): void;
  /** The host died and a new one has begun, with the modulators that remain; their state starts anew. */
  onRestart?(): void;
  /** Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Bytes of events that may wait for the host; beyond them the oldest runs are dropped. Default: 64 MiB. */
  readonly pendingBytes?: number;
  /** Default: the machine's. */
  readonly clock?: HostClock;
  /** How long a host without modulators is kept. Default: 5000. */
  readonly idleMs?: number;
}

export interface HostStats {
  /** Process id of the host, while there is one. */
  readonly pid: number | undefined;
  /** Times that a host died and was replaced. */
  readonly restarts: number;
  /** Bytes of events that the host has not finished or not been sent. */
  readonly pendingBytes: number;
  /** By derived channel. */
  readonly modulators: ReadonlyMap<number, ModulatorStats>;
}

/** Bytes of runs that the host is sent before it has finished them. */
const WINDOW_BYTES = 4 << 20;
const TICK_MS = 50;
/** Without any sign from the host for so long, it counts as hung. Its own guard is faster. */
const HUNG_MS = 5000;
const BEGIN_MS = 15_000;
/** A host that dies so often in a row without having done anything is not replaced any more. */
const FUTILE_STARTS = 3;
/** Deaths by SIGKILL, which may come from anywhere, until the modulator at work is to blame. */
const STRIKES = 2;
const FRAME_MARGIN = 1 << 20;

/**
 * Runs modulators in a child process, watches it, and replaces it when it hangs or dies. No call blocks.
 *
 * The process starts with the first modulator. It ends with `close`, some seconds after the last modulator is gone, and with
 * its parent whatever way that ends.
 */
export class ModulatorHost {
  readonly #options: ModulatorHostOptions;
  readonly #limits: Limits;
  readonly #pendingLimit: number;
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
  #child: Child | undefined;
  #batches = 0;
  #restarts = 0;
  #futile = 0;
  #sign = false;
  #verdict: JechoError | undefined;
  #silentMs = 0;
  #ticker: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  #closing: { readonly done: () => void; readonly promise: Promise<void> } | undefined;

  constructor(options: ModulatorHostOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#pendingLimit = options.pendingBytes ?? 64 << 20;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#periods = new Periods(this.#clock, derived => this.#sendPeriod(derived));
  }

  /**
   * Installs a modulator on a base channel.
   *
   * @returns the schema of the derived channel's events, if the modulator declares one of its own, and what it needs
   * @throws JechoError `MODULATOR_INVALID`, `MODULATOR_TOO_LARGE`, `PARAMETERS_INVALID`, `MODULATOR_FAILED`, `MODULATOR_TIMED_OUT`,
   * `MODULATOR_OUT_OF_MEMORY`, `SERVICE_MISSING`, `SERVICE_NOT_GRANTED`, `MODULATORS_NOT_SERVED`, `CLOSED`
   */
  async install(request: InstallRequest): Promise<Declared> {
    if (this.#closing !== undefined) throw new JechoError("CLOSED", "the modulator host is closed");
    if (this.#installations.has(request.derived)) {
      throw new JechoError(
        "ARGUMENT_INVALID",
        `derived channel ${request.derived} has its modulator already`,
      );
    }
    checkSizes(request.modulator, this.#limits);
    const installation = new Installation(request);
    this.#installations.set(request.derived, installation);
    if (this.#child === undefined) this.#begin();
    this.#hold();
    this.#sendInstall(installation);
    return installation.installed.promise;
  }

  /** Removes a modulator; nothing more of its channel comes. */
  remove(derived: number): void {
    const installation = this.#installations.get(derived);
    if (installation === undefined) return;
    this.#forget(installation);
    installation.installed.reject(new JechoError("CLOSED", "the modulator was removed"));
    this.#leaving.set(derived, (this.#leaving.get(derived) ?? 0) + 1);
    this.#outstanding.push({ kind: "remove", derived });
    this.#child?.send(encodeControl({ kind: "Remove", derived }));
    this.#sendWaiting();
    this.#hold();
  }

  /** Hands a new state of a shared object to the modulators that read it. Older versions than the known one are left out. */
  update({ object, version, state }: Omit<ObjectUpdate, "kind">): void {
    let read = false;
    for (const installation of this.#installations.values()) {
      if (installation.update(object, version, state)) read = true;
    }
    if (!read) return;
    // However often it changes, the host hears of it once per turn of the event loop or run of events.
    if (this.#updates.size === 0) setImmediate(() => this.#sendUpdates());
    this.#updates.set(object, { kind: "ObjectUpdate", object, version, state });
  }

  /** Sets a view of a producer's state, for the modulators of its channel that need it. */
  setContext(channel: number, name: string, value: Value): void {
    let isNeeded = false;
    for (const installation of this.#installations.values()) {
      if (installation.request.channel === channel && installation.setContext(name, value)) isNeeded = true;
    }
    if (!isNeeded) return;
    const context = contextFrame(channel, name, value);
    // What waits was raised before it.
    const last = this.#waiting.at(-1);
    if (last === undefined) this.#child?.send(context);
    else last.after.push(context);
  }

  /**
   * Hands one run of events of a base channel to its modulators, and returns at once.
   *
   * @param frame a whole frame. With a buffer of its own it is taken over and must not change any more; as a part of a
   * larger buffer it is copied.
   * @param tag comes back with what is made of the run, and with `onDone`
   * @returns false where there is no modulator for it: nothing comes back
   */
  enqueue(frame: Uint8Array, tag?: string): boolean {
    const run = this.#parse(frame);
    if (run.kind !== "Events")
      throw new JechoError("ARGUMENT_INVALID", `a run of events is wanted, not ${run.kind}`);
    const { channel, count } = run;
    if (!this.#hasModulators(channel)) return false;
    const own = frame.byteLength === frame.buffer.byteLength ? frame : frame.slice();
    const batch = {
      channel,
      frame: own,
      events: count,
      tag,
      number: 0,
      waiting: new Set<number>(),
      after: [],
    };
    this.#waiting.push({ kind: "batch", ...batch });
    this.#waitingBytes += own.byteLength;
    const limit = this.#options.pendingBytes ?? 64 << 20;
    while (this.#waitingBytes + this.#outstanding.bytes > limit && this.#waiting.length > 1)
      this.#dropOldest();
    this.#sendWaiting();
    return true;
  }

  /** Is the transport ready for more events of a derived channel? Until told, it is; else events wait in the modulator. */
  flow(derived: number, ready: boolean): void {
    const installation = this.#installations.get(derived);
    if (installation === undefined || installation.ready === ready) return;
    installation.ready = ready;
    this.#sendFlow(installation);
  }

  get stats(): HostStats {
    return {
      pid: this.#child?.pid,
      restarts: this.#restarts,
      pendingBytes: this.#waitingBytes + this.#outstanding.bytes,
      modulators: new Map([...this.#installations].map(([derived, { stats }]) => [derived, { ...stats }])),
    };
  }

  /** Resolves when the host has finished all that it was given so far, and nothing waits. */
  settled(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    return new Promise(resolve => this.#settling.push(resolve));
  }

  /** Resolves when the process is gone. What it has not finished is lost. */
  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing.promise;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closing = { promise, done: resolve };
    const error = new JechoError("CLOSED", "the modulator host is closed");
    for (const installation of this.#installations.values()) installation.installed.reject(error);
    this.#installations.clear();
    this.#outstanding.clear();
    this.#waiting = [];
    this.#waitingBytes = 0;
    clearInterval(this.#ticker);
    clearTimeout(this.#idle);
    this.#periods.clear();
    this.#settle();
    if (this.#child === undefined) resolve();
    else this.#child.kill();
    return promise;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- to the host

  #begin(): void {
    this.#sign = false;
    this.#silentMs = 0;
    this.#batches = 0;
    this.#timeMs = 0;
    const limitBytes = this.#limits.outputBytes + FRAME_MARGIN;
    const child = new Child(this.#limits, limitBytes, {
      frame: bytes => {
        if (this.#child === child) this.#receive(bytes);
      },
      exit: exit => {
        if (this.#child === child) this.#died(exit);
      },
    });
    this.#child = child;
    let then = performance.now();
    clearInterval(this.#ticker);
    this.#ticker = setInterval(() => {
      const now = performance.now();
      // A program that computes for a while must not take its own silence for the host's.
      this.#watch(Math.min(now - then, 2 * TICK_MS));
      then = now;
    }, TICK_MS);
    this.#ticker.unref();
  }

  #watch(elapsedMs: number): void {
    this.#silentMs = this.#outstanding.size === 0 ? 0 : this.#silentMs + elapsedMs;
    if (this.#silentMs > (this.#sign ? HUNG_MS : BEGIN_MS)) {
      this.#condemn(new JechoError("MODULATOR_TIMED_OUT", `the host was silent for ${HUNG_MS} ms`));
    }
  }

  /** Ends the host, and says why the modulator at work is to blame. */
  #condemn(verdict: JechoError): void {
    this.#verdict ??= verdict;
    this.#child?.kill();
  }

  #sendInstall({ request, ready, derived, grants, context }: Installation): void {
    const { channel, schema, modulator } = request;
    if (schema !== undefined) this.#child?.send(encodeControl({ kind: "BaseType", channel, schema }));
    for (const [name, value] of context) this.#child?.send(contextFrame(channel, name, value));
    this.#sendTime();
    this.#outstanding.push({ kind: "install", derived });
    this.#child?.send(
      encodeControl({ kind: "Install", request: derived, channel, derived, modulator, offers: grants }),
    );
    if (!ready) this.#child?.send(encodeControl({ kind: "Flow", derived, ready }));
  }

  #sendUpdates(): void {
    for (const update of this.#updates.values()) this.#child?.send(encodeControl(update));
    this.#updates.clear();
  }

  #sendFlow({ derived, ready }: Installation): void {
    if (ready) this.#outstanding.push({ kind: "turn", derived });
    this.#child?.send(encodeControl({ kind: "Flow", derived, ready }));
  }

  /** Every modulator sees the producer's time, in steps of what it is given. */
  #sendTime(): void {
    const timeMs = this.#clock.now();
    if (timeMs !== this.#timeMs) this.#child?.send(encodeControl({ kind: "Clock", timeMs }));
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
    this.#child?.send(encodeControl({ kind: "Period", derived, periodMs: 0 }));
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
    batch.number = ++this.#batches;
    this.#sendUpdates();
    this.#sendTimeIfNeeded();
    this.#outstanding.push(batch);
    this.#child?.send(batch.frame);
    this.#sendAfter(batch);
  }

  #sendAfter({ after }: Batch): void {
    for (const frame of after) this.#child?.send(frame);
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

  #parse(bytes: Uint8Array): Frame {
    return parseFrame(
      new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength),
      bytes,
      0,
      bytes.byteLength,
    );
  }

  // ---- from the host

  #receive(bytes: Uint8Array): void {
    this.#silentMs = 0;
    this.#sign = true;
    this.#futile = 0;
    try {
      const frame = this.#parse(bytes);
      if (this.#act(frame)) return this.#settle();
      throw new JechoError("FRAME_UNEXPECTED", `the host sent ${frame.kind} where it may not`);
    } catch (error) {
      // Whoever is at work in it got out of the sandbox, or broke it.
      this.#condemn(new JechoError("MODULATOR_FAILED", (error as Error).message));
    }
  }

  /** @returns false where the host may not send this frame now */
  #act(frame: Frame): boolean {
    switch (frame.kind) {
      case "Events": {
        if (this.#leaving.has(frame.channel)) return true;
        const installation = this.#installations.get(frame.channel);
        if (installation === undefined || frame.channel !== this.#outstanding.current()) return false;
        return installation.collect(frame, this.#limits.outputBytes + FRAME_MARGIN);
      }
      case "Calls": {
        const { derived } = frame;
        if (this.#leaving.has(derived)) return true;
        const installation = this.#installations.get(derived);
        if (installation === undefined || derived !== this.#outstanding.current()) return false;
        return installation.collectCalls(decodeValues(frame.calls));
      }
      case "Done": {
        const { derived, batch, dropped, cpuMs } = frame;
        const installation = this.#installations.get(derived);
        const finished = batch === 0 ? undefined : this.#outstanding.finishBatch(batch, derived);
        const isExpected = batch === 0 ? this.#outstanding.finish("turn", derived) : finished !== undefined;
        if (installation === undefined || !isExpected) return this.#leaving.has(derived);
        installation.stats.dropped += dropped;
        installation.stats.cpuMs += cpuMs;
        installation.strikes = 0;
        for (const run of installation.deliver()) {
          tell(() => this.#options.onEvents(run.raw(), derived, finished?.tag));
        }
        this.#deliverCalls(installation);
        if (finished === undefined) this.#periods.done(derived);
        else if (finished.waiting.size === 0) this.#done(finished);
        this.#sendWaiting();
        return true;
      }
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
        return needs.every(name => installation.isGranted(name));
      }
      case "Period": {
        const { derived, periodMs } = frame;
        if (this.#installations.has(derived)) this.#periods.set(derived, periodMs);
        return this.#installations.has(derived) || this.#leaving.has(derived);
      }
      case "Refused":
        if (this.#leaving.has(frame.request)) return true;
        return this.#remove(frame.request, errorOf(frame.code, frame.message));
      case "Removed": {
        const { derived, code, message } = frame;
        if (code !== 0) return this.#leaving.has(derived) || this.#remove(derived, errorOf(code, message));
        const left = this.#leaving.get(derived) ?? 0;
        if (left > 1) this.#leaving.set(derived, left - 1);
        else this.#leaving.delete(derived);
        return this.#outstanding.finish("remove", derived);
      }
      default:
        return false;
    }
  }

  #isIdle(): boolean {
    return this.#outstanding.size === 0 && this.#waiting.length === 0;
  }

  #settle(): void {
    if (this.#settling.length === 0 || !this.#isIdle()) return;
    for (const resolve of this.#settling.splice(0)) resolve();
  }

  #deliverCalls(installation: Installation): void {
    for (const { name, values } of installation.deliverCalls()) {
      tell(() => this.#options.onCall?.(installation.derived, name, values));
    }
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

  /** A host without modulators is kept for a while, but nobody waits for it. */
  #hold(): void {
    const wanted = this.#installations.size > 0;
    this.#child?.hold(wanted);
    clearTimeout(this.#idle);
    if (wanted) return;
    this.#idle = setTimeout(() => {
      const child = this.#child;
      this.#child = undefined;
      this.#leaving.clear();
      this.#outstanding.clear();
      clearInterval(this.#ticker);
      child?.finish();
    }, this.#options.idleMs ?? 5000);
    this.#idle.unref();
  }

  #died(exit: Exit): void {
    this.#child = undefined;
    const verdict = this.#verdict;
    this.#verdict = undefined;
    if (this.#closing !== undefined) return this.#closing.done();
    const current = this.#installations.get(this.#outstanding.current() ?? -1);
    const work = this.#outstanding.clear();
    this.#leaving.clear();
    this.#periods.clear();
    for (const installation of this.#installations.values()) installation.discard();
    if (current !== undefined) {
      current.strikes += verdict === undefined && exit.signal === "SIGKILL" ? 1 : STRIKES;
      // Without a single frame from it, the host itself is at fault.
      if (current.strikes >= STRIKES && this.#sign) this.#remove(current.derived, verdict ?? causeOf(exit));
    }
    if (!this.#sign && ++this.#futile === FUTILE_STARTS) {
      const error = new JechoError("MODULATOR_HOST_FAILED", `the host does not start: ${endOf(exit)}`);
      for (const derived of [...this.#installations.keys()]) this.#remove(derived, error);
    }
    this.#restarts++;
    if (this.#installations.size === 0) return this.#settle();
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

/** An error of the listener's is its own: it must not stop what goes on here. */
function tell(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function errorOf(number: number, message: string): JechoError {
  return new JechoError(errorCode(number), message);
}

function causeOf(exit: Exit): JechoError {
  if (exit.signal === GUARD.signal) {
    return new JechoError("MODULATOR_TIMED_OUT", "a call did not end, and the host was ended with it");
  }
  const code: ErrorCode = /memory|heap/i.test(exit.trouble) ? "MODULATOR_OUT_OF_MEMORY" : "MODULATOR_FAILED";
  return new JechoError(code, `the host died while it ran: ${endOf(exit)}`);
}

function endOf({ code, signal, trouble }: Exit): string {
  const text = /(?:FATAL ERROR|Error): .*/.exec(trouble)?.[0] ?? trouble.slice(0, 300);
  return `${signal ?? `exit code ${code}`}${text === "" ? "" : `, ${text}`}`;
}
