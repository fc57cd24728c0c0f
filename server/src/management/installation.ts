import { errorCode, JechoError, type Type } from "@jecho/shared";
import { type Control, Few, type Instead, type Remove } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import { reasonSaid, tierSaid } from "./said.ts";

/**
 * The modulator of one derived channel, for one producing process:
 *
 * | from | when | to |
 * | --- | --- | --- |
 * | (new), waiting | the modulator before it has a place, or there is none before it | asked |
 * | waiting | the modulator before it runs nowhere for this process | refused |
 * | asked, silent | `maker` has installed it, and what feeds it knows that | producer, gateway or consumer |
 * | asked, silent | the producer or the gateway's process runs no modulators, or no more | asked (the next place), consumers |
 * | asked, silent | `maker` refuses for any other reason | refused |
 * | asked | `maker` has not answered for `installTimeoutMs` | silent |
 * | asked, silent, gateway | the gateway's process has gone | asked |
 * | producer, gateway, consumer | it broke a limit, or threw; or the modulator before it did | removed |
 * | refused, removed | `RETRY_MS` later, where the reason is one that passes | waiting |
 * | waiting, asked | `maker` has not read what was sent to it | refused |
 * | any but gone | the modulator before it begins anew | waiting |
 * | any | the process produces here no more; the derived channel, or the consumer's process, has gone | gone |
 *
 * Silent, refused and removed: this process is left out, and the others go on without it.
 */
export type InstallationState =
  /** Waits for the place of the modulator before it. */
  | { readonly is: "waiting" }
  /** `maker` is to run it; undefined until the gateway's process, which only starts, can be asked. */
  | {
      readonly is: "asked" | "silent";
      readonly maker: Connection | undefined;
      readonly why: JechoError | undefined;
    }
  | { readonly is: "producer"; readonly maker: Connection }
  | { readonly is: "gateway"; readonly maker: Connection; readonly why: JechoError }
  /** Each consumer's process runs it for itself, as an installation with these same states. */
  | {
      readonly is: "consumers";
      readonly own: Few<Connection, GatewayInstallation>;
      readonly why: JechoError;
    }
  | { readonly is: "consumer"; readonly maker: Connection; readonly why: JechoError }
  | { readonly is: "refused" | "removed"; readonly why: JechoError }
  | { readonly is: "gone" };

/** Codes by which a producer says that the modulator should run elsewhere. */
const ELSEWHERE = new Set(["MODULATORS_NOT_SERVED", "OVERLOADED"]);

/** Bytes in a process's socket beyond which it is sent no modulators: with many large ones its connection would end. */
const MOST_UNREAD_BYTES = 32 << 20;

/** Time until a process that refused for a passing reason is asked again; it doubles each time, up to the most. */
const RETRY_MS = 1000;
const MOST_RETRY_MS = 60_000;

/** See `InstallationState`. Installations in consumers' processes belong to that of the producing process. */
export class GatewayInstallation {
  readonly producing: Connection;
  /** The connection whose consumers alone it is for; undefined where it is for all consumers. */
  readonly consumer: Connection | undefined;
  readonly #derived: DerivedChannel;
  /** Why consumers run it for themselves, where they do. */
  readonly #whyOwn: JechoError | undefined;
  #state: InstallationState = { is: "waiting" };
  /** State of the modulator before it when this one followed it there. */
  #behind: InstallationState | undefined;
  /** Its tier, as its maker says, and why it is in no faster one; "" where unknown. */
  tier = "";
  tierWhy = "";
  /** The type of its output; undefined for that of its input. */
  made: Type | undefined;
  /** The newest request to install it. */
  #request = 0;
  /** Stops waiting for answers. */
  #stop: (() => void) | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = RETRY_MS;
  /** Since when it runs, in milliseconds of `performance.now()`. */
  #runsSince = 0;
  /** Callers that wait until it is settled. */
  #whenSettled: (() => void)[] = [];

  constructor(
    derived: DerivedChannel,
    producing: Connection,
    own?: { consumer: Connection; why: JechoError },
  ) {
    this.#derived = derived;
    this.producing = producing;
    this.consumer = own?.consumer;
    this.#whyOwn = own?.why;
  }

  get state(): InstallationState {
    return this.#state;
  }

  /** The process that runs it, or has been asked to. */
  get maker(): Connection | undefined {
    return "maker" in this.#state ? this.#state.maker : undefined;
  }

  /** Looks for a place, from the first one on. Call once it is entered where installations are looked up. */
  begin(): void {
    this.#become({ is: "waiting" });
    this.#goOn();
  }

