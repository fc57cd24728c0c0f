import { NumberTable } from "@jecho/shared/internal";
import type { ConsumerEndpoint } from "../endpoints/endpoint.ts";
import type { ConsumerIndexes } from "../endpoints/endpoint-index.ts";
import { comingOf, type OpenConsumerState } from "../endpoints/endpoint-states.ts";
import { Remembered, type TrackedSource } from "./tracked-source.ts";

/** The counts that events belong to. */
export interface Counting {
  readonly source: TrackedSource;
  /** The raw source that derived ones are made of. */
  readonly origin: TrackedSource | undefined;
}

interface Origin extends Counting {
  /** The process that raises the events. */
  readonly process: number;
  heard: number;
}

const NOBODY: readonly ConsumerEndpoint[] = [];

/** The consumers of one number: a channel's, or that of its past for one consumer. Lists are replaced, never changed. */
class Route {
  /** The consumer, where there is exactly one, as most channels have: reading it needs no list. */
  only: ConsumerEndpoint | undefined;
  #consumers = NOBODY;
  /** Consumers of the channel that are being sent the past, under numbers of their own. */
  replaying = NOBODY;
  /** Consumers whose next modulator makes the channel, while the present one still owes events. */
  coming = NOBODY;
  /** Sources of the runs, by the producer's number and their urgency. */
  readonly #origins = new Remembered<number, Origin>();

  get consumers(): readonly ConsumerEndpoint[] {
    return this.#consumers;
  }

  set consumers(consumers: readonly ConsumerEndpoint[]) {
    this.#consumers = consumers;
    this.only = consumers.length === 1 ? consumers[0] : undefined;
  }

  originOf(producer: number, urgent: boolean): Origin | undefined {
    return this.#origins.get(keyOf(producer, urgent));
  }

  setOrigin(producer: number, urgent: boolean, origin: Origin): void {
    this.#origins.set(keyOf(producer, urgent), origin);
  }
}

/** The consumers of this process by the numbers that runs come under at the present connection. */
export class Routes implements ConsumerIndexes {
  readonly #routes = new NumberTable<Route>();

  get(channel: number): Route | undefined {
    return this.#routes.get(channel);
  }

  /** Number of consumers here of a channel or derived channel, without feeds of modulators. */
  consumersOf(channel: number): number {
    const route = this.#routes.get(channel);
    if (route === undefined) return 0;
    let consumers = route.replaying.length + route.coming.length;
    for (const { isApplications } of route.consumers) if (isApplications) consumers++;
    return consumers;
  }

  /** Whether a run of this channel has any consumer here. */
  takes(channel: number): boolean {
    const route = this.#routes.get(channel);
    return route !== undefined && route.consumers.length + route.replaying.length + route.coming.length > 0;
  }

  /** The consumers here of a channel or derived channel, also those that are being sent the past and feeds of modulators. */
  membersOf(channel: number): readonly ConsumerEndpoint[] {
    const route = this.#routes.get(channel);
    if (route === undefined) return NOBODY;
    return route.replaying.length === 0 ? route.consumers : [...route.consumers, ...route.replaying];
  }

  moved(
    entry: ConsumerEndpoint,
    before: OpenConsumerState | undefined,
    after: OpenConsumerState | undefined,
  ): void {
    const [gone, comes] = [comingOf(before)?.channelNumber, comingOf(after)?.channelNumber];
    if (gone !== comes) {
      if (gone !== undefined) this.#comesNoMore(entry, gone);
      if (comes !== undefined) this.#comes(entry, comes);
    }
    if (isSameWay(before, after)) return;
    if (before !== undefined) this.#leave(entry, before);
    if (after !== undefined) this.#enter(entry, after);
    // The gateway tells the next consumer the producers' positions anew.
    if (before !== undefined && !this.takes(before.channelNumber)) this.#routes.delete(before.channelNumber);
  }

  #enter(entry: ConsumerEndpoint, state: OpenConsumerState): void {
    const channel = this.#route(state.channelNumber);
    if (state.is === "live") channel.consumers = [...channel.consumers, entry];
    else {
      channel.replaying = [...channel.replaying, entry];
      const past = this.#route(state.replay);
      past.consumers = [...past.consumers, entry];
    }
  }

  #leave(entry: ConsumerEndpoint, state: OpenConsumerState): void {
    const channel = this.#route(state.channelNumber);
    channel.consumers = channel.consumers.filter(other => other !== entry);
    channel.replaying = channel.replaying.filter(other => other !== entry);
    if (state.is === "replaying") this.#routes.delete(state.replay);
  }

  #comes(entry: ConsumerEndpoint, number: number): void {
    const channel = this.#route(number);
    channel.coming = [...channel.coming, entry];
  }

  #comesNoMore(entry: ConsumerEndpoint, number: number): void {
    const channel = this.#route(number);
    channel.coming = channel.coming.filter(other => other !== entry);
    // The entry's own, which is not taken yet, leaves it at once.
    if (!this.takes(number) && entry.channelNumber !== number) this.#routes.delete(number);
  }

  /** The consumers whose next modulator makes this channel. */
  comingTo(channel: number): readonly ConsumerEndpoint[] {
    return this.#routes.get(channel)?.coming ?? NOBODY;
  }

  #route(number: number): Route {
    let route = this.#routes.get(number);
    if (route === undefined) {
      route = new Route();
      this.#routes.set(number, route);
    }
    return route;
  }
}

/** Whether the consumer gets the same events under the same numbers in both states. */
function isSameWay(before: OpenConsumerState | undefined, after: OpenConsumerState | undefined): boolean {
  return (
    before?.channelNumber === after?.channelNumber &&
    before?.is === after?.is &&
    (before?.is === "replaying" ? before.replay : undefined) ===
      (after?.is === "replaying" ? after.replay : undefined)
  );
}

/** The key of a producer's runs of one urgency. */
export function keyOf(producer: number, urgent: boolean): number {
  return 2 * producer + (urgent ? 1 : 0);
}
