import { WHEN_FULL } from "@jecho/shared/internal";
import type { ConsumerEndpoint } from "../endpoints/endpoint.ts";
import type { ConsumerIndexes } from "../endpoints/endpoint-index.ts";
import type { OpenConsumerState } from "../endpoints/endpoint-states.ts";
import type { Link } from "../link.ts";
import { Pace } from "./pace.ts";
import type { Routes } from "./routes.ts";

export interface FlowEvents {
  /** A consumer's thread takes no events while other consumers of its channel go on: it is to leave the channel meanwhile. */
  onRest(entry: ConsumerEndpoint): void;
  /** The consumer takes events again. */
  onAwake(entry: ConsumerEndpoint): void;
}

/** Tracks which consumers here can take no more for now, and tells the gateway. */
export class Flow implements ConsumerIndexes {
  readonly #routes: Routes;
  readonly #link: Link;
  /** Channels of which the gateway was told that their events are to wait. */
  readonly #waiting = new Set<number>();
  readonly #events: FlowEvents;
  readonly #pace: Pace;
  /** Consumers at a channel that want the newest only. */
  readonly #newest = new Set<ConsumerEndpoint>();

  constructor(routes: Routes, link: Link, events: FlowEvents) {
    this.#routes = routes;
    this.#link = link;
    this.#events = events;
    this.#pace = new Pace(link, () => link.together(() => this.#tellNewest()));
  }

  /** A consumer here can take no more for now, or can again. */
  setReady(consumer: ConsumerEndpoint, ready: boolean): void {
    consumer.isPaused = !ready;
    this.#changed(consumer);
  }

  /** A thread stops taking the events of these consumers, or begins again. */
  setStalled(consumers: readonly ConsumerEndpoint[], stalled: boolean): void {
    // All are marked first, so that none of those that stall together counts as going on.
    for (const consumer of consumers) consumer.isStalled = stalled;
    for (const consumer of consumers) this.#changed(consumer);
    if (!stalled) for (const consumer of consumers) this.#events.onAwake(consumer);
  }

  #changed({ channelNumber }: ConsumerEndpoint): void {
    if (channelNumber !== undefined) this.#tell(channelNumber);
  }

  moved(
    consumer: ConsumerEndpoint,
    before: OpenConsumerState | undefined,
    after: OpenConsumerState | undefined,
  ): void {
    if (!wantsNewest(consumer)) return;
    if (after !== undefined) {
      this.#newest.add(consumer);
      if (before === undefined) this.#pace.start();
    } else if (this.#newest.delete(consumer) && this.#newest.size === 0) this.#pace.stop();
  }

  /** A consumer has come to its channel, or has had its past. It may have to leave again at once. */
  entered(consumer: ConsumerEndpoint): void {
    const { channelNumber, isPaused, isStalled } = consumer;
    if (channelNumber === undefined) return;
    if (isPaused || isStalled) this.#tell(channelNumber);
    else this.left(channelNumber);
  }

  /** A consumer has left this channel: its remaining consumers decide whether its events wait. */
  left(channel: number): void {
    if (this.#pace.isHolding || this.#waiting.has(channel)) this.#tell(channel);
  }

  #tellNewest(): void {
    const channels = new Set<number>();
    for (const { open } of this.#newest) if (open !== undefined) channels.add(open.channelNumber);
    for (const channel of channels) this.#tell(channel);
  }

  /**
   * A channel's events wait at the gateway as long as one of its consumers here says that it can take no more, or the threads
   * of all of them take none, or all of them want the newest only and events are still on the connection. A frozen page holds back no
   * other one, and nothing is kept here for it: unless producers are to wait for it, it leaves the channel, and comes back behind its
   * place.
   */
  #tell(channel: number): void {
    // A consumer that still has its past is sent nothing else: at the gateway it is no listener yet.
    const members = this.#routes.membersOf(channel).filter(({ state }) => state.is !== "replaying");
    const consumers = members.length;
    let newest = 0;
    let isPaused = false;
    const stalled: ConsumerEndpoint[] = [];
    for (const entry of members) {
      if (entry.isStalled) stalled.push(entry);
      if (wantsNewest(entry)) newest++;
      isPaused ||= entry.isPaused || (entry.isStalled && entry.queue.whenFull === WHEN_FULL.block);
    }
    const isTaken = !isPaused && (stalled.length < consumers || consumers === 0);
    const ready = isTaken && !(this.#pace.isHolding && newest === consumers && consumers > 0);
    if (ready === this.#waiting.has(channel)) {
      if (ready) this.#waiting.delete(channel);
      else this.#waiting.add(channel);
      this.#link.send({ kind: "Flow", derived: channel, ready });
    }
    if (isTaken) for (const entry of stalled) this.#events.onRest(entry);
  }

  /** The connection broke. */
  interrupted(): void {
    this.#waiting.clear();
  }
}

/** Whether the consumer wants only the newest. A feed of modulators wants all events. */
function wantsNewest({ isApplications, queue }: ConsumerEndpoint): boolean {
  return isApplications && queue.whenFull === WHEN_FULL.latest;
}
