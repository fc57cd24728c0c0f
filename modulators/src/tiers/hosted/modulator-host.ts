import { JechoError } from "@jecho/shared";
import type { EventsFrame, ObjectUpdate } from "@jecho/shared/internal";
import type { Provenance } from "../../running/provenance.ts";
import { checkSizes } from "../../running/sizes.ts";
import { DEFAULT_LIMITS, type Declared, type Limits } from "../../sandbox/sandbox.ts";
import type { Value } from "../../sandbox/values.ts";
import type { LentRun } from "../lent-run.ts";
import { type HostClock, Periods, SYSTEM_CLOCK } from "../periods.ts";
import {
  type InstallRequest,
  type ModulatorStats,
  type StateUpdate,
  type Tier,
  type TierEvents,
  tell,
} from "../tier.ts";
import { Answers } from "./answers.ts";
import { HostBacklog } from "./backlog.ts";
import type { CarrierKind } from "./carrier.ts";
import { HostedModulator } from "./installation.ts";
import { type Death, HostKeeper } from "./keeper.ts";
import { contextFrame, Orders } from "./orders.ts";
import { Roster } from "./roster.ts";
import { Shares } from "./shares.ts";
import { Suspensions } from "./suspensions.ts";
import { type Batch, Outstanding, type Raised, type Work } from "./work.ts";

export interface ModulatorHostOptions extends TierEvents {
  /** The process or worker that the host lives in. */
  readonly carrier: CarrierKind;
  /** Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits> | undefined;
  /** Bytes of events that may wait for the host; beyond them the oldest runs are dropped. Default: 64 MiB. */
  readonly pendingBytes?: number | undefined;
  /** Default: the machine's. */
  readonly clock?: HostClock | undefined;
  /** Time that a host without modulators is kept, in milliseconds. Default: 5000. */
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

/** A host that dies this often in a row without having done anything is not replaced. */
const FUTILE_STARTS = 3;
/** Number of strikes in a row after which a modulator is removed. */
const MOST_STRIKES = 2;
/** Strikes against the modulator at work when a host dies. */
const STRIKES = { modulator: MOST_STRIKES, anybody: 1, nobody: 0 } as const;

/**
 * The hosted tier: runs modulators in a process or worker, watches it, and replaces it when it hangs or dies. No call
 * blocks.
 *
 * The host starts with the first modulator. It ends with `close`, some seconds after the last modulator was removed, and with
 * its producer, however that ends.
 */
export class ModulatorHost implements Tier {
  readonly #options: ModulatorHostOptions;
  readonly #limits: Limits;
  readonly #keeper: HostKeeper;
  readonly #roster = new Roster();
  readonly #outstanding = new Outstanding();
  readonly #periods: Periods;
  readonly #orders: Orders;
  readonly #shares = new Shares();
  readonly #backlog: HostBacklog;
  readonly #suspensions: Suspensions;
  /** Callers that wait for all that was given so far. */
  #settling: { readonly given: number; readonly resolve: () => void }[] = [];
  #restarts = 0;
  #futile = 0;
  #isClosed = false;

  constructor(options: ModulatorHostOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    const clock = options.clock ?? SYSTEM_CLOCK;
    this.#suspensions = new Suspensions(clock);
    const [roster, outstanding] = [this.#roster, this.#outstanding];
    this.#periods = new Periods(clock, derived => this.#period(derived));
    this.#keeper = new HostKeeper(options.carrier, this.#limits, options.idleMs ?? 5000, {
      frame: bytes => {
        this.#futile = 0;
        answers.take(bytes);
        this.#settle();
      },
      died: death => this.#died(death),
      isBusy: () => outstanding.size > 0,
    });
    const keeper = this.#keeper;
    this.#orders = new Orders({ keeper, outstanding, roster, clock }, (installation, send) =>
      this.#backlog.order(installation, send),
    );
    const to = { keeper, outstanding, roster, orders: this.#orders, shares: this.#shares };
    this.#backlog = new HostBacklog(options.pendingBytes ?? 64 << 20, to, raised => this.#done(raised));
    const answers = new Answers({ keeper, outstanding, roster, periods: this.#periods }, options, {
      installed: (installation, cpuMs) => {
        this.#orders.prepareSoon(installation);
        installation.share.turns--;
        this.#shares.charge(installation.share, cpuMs);
        this.#backlog.send();
      },
      turned: ({ share }, cpuMs, events) => {
        share.turned(cpuMs, events);
        this.#shares.charge(share, cpuMs);
        this.#backlog.send();
      },
      seen: batch => this.#seen(batch),
      removed: (installation, error) => {
        const { modulator, by = "" } = installation.request;
        if (error.code === "MODULATOR_TIMED_OUT") this.#suspensions.add("timedOut", modulator.source, by);
        this.#removed(installation, error);
      },
    });
  }

