import { ERRORS, type JechoError } from "@jecho/shared";
import type { Connection } from "../connection.ts";
import type { Channel } from "../delivery/channel.ts";
import type { Replay } from "../history/replay.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import type { Place, Terms } from "./endpoints.ts";

/**
 * A consumer at the gateway:
 *
 * | from | when | to |
 * | --- | --- | --- |
 * | new | what it reads is made by a modulator | installing |
 * | new, installing | it is opened, and begins in the past | replaying |
 * | new, installing, replaying | it is opened with what comes now, or has had its past | listening |
 * | replaying, listening | its connection is cut, it was too slow, or another device goes on for it | awaited |
 * | installing | its connection is cut while it comes back | awaited |
 * | new | another device may go on for one that goes on itself until then | awaited |
 * | awaited | it is back, or its time is over | ended |
 * | any | it is refused, or closed; its connection ended for good; its modulator runs for nobody any more | ended |
 */
export type ConsumerState =
  | { readonly is: "new" }
  /** @property isLate it has waited so long that it is answered, whoever has not answered yet */
  | { readonly is: "installing"; readonly comesBack: boolean; readonly isLate: boolean }
  | { readonly is: "replaying"; readonly replay: Replay }
  | { readonly is: "listening" }
  | { readonly is: "awaited"; readonly timer: NodeJS.Timeout }
  | { readonly is: "ended" };

/** See `ConsumerState`. Whatever counts consumers counts them by their states, in `become` alone. */
export class GatewayConsumer {
  readonly number: number;
  readonly connection: Connection;
  readonly terms: Terms;
  readonly #place: Place;
  #state: ConsumerState = NEW;

  /** @param number 0 for one that only stands for another, which is awaited */
  constructor(number: number, connection: Connection, place: Place, terms: Terms) {
    this.number = number;
    this.connection = connection;
    this.#place = place;
    this.terms = terms;
  }

  get manager(): ChannelManager {
    return this.#place.manager;
  }

  get channel(): Channel {
    return this.#place.channel;
  }

  get derived(): DerivedChannel | undefined {
    return this.#place.derived;
  }

  get feed(): number {
    return this.#place.feed;
  }

  get state(): ConsumerState {
    return this.#state;
  }

  /** Has it been told that it is open, and not that it is no longer? */
  get isOpen(): boolean {
    return isOpen(this.#state);
  }

  /** Its modulator is being installed. @param comesBack it was open before */
  install(comesBack: boolean): void {
    this.#become({ is: "installing", comesBack, isLate: false });
  }

  /** It has waited long enough for that. */
  late(): void {
    if (this.#state.is === "installing") this.#become({ ...this.#state, isLate: true });
  }

  /** It is open, and gets its past first. */
  replays(replay: Replay): void {
    this.#become({ is: "replaying", replay });
  }

  /** It is open, and gets what comes. */
  listen(): void {
    this.#become(LISTENING);
  }

  /** Its connection has gone. @param isCut the other side did not take leave */
  lost(isCut: boolean): void {
    const state = this.#state;
    // One that was cut off before is still awaited until it is open.
    const mayReturn = state.is !== "installing" || (state.comesBack && !this.channel.demand.isAwaiting);
    if (isCut && mayReturn) this.awaitReturn();
    else this.end();
  }

  /** It is told that it is none any more, and why. */
  lose({ number: code, message }: JechoError): void {
    this.connection.send({ kind: "ConsumerLost", consumer: this.number, code, message });
    if (code === ERRORS.SLOW_CONSUMER[0]) this.awaitReturn();
    else this.end();
  }

  /** Until the time is over producers send for it, and what comes is kept for its return. */
  awaitReturn(windowMs = this.manager.names.keeping.resumeWindowMs): void {
    if (windowMs <= 0) return this.end();
    const timer = setTimeout(() => this.end(), windowMs).unref();
    this.#become({ is: "awaited", timer });
  }

  /** The same for another device that may go on for it, while it goes on itself. */
  awaitSuccessor(windowMs: number): void {
    new GatewayConsumer(0, this.connection, this.#place, this.terms).awaitReturn(windowMs);
  }

  end(): void {
    if (this.#state.is !== "ended") this.#become(ENDED);
  }

  /** The only way from one state to another: whatever is known by states is written here. */
  #become(next: ConsumerState): void {
    const before = this.#state;
    this.#state = next;
    // What comes is taken before what goes is let go: nothing that both need ends in between.
    this.#take(next, before);
    this.#release(before, next);
    this.manager.consumerChanged(this, before);
  }

  #take(next: ConsumerState, before: ConsumerState): void {
    const { connection, manager, channel, derived, feed } = this;
    if (isPresent(next) && !isPresent(before)) connection.addConsumer(this);
    if (isOpen(next) && !isOpen(before)) manager.opened(this);
    switch (next.is) {
      case "installing":
        return before.is === "installing" ? derived?.placements.wake() : derived?.placements.join(this);
      case "replaying":
        return channel.demand.expect(feed);
      case "listening":
        return channel.enter(connection, this.terms.queue, feed);
      case "awaited":
        manager.keepMeanwhile(channel);
        return channel.demand.await(this);
      default:
    }
  }

  #release(before: ConsumerState, next: ConsumerState): void {
    const { connection, manager, channel, derived, feed } = this;
    switch (before.is) {
      case "installing":
        if (next.is !== "installing") derived?.placements.joinNoMore(this);
        break;
      case "replaying":
        before.replay.end();
        channel.demand.expectNoMore(feed);
        break;
      case "listening":
        channel.leave(connection, feed);
        break;
      case "awaited":
        clearTimeout(before.timer);
        channel.demand.awaitNoMore(this);
        break;
      default:
    }
    if (isOpen(before) && !isOpen(next)) manager.consumers.remove(this);
    if (isPresent(before) && !isPresent(next)) connection.removeConsumer(this);
  }
}

const NEW: ConsumerState = { is: "new" };
const LISTENING: ConsumerState = { is: "listening" };
const ENDED: ConsumerState = { is: "ended" };

function isOpen({ is }: ConsumerState): boolean {
  return is === "replaying" || is === "listening";
}

/** Do producers send for it? */
export function isWanted(state: ConsumerState): boolean {
  return state.is === "awaited" || isOpen(state);
}

/** Does its connection have it? */
export function isPresent(state: ConsumerState): boolean {
  return state.is === "installing" || isOpen(state);
}