  /** Resolves when it is settled. */
  settled(): Promise<void> {
    return new Promise(resolve => this.#whenSettled.push(resolve));
  }

  /** Whether it was answered, with yes or no. */
  get isSettled(): boolean {
    const { is } = this.#state;
    if (is !== "consumers") return is !== "waiting" && is !== "asked" && is !== "silent";
    // A consumer's process that does not answer delays no producer.
    for (const { state } of this.#state.own.values())
      if (state.is === "waiting" || state.is === "asked") return false;
    return true;
  }

  /** Whether an answer was waited for in vain: its own, or the one for the modulator before it. */
  get isSilent(): boolean {
    const { is } = this.#state;
    return is === "silent" || (is === "waiting" && this.#input()?.isSilent === true);
  }

  /** Why this process is left out; undefined where it is not. */
  get whyOut(): JechoError | undefined {
    const state = this.#state;
    if (state.is === "refused" || state.is === "removed") return state.why;
    return this.isSilent
      ? new JechoError("TIMED_OUT", "there is no answer to the installation yet")
      : undefined;
  }

  /** The installation whose output a consumer at this connection gets; undefined where it has gone. */
  seenBy(consumer: Connection): GatewayInstallation | undefined {
    return this.#state.is === "consumers" ? this.#state.own.get(consumer) : this;
  }

  /** The modulator before this one changed its state. */
  inputChanged(before: InstallationState): void {
    const state = this.#state;
    if (state.is === "gone" || !this.#derived.feeders.isAt(this.producing)) return;
    if (state.is === "waiting") {
      this.#goOn();
      // It may be silent now as the other one is.
      if (this.#state === state) this.#derived.placements.changed(this, state);
      return;
    }
    const input = this.#input();
    if (state.is === "refused" || state.is === "removed") {
      // A failure of its own stays.
      if (input?.whyOut === undefined && "why" in before && before.why === state.why) this.begin();
    } else if (input?.state.is === "refused" || input?.state.is === "removed") {
      this.#leaveMaker();
      this.#become({ is: isRunning(state) ? "removed" : "refused", why: input.state.why });
    } else if (input === undefined) this.#behind = undefined;
    else if (input.state !== this.#behind) this.#follow();
  }

  /** Called when this process feeds the modulator in a second way. */
  fedAnew(): void {
    const { is } = this.#state;
    if (is === "waiting" || is === "refused" || is === "removed") return;
    // Where the modulator before it is still being installed somewhere, it follows once that is settled.
    this.#behind = undefined;
    this.#follow();
  }

  /** Follows the modulator before it to its place, for all of a modulator's input has to reach the place where it runs. */
  #follow(): void {
    const input = this.#input();
    if (input?.isSettled === false) return;
    this.#behind = input?.state;
    const isThere = this.maker === this.producing && this.consumer === undefined;
    if (isThere && (input === undefined || input.state.is === "producer")) return;
    this.#leaveMaker();
    this.begin();
  }

  /** The process that runs it has stopped. */
  failed(why: JechoError): void {
    if (!this.#goesElsewhere(why)) this.#become({ is: "removed", why });
  }

  /** The process that runs it has moved it to another tier. */
  tiered(tier: string, why: string): void {
    this.tier = tierSaid(tier);
    this.tierWhy = reasonSaid(why);
    if (isRunning(this.#state)) this.#derived.manager.derivedChannels.placed(this.#derived, this);
  }

  /** The answer is overdue: nobody waits for it any more. */
  silent(): void {
    if (this.#state.is === "asked") this.#become({ ...this.#state, is: "silent" });
  }

  /** Called when the modulator is no longer wanted. */
  gone(): void {
    if (this.#state.is === "gone") return;
    this.#leaveMaker();
    this.#become({ is: "gone" });
  }

  /** The only place where the state changes: everything derived from it is updated here, and by `Placements.changed`. */
  #become(next: InstallationState): void {
    const before = this.#state;
    const { names } = this.#derived.manager;
    clearTimeout(this.#retry);
    if (next.is !== "silent") {
      this.#stop?.();
      this.#stop = undefined;
    }
    this.#state = next;
    names.unanswered.changed(this, before);
    if (before.is === "consumers") for (const own of [...before.own.values()]) own.gone();
    const isOut = next.is === "refused" || next.is === "removed";
    // If it is left out because of the modulator before it, it goes on with that one.
    if (isRunning(next) && !isRunning(before)) this.#runsSince = performance.now();
    // One that ran well for a while starts with the shortest delay again.
    else if (isOut && isRunning(before) && performance.now() - this.#runsSince > MOST_RETRY_MS)
      this.#retryMs = RETRY_MS;
    if (isOut && passes(next.why) && this.#input()?.whyOut === undefined) {
      this.#retry = setTimeout(() => this.begin(), this.#retryMs).unref();
      this.#retryMs = Math.min(2 * this.#retryMs, MOST_RETRY_MS);
    }
    this.#derived.placements.changed(this, before);
    if (before.is === "gateway" && next.is !== "gone")
      this.#derived.placements.makerLost(this.producing.process);
    this.tellSettled();
  }

  /** Resolves the waiting callers if it is settled. Where consumers run it, it is settled when their installations are. */
  tellSettled(): void {
    if (this.#whenSettled.length > 0 && this.isSettled)
      for (const resolve of this.#whenSettled.splice(0)) resolve();
  }

  /** Installation of the modulator before it, for this process and consumer; undefined where there is none. */
  #input(): GatewayInstallation | undefined {
    const { parent } = this.#derived;
    if (parent?.feeders.isAt(this.producing) !== true) return undefined;
    const shared = parent.placements.of(this.producing);
    const { state } = shared;
    const isOwn = this.consumer !== undefined && state.is === "consumers";
    const input = isOwn ? parent.placements.ownOf(shared, state, this.consumer) : shared;
    const isOut = input.state.is === "refused" || input.state.is === "removed";
    // Events that this process publishes there directly are taken all the same.
    return isOut && parent.isDirectAt(this.producing) ? undefined : input;
  }

  /** Goes on if it has waited for the modulator before it. */
  #goOn(): void {
    if (this.#state.is !== "waiting") return;
    const input = this.#input()?.state;
    this.#behind = input;
    switch (input?.is) {
      case "waiting":
      case "asked":
      case "silent":
        return;
      case "refused":
      case "removed":
        return this.#become({ is: "refused", why: input.why });
      // It runs where the modulator before it makes its input.
      case "gateway":
        return this.consumer === undefined ? this.#elsewhere(input.why) : this.#ask(this.consumer);
      case "consumers":
        return this.#become({ is: "consumers", own: new Few(), why: input.why });
      default:
        if (this.consumer !== undefined) return this.#ask(this.consumer);
        if (this.#derived.feeders.runModulators(this.producing)) return this.#ask(this.producing);
        this.#elsewhere(new JechoError("MODULATORS_NOT_SERVED", "the producer runs no modulators"));
    }
  }

  /** Goes to the next place, if this is a reason to run it elsewhere. */
  #goesElsewhere(why: JechoError): boolean {
    if (this.consumer !== undefined || !ELSEWHERE.has(why.code)) return false;
    if (this.maker === this.producing) this.#elsewhere(why);
    else this.#become({ is: "consumers", own: new Few(), why });
    return true;
  }

  /**
   * The producer's process does not run it: asks the gateway's process, or without one the consumers'. The consumers' processes are also asked where they
   * kept it for the producer's return, so that their installations go on.
   */
  #elsewhere(why: JechoError): void {
    const { names } = this.#derived.manager;
    const kept = this.#derived.placements.takeKept(this.producing);
    if (kept !== undefined) return this.#become({ is: "consumers", own: new Few(), why: kept });
    this.#become({ is: this.#asks(), maker: undefined, why });
    const { state } = this;
    const ask = (): void => {
      if (this.#state !== state) return;
      if (names.modulating?.isOpen) this.#ask(names.modulating, why);
      else this.#become({ is: "consumers", own: new Few(), why });
    };
    // Clients return to a restarted gateway earlier than its own process is ready.
    if (names.modulatingAwaited === undefined) ask();
    else void names.modulatingAwaited.then(ask);
  }

  /** @param maker the next one to be asked, if known */
  #asks(maker?: Connection): "asked" | "silent" {
    const { unanswered } = this.#derived.manager.names;
    const isSilent = this.#state.is === "silent" || (maker !== undefined && unanswered.isSilent(maker));
    return isSilent ? "silent" : "asked";
  }

  #ask(maker: Connection, why = this.#whyOwn): void {
    const { manager, placements } = this.#derived;
    if (maker === this.consumer) {
      // It would get the modulator, and the channel's own events.
      const missing = maker.subject?.missing("subscribe", manager.name);
      if (missing !== undefined) return this.#become({ is: "refused", why: missing });
    }
    if (maker.bufferedBytes > MOST_UNREAD_BYTES)
      return this.#become({
        is: "refused",
        why: new JechoError("OVERLOADED", "its process has not read what it was sent before"),
      });
    this.#become({ is: this.#asks(maker), maker, why });
    placements.asks(maker);
    const instead = maker === this.producing && this.consumer === undefined ? undefined : this.#instead();
    const wanted = this.#derived.wanted();
    this.#stop = maker.ask(
      request => {
        this.#request = request;
        return { kind: "Install", request, offers: [], instead, ...wanted };
      },
      answer => this.#answered(maker, why, answer),
      maker !== manager.names.modulating,
    );
  }

  #answered(maker: Connection, why: JechoError | undefined, answer: Control | JechoError): void {
    const { channel } = this.#derived;
    if (answer instanceof JechoError) return this.#unanswered(maker, why, answer);
    if (answer.kind === "Refused") {
      const refused = new JechoError(errorCode(answer.code), reasonSaid(answer.message));
      if (!this.#goesElsewhere(refused)) this.#become({ is: "refused", why: refused });
      return;
    }
    if (answer.kind !== "Installed" || answer.derived !== channel.number)
      return maker.end("FRAME_UNEXPECTED", `an installation was answered by ${answer.kind}`);
    this.tiered(answer.tier, answer.tierWhy);
    try {
      this.made = this.#derived.declares(answer.schema, answer.reads, maker);
    } catch (error) {
      this.#leaveMaker();
      return this.#become({ is: "refused", why: JechoError.from(error) });
    }
    this.#assureFeeding(() => this.#installed(maker, why));
  }

  #unanswered(maker: Connection, why: JechoError | undefined, error: JechoError): void {
    // Its producers are being removed, and this installation with the last of them.
    if (maker === this.producing && this.consumer === undefined) return;
    if (maker === this.consumer) return this.gone();
    this.#leaveMaker();
    this.#become({ is: "consumers", own: new Few(), why: why ?? error });
  }

  #installed(maker: Connection, why: JechoError | undefined): void {
    if (why === undefined) this.#become({ is: "producer", maker });
    else this.#become({ is: this.consumer === undefined ? "gateway" : "consumer", maker, why });
  }

  /**
   * Makes sure that a modulator away from its producer is fed: by that process, or by the one that runs the modulator before it.
   * Events count from the moment when the feeding process knows that it has to send them: where the producer is not yet open,
   * from its first message.
   */
  #assureFeeding(assured: () => void): void {
    const { producing } = this;
    const { parent, manager, feeders } = this.#derived;
    const isElsewhere = this.consumer !== undefined || this.maker !== producing;
    if (!isElsewhere || !feeders.isAdmitted(producing)) return assured();
    const input = parent?.feeders.isAt(producing) === true ? parent.placements.of(producing) : undefined;
    const feeding = new Set([input === undefined ? producing : input.maker]);
    if (parent?.isDirectAt(producing) === true) feeding.add(producing);
    feeding.delete(undefined);
    const stops: (() => void)[] = [];
    let left = feeding.size;
    if (left === 0) return assured();
    this.#stop = () => {
      for (const stop of stops) stop();
    };
    for (const feeder of feeding as Set<Connection>) {
      const known = (): void => {
        if (--left === 0) assured();
      };
      stops.push((parent ?? manager).channel.assureDemand(feeder, producing.process, known));
    }
  }

  /** The part of the request for a process that runs the modulator in the producer's stead, or for itself. */
  #instead(): Instead {
    const { producing } = this;
    const { manager, parent, feeders } = this.#derived;
    return {
      process: producing.process,
      base: manager.name,
      input:
        parent === undefined
          ? manager.name
          : `${manager.name}#${parent.channel.number}@${manager.names.firstEpoch}`,
      producers: feeders.of(producing).map(({ number }) => number),
      schema: parent?.schemaOf(producing) ?? manager.schemaOf(producing),
      own: this.consumer !== undefined,
      direct: parent?.feeders.isAt(producing) === true && parent.isDirectAt(producing),
      sources: this.#derived.reachedAt(producing, this.consumer),
    };
  }

  /** The channels whose events it is made of: first the channel itself, then what is derived of that, for a modulator behind others. */
  #inputs(): Channel[] {
    const inputs: Channel[] = [];
    for (let { parent } = this.#derived; parent !== undefined; { parent } = parent)
      inputs.unshift(parent.channel);
    return [this.#derived.manager.channel, ...inputs];
  }

  /** Has it removed by the process that runs it, or was asked to. Where the producers have gone, that takes their last events first. */
  #leaveMaker(): void {
    const { maker, producing } = this;
    if (maker === undefined) return;
    const { manager, feeders, channel } = this.#derived;
    const process = maker === producing && this.consumer === undefined ? 0 : producing.process;
    // A process that was cut off may come back to the modulators that ran in its stead.
    const returns = process !== 0 && producing.isCut && manager.home === "here";
    const remove: Remove = {
      kind: "Remove",
      derived: channel.number,
      process,
      returns,
      request: this.#request,
    };
    const isOver = process !== 0 && !feeders.isAt(producing);
    if (!isOver || !this.#inputs().some(({ listeners }) => listeners.tellBehind(maker, remove)))
      maker.send(remove);
  }
}

/**
 * Whether a process that leaves a modulator out for this reason is asked again. A call may take too long on a machine that is busy. Who closes it, or cannot run it at present, says nothing of the modulator.
 */
function passes({ retry, code }: JechoError): boolean {
  return retry || code === "MODULATOR_TIMED_OUT" || code === "CLOSED" || ELSEWHERE.has(code);
}

function isRunning({ is }: InstallationState): boolean {
  return is === "producer" || is === "gateway" || is === "consumer" || is === "consumers";
}