  async install(request: InstallRequest, onInstalled?: (declared: Declared) => void): Promise<Declared> {
    if (this.#isClosed) throw new JechoError("CLOSED", "the modulator host is closed");
    const { derived, modulator } = request;
    if (this.#roster.get(derived) !== undefined)
      throw new JechoError("ARGUMENT_INVALID", `derived channel ${derived} has its modulator already`);
    checkSizes(modulator, this.#limits);
    this.#suspensions.check(modulator.source, request.by ?? "");
    if (!this.#keeper.hasHost) this.#begin();
    const seen = (by: number, of: Provenance): void => tell(() => this.#options.onSeen?.(by, of));
    const share = this.#shares.join(sharerOf(request));
    const installation = new HostedModulator(request, share, this.#options.room, seen, onInstalled);
    for (const leaving of this.#roster.allLeaving(derived)) this.#backlog.hurry(leaving);
    this.#roster.add(installation);
    this.#backlog.order(installation, order => {
      this.#orders.install(installation, order);
      return true;
    });
    this.#hold();
    return installation.installed.promise;
  }

  addType(channel: number, schema: Uint8Array): void {
    let isFed = false;
    for (const installation of this.#roster.fedWith(channel)) {
      installation.addType(schema);
      isFed = true;
    }
    if (isFed) this.#orders.addType(channel, schema);
  }

  remove(derived: number): void {
    const installation = this.#roster.get(derived);
    if (installation === undefined) return;
    const { isOrdered } = installation;
    this.#forget(installation);
    installation.installed.reject(new JechoError("CLOSED", "the modulator was removed"));
    if (isOrdered) {
      this.#roster.leave(installation);
      // It may end before it has answered.
      installation.share.ends();
      this.#backlog.order(installation, order => {
        this.#orders.remove(installation, order);
        return true;
      });
    }
    this.#backlog.send();
    this.#hold();
  }

  update(changed: StateUpdate): void {
    const update: ObjectUpdate = { kind: "ObjectUpdate", derived: 0, ...changed };
    const readers = Array.from(this.#roster).filter(installation => installation.update(update));
    if (readers.length > 0) this.#orders.update(update, readers);
  }

  setContext(channel: number, name: string, value: Value): void {
    let isNeeded = false;
    for (const installation of this.#roster.fedWith(channel))
      if (installation.setContext(name, value)) isNeeded = true;
    if (isNeeded) this.#backlog.follow(channel, contextFrame(channel, name, value));
  }

  enqueue(run: EventsFrame | LentRun, tag?: string, of?: Provenance): boolean {
    const isFed = this.#roster.fedWith(run.channel).length > 0;
    if (isFed) this.#backlog.enqueue(run, tag, of);
    return isFed;
  }

  pass(channel: number, of: Provenance): void {
    this.#backlog.pass(channel, of);
  }

  /** A host says it itself, of each run. */
  tellSeen(): void {}

  flow(derived: number, ready: boolean): void {
    const installation = this.#roster.get(derived);
    if (installation === undefined || installation.ready === ready) return;
    installation.ready = ready;
    if (!ready) return this.#orders.flow(installation);
    this.#backlog.order(installation, order => {
      if (installation.ready) this.#orders.flow(installation, order);
      return installation.ready;
    });
  }

  endPeriod(derived: number): boolean {
    return this.#periods.now(derived);
  }

  mostPerSecond(derived: number): number {
    return this.#roster.get(derived)?.mostPerSecond ?? 0;
  }

  settled(): Promise<void> {
    if (this.#isIdle()) return Promise.resolve();
    // Who waits may have nothing else to wait for.
    this.#keeper.hold(true, () => {});
    const { given } = this.#outstanding;
    return new Promise(resolve => this.#settling.push({ given, resolve }));
  }

  get modulators(): ReadonlyMap<number, ModulatorStats> {
    return new Map(Array.from(this.#roster, ({ derived, stats }) => [derived, { ...stats }]));
  }

  get stats(): HostStats {
    return { pid: this.#keeper.pid, restarts: this.#restarts, pendingBytes: this.#backlog.bytes };
  }

  close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      const error = new JechoError("CLOSED", "the modulator host is closed");
      for (const installation of this.#roster.clear()) installation.installed.reject(error);
      this.#outstanding.clear();
      this.#backlog.clear();
      this.#periods.clear();
      this.#orders.close();
      this.#settle();
    }
    return this.#keeper.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #begin(): void {
    this.#roster.allLeft();
    this.#backlog.begin();
    this.#orders.begin();
    this.#keeper.begin();
  }

  #period(derived: number): void {
    const installation = this.#roster.get(derived);
    if (installation === undefined) return;
    this.#backlog.order(installation, order => {
      this.#orders.period(installation, order);
      return true;
    });
  }

  /** A modulator has finished the batch, or never will. */
  #seen({ runs }: Batch): void {
    for (const raised of runs) this.#backlog.seen(raised);
  }

  #done({ tag }: Raised): void {
    if (tag !== undefined) tell(() => this.#options.onDone?.(tag));
  }

  #isIdle(): boolean {
    return this.#outstanding.size === 0 && this.#backlog.isEmpty;
  }

  #settle(): void {
    if (this.#settling.length === 0) return;
    let { oldest } = this.#backlog;
    for (const { order } of this.#outstanding) oldest = Math.min(oldest, order);
    for (const { given, resolve } of this.#settling) if (given < oldest) resolve();
    this.#settling = this.#settling.filter(({ given }) => given >= oldest);
    if (this.#settling.length === 0 && !this.#isClosed) this.#hold();
  }

  // ---- ends

  #removed(installation: HostedModulator, error: JechoError): void {
    const { derived, installed, share } = installation;
    const { callMs, installMs } = this.#limits;
    if (error.code === "MODULATOR_TIMED_OUT")
      this.#shares.charge(share, installed.isSettled ? callMs : installMs);
    this.#forget(installation);
    if (installed.isSettled) tell(() => this.#options.onRemoved(derived, error));
    else installed.reject(error);
    this.#backlog.send();
    this.#hold();
  }

  #forget(installation: HostedModulator): void {
    const { derived } = installation;
    this.#roster.delete(derived);
    this.#periods.set(derived, 0);
    this.#backlog.forget(installation);
    for (const batch of this.#outstanding.forget(derived)) this.#seen(batch);
    this.#shares.leave(installation.share);
  }

  #hold(): void {
    this.#keeper.hold(this.#roster.size > 0, () => {
      this.#roster.allLeft();
      this.#outstanding.clear();
      this.#backlog.clear();
      this.#settle();
    });
  }

  #died({ error, blame, hadBegun }: Death): void {
    const current = this.#roster.get(this.#outstanding.current() ?? -1);
    const work = this.#outstanding.clear();
    this.#roster.allLeft();
    this.#periods.clear();
    for (const installation of this.#roster) {
      installation.discard();
      // A new host is started, and answers.
      if (installation.mostPerSecond === 0) continue;
      installation.mostPerSecond = 0;
      tell(() => this.#options.onRate?.(installation.derived));
    }
    if (current !== undefined) {
      current.strikes += STRIKES[blame];
      // Without a single frame from it, the host itself is at fault.
      if (current.strikes >= MOST_STRIKES && hadBegun) {
        const { modulator, by = "" } = current.request;
        if (blame === "modulator") this.#suspensions.add("endedHost", modulator.source, by);
        // A modulator that was at work by chance comes back after a while.
        const isBlamed = blame === "modulator";
        this.#removed(current, isBlamed ? error : new JechoError("MODULATOR_HOST_FAILED", error.message));
      }
    }
    if (!hadBegun && blame !== "nobody" && ++this.#futile === FUTILE_STARTS) {
      this.#futile = 0;
      const failed =
        error.code === "MODULATORS_NOT_SERVED"
          ? error
          : new JechoError("MODULATOR_HOST_FAILED", `the host does not start: ${error.message}`);
      for (const installation of [...this.#roster]) this.#removed(installation, failed);
    }
    this.#restarts++;
    if (this.#roster.size === 0) {
      for (const item of work) if (item.kind === "batch") for (const _ of item.waiting) this.#seen(item);
      this.#backlog.begin();
      return this.#settle();
    }
    const why = new JechoError("MODULATOR_RESTARTED", `its host is replaced: ${error.message}`);
    for (const { derived, stats } of this.#roster) {
      stats.restarts++;
      tell(() => this.#options.onImpaired?.(derived, why));
    }
    this.#begin();
    this.#hold();
    this.#resume(work);
    tell(() => this.#options.onRestart?.());
  }

  /** Brings a new host to the former one's position: each modulator is given the runs that it had not finished, and no other. */
  #resume(work: readonly Work[]): void {
    for (const installation of [...this.#roster]) this.#orders.install(installation);
    for (const item of work) {
      if (item.kind !== "batch") continue;
      for (const derived of [...item.waiting]) {
        if (this.#roster.get(derived) !== undefined) continue;
        item.waiting.delete(derived);
        this.#seen(item);
      }
      if (item.waiting.size > 0) this.#backlog.resend(item);
    }
    this.#backlog.send();
  }
}

/** The party whose share of the host's time the modulator uses; by default the modulator itself. */
function sharerOf({ by = "", derived }: InstallRequest): string {
  return by === "" ? `#${derived}` : `by ${by}`;
}
