import { JechoError } from "@jecho/shared";
import { type ConsumerOpened, type Control, type CopyUpdate, FROM, type Place } from "@jecho/shared/internal";
import { placementOf } from "../../consumer/placement.ts";
import type { ControlRequest } from "../../places/port.ts";
import type { Flow } from "../incoming/flow.ts";
import type { SynchronousEvents } from "../incoming/synchronous.ts";
import type { Production } from "../production-parts.ts";
import { placeBehind, recoveredOf, recoveryTold, WHOLE, wantsNewest } from "./asked-past.ts";
import type { ConsumerEndpoint, Endpoint, ProducerEndpoint } from "./endpoint.ts";
import type { EndpointIndex } from "./endpoint-index.ts";
import {
  AWAY,
  type Awaited,
  askedAfter,
  type Change,
  GONE,
  type OpenConsumerState,
  RESTING,
  type Reset,
} from "./endpoint-states.ts";
import { ModulatorChanges, type ModulatorChangesParts } from "./modulator-changes.ts";

type Opened<Kind extends Control["kind"]> = Extract<Control, { kind: Kind }>;

const REOPEN_MS = 1000;

export interface OpeningOptions {
  /** Whether this process' producers may have modulators. */
  readonly modulates: boolean;
  /** A secret random name of this process. */
  readonly instance: string;
}

/** Parts that openings use. */
interface OpeningsParts extends ModulatorChangesParts {
  readonly index: EndpointIndex;
  readonly flow: Flow;
  readonly synchronous: SynchronousEvents;
}

/** Opens endpoints at the gateway, again at each connection, and closes them. */
export class Openings {
  readonly #options: OpeningOptions;
  readonly #parts: OpeningsParts;
  readonly #changes: ModulatorChanges;

  constructor(options: OpeningOptions, parts: OpeningsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#changes = new ModulatorChanges(parts, (...entered) => this.#entered(...entered));
  }

  get #production(): Production | undefined {
    return this.#parts.production.parts;
  }

  /** Opens an endpoint, or one that was open before: at once, or at the next connection. */
  add(endpoint: Endpoint): void {
    this.#parts.index.add(endpoint);
    if (this.#parts.link.isLive) this.#ask(endpoint);
  }

  /** A consumer's modulator is to be another one. */
  reset(consumer: ConsumerEndpoint, reset: Reset): void {
    this.#changes.reset(consumer, reset);
  }

  /** Asks for all endpoints at a new connection. */
  live(): void {
    const endpoints = [...this.#parts.index];
    // Objects before modulators that refer to them, and producers before consumers of their types.
    for (const endpoint of endpoints) if (endpoint.is === "object") this.#ask(endpoint);
    for (const endpoint of endpoints) if (endpoint.is === "producer") this.#ask(endpoint);
    for (const endpoint of endpoints) {
      // Feeds are opened again when their modulators are asked for.
      if (endpoint.is !== "consumer" || endpoint.feed !== undefined) continue;
      if (endpoint.state.is !== "resting" || !endpoint.isStalled) this.#ask(endpoint);
    }
  }

  /** @param compared the newest derived channel that a consumer's modulator has been compared with */
  #ask(endpoint: Endpoint, compared = 0): void {
    const after = askedAfter(endpoint.state);
    if (after === undefined) return;
    const request = this.#parts.nextRequest();
    // Only consumers rest.
    (endpoint as ConsumerEndpoint).become({ is: "asked", awaits: { request }, after });
    switch (endpoint.is) {
      case "object": {
        const { object, lazy, term, terms, version, objectState: state } = endpoint;
        return this.#parts.link.send({
          kind: "OpenObject",
          request,
          object,
          lazy,
          term,
          terms,
          version,
          state,
        });
      }
      case "producer": {
        const { channel, schema, history, key, lanes } = endpoint;
        const { modulates, instance } = this.#options;
        const source = lanes.usual.source.id;
        const [raised, raisedUrgent] = [BigInt(lanes.usual.raised), BigInt(lanes.urgent.raised)];
        const counts = { source, raised, raisedUrgent };
        const asked = { request, channel, schema, modulates, history, key, instance, ...counts };
        return this.#parts.link.send({ kind: "OpenProducer", ...asked });
      }
      case "consumer": {
        const { modulator, as } = endpoint;
        const from = after.is === "new" ? this.#beginningOf(endpoint) : placeBehind(endpoint, after);
        return this.#parts.link.send(endpoint.opening({ request, modulator, as, from, compared }));
      }
    }
  }

  /** The consumer's beginning, with times by the gateway's clock. */
  #beginningOf({ from, modulator }: ConsumerEndpoint): Place | undefined {
    // A sequence number is one of the raw channel, not of the modulator's output.
    if (from?.from === FROM.seq && modulator !== undefined) return undefined;
    if (from?.from !== FROM.time) return from;
    return { ...from, at: this.#parts.link.gatewayTime(from.at) };
  }

  objectOpened({ request, copy: number }: CopyUpdate): void {
    const copy = this.#parts.index.asked(request);
    if (copy?.is !== "object") return this.#decline(number);
    copy.become({ is: "live", number });
  }

  /** Closes an endpoint at the gateway that is not wanted any more. */
  #decline(endpoint: number): void {
    this.#parts.link.send({ kind: "CloseEndpoint", endpoint });
  }

  producerOpened({ request, channel: channelNumber, producer: number }: Opened<"ProducerOpened">): void {
    if (request === 0) return this.#producerMoved(number, channelNumber);
    const producer = this.#parts.index.asked(request);
    if (producer?.is !== "producer" || producer.state.is !== "asked") {
      this.#decline(number);
      return this.#production?.departures.declined(request);
    }
    producer.become({ is: "installing", number, channelNumber, after: producer.state.after });
    this.#producerEntered(producer, channelNumber);
  }

  /** A derived channel that a producer publishes into has another number when it is made again. */
  #producerMoved(number: number, channelNumber: number): void {
    const producer = this.#parts.index.producerOf(number);
    if (producer?.open === undefined) return;
    const { channelNumber: left } = producer;
    producer.become({ ...producer.open, channelNumber });
    this.#producerLeft(left);
    producer.elsewhere = 0;
    producer.unheard = 0;
    this.#producerEntered(producer, channelNumber);
  }

  #producerEntered(producer: ProducerEndpoint, channelNumber: number): void {
    producer.lanes.address(channelNumber, producer.number);
    this.#production?.modulation.installed.published(channelNumber, producer.channel);
  }

  #producerLeft(channelNumber: number): void {
    if (this.#parts.index.producersOf(channelNumber) === undefined)
      this.#production?.modulation.installed.unpublished(channelNumber);
  }

  consumerOpened(opened: ConsumerOpened): void {
    const consumer = this.#parts.index.asked(opened.request);
    if (consumer?.is !== "consumer") return this.#decline(opened.consumer);
    this.#changes.opened(consumer, opened);
  }

  /** The gateway has opened a consumer: from now on it gets events of the new place or modulator alone. */
  #entered(consumer: ConsumerEndpoint, opened: ConsumerOpened, isLost: boolean): void {
    const { state, open: old } = consumer;
    const comesBack = state.is === "asked" && state.after.is !== "new";
    const newest = state.is === "asked" && wantsNewest(consumer, state.after);
    const isPastLeft = old?.is === "replaying" || consumer.past !== undefined || opened.replay !== 0;
    if (old?.change !== undefined)
      consumer.takeReset(old.change.reset, !isPastLeft, old.channelNumber === opened.channel);
    if (old !== undefined) consumer.waiting.take();
    // The answer may have passed events of the channel that the consumer is on already.
    if (isPastLeft || old?.channelNumber !== opened.channel) {
      consumer.epoch = opened.epoch;
      consumer.seq = Number(opened.seq) - 1;
      // A run is sent whole. The newest events of each key, which a first opening may ask for, are older than those that follow them.
      const beginsOlder = newest || (!comesBack && consumer.from?.from === FROM.last);
      consumer.fromSeq = beginsOlder ? 0 : Number(opened.seq);
      consumer.isOwedNewest = beginsOlder && opened.replay !== 0;
    }
    consumer.become(placed(opened, comesBack));
    // One that comes back makes what the gateway says, from its place on.
    if (opened.past) {
      consumer.past?.end();
      consumer.waiting.take();
    }
    const lacks = opened.past || (!comesBack && this.#production?.lacksPast(consumer, opened));
    const past = lacks && state.is === "asked" && consumer.past === undefined;
    if (old !== undefined) this.#consumerLeft(old.channelNumber);
    if (consumer.feed !== undefined) {
      const recovery = { recovered: recoveredOf(opened), missing: Number(opened.missing) };
      this.#production?.feeds.opened(consumer, comesBack ? recovery : undefined);
      if (consumer.state.is === "live") consumer.waiting.hand();
      return;
    }
    const isOwed = comesBack || consumer.from !== undefined;
    if (past) this.#awaitPast(consumer, opened);
    else {
      if (consumer.state.is === "live") this.#listens(consumer, isOwed);
      if (old === undefined && isOwed) this.#production?.deriving.handKept(consumer);
    }
    if (!this.#parts.index.isAnyAway()) this.#production?.hold.allHere();
    if (consumer.past?.isTold !== false) this.#tellOpened(consumer, comesBack, newest, opened);
    // The consumer may have to leave again at once.
    this.#parts.flow.entered(consumer);
    this.#changes.askNext(consumer);
    if (old === undefined || isLost) return;
    // Events of the old modulator that are still being handled are waited for.
    const close = (): void => this.#parts.link.send({ kind: "CloseEndpoint", endpoint: old.number });
    this.#parts.synchronous.whenDone(consumer, old.channelNumber, close);
  }

  /**
   * The consumer gets live events from now on: first those that waited for its past, also for one that does not come any more.
   *
   * @param isOwed whether it goes on, or begins in the past
   */
  #listens(consumer: ConsumerEndpoint, isOwed: boolean): void {
    consumer.waiting.hand();
    if (isOwed) this.#production?.deriving.listened(consumer);
  }

  /** The consumer's past is to be made here, once the parts that make it are loaded; without them it begins with what comes. */
  #awaitPast(consumer: ConsumerEndpoint, opened: ConsumerOpened): void {
    const none = (): undefined => {};
    const end = (): void => {
      consumer.past = undefined;
    };
    const awaited = {
      isTold: false,
      isOwed: true,
      begins: none,
      reached: none,
      made: none,
      failed: none,
      end,
    };
    consumer.past = awaited;
    const act = (): void => {
      if (consumer.past === awaited) this.#makePast(this.#production as Production, consumer, opened);
    };
    if (this.#production !== undefined) return act();
    const refuse = (): void => {
      if (consumer.past !== awaited) return;
      this.#tellOpened(consumer, true, false, opened);
      this.#pastIsOver(consumer);
    };
    this.#parts.production.await({ of: { port: consumer.port, endpoint: consumer.id }, act, refuse });
    this.#parts.production.load();
  }

  /** Makes a past here that the derived channel does not have. Events that come meanwhile wait. */
  #makePast({ newPast, deriving }: Production, consumer: ConsumerEndpoint, opened: ConsumerOpened): void {
    const { id: endpoint, listener } = consumer;
    const past = newPast(consumer, opened.past, {
      onFound: (found, replays) => {
        if (consumer.open !== undefined) tellOpened(consumer, opened, replays, found);
      },
      onRefused: error => {
        this.close(consumer);
        listener.notify({ is: "refused", endpoint, reset: 0, error });
      },
      onOver: () => this.#pastIsOver(consumer),
    });
    consumer.past = past;
    // The past ends where the first of what has come meanwhile begins.
    consumer.waiting.hand();
    deriving.handKept(consumer);
    deriving.tellBegun(opened.channel);
    past.begin();
  }

  #pastIsOver(consumer: ConsumerEndpoint): void {
    consumer.past = undefined;
    consumer.waiting.hand();
    if (consumer.open?.is === "live") consumer.listener.notify({ is: "replayed", endpoint: consumer.id });
    this.#changes.askNext(consumer);
  }

  #consumerLeft(channelNumber: number): void {
    this.#parts.flow.left(channelNumber);
    this.#production?.demands.left(channelNumber);
  }

  /** Has a consumer compare its modulator with others, before the gateway has it installed. */
  compare({ request, newest, modulators }: Opened<"Compare">): void {
    const consumer = this.#parts.index.asked(request);
    if (consumer?.is !== "consumer") return;
    const { id, listener, state, open } = consumer;
    const awaits: Awaited = { newest };
    if (state.is === "asked") consumer.become({ ...state, awaits });
    else if (open?.change !== undefined) consumer.become({ ...open, change: { ...open.change, awaits } });
    const { reset } = open?.change?.reset ?? consumer;
    listener.notify({ is: "compare", endpoint: id, reset, newest, modulators });
  }

  compared(
    consumer: ConsumerEndpoint,
    { reset, newest, equal, failure }: Extract<ControlRequest, { is: "compared" }>,
  ): void {
    const { state, open } = consumer;
    const change = open?.change;
    const awaits = state.is === "asked" ? state.awaits : change?.awaits;
    const asked = change?.reset ?? consumer;
    // The answer to an earlier comparison, or to one of a connection that broke.
    if (awaits === undefined || !("newest" in awaits) || awaits.newest !== newest || asked.reset !== reset)
      return;
    if (asked.modulator === undefined) return;
    if (failure !== "") return this.#refused(consumer, change, new JechoError("MODULATOR_FAILED", failure));
    if (equal !== undefined) asked.modulator = { ...asked.modulator, ...equal };
    if (change === undefined) this.#ask(consumer, newest);
    else this.#changes.ask(consumer, change.reset, newest);
  }

  /** A consumer's past is complete: it is live from now on. */
  replayed({ consumer: number, replay }: Opened<"Replayed">): void {
    const consumer = this.#parts.index.consumerOf(number);
    if (consumer?.state.is !== "replaying" || consumer.state.replay !== replay) return;
    const { channelNumber, epoch, change } = consumer.state;
    consumer.become({ is: "live", number, channelNumber, epoch, change });
    this.#parts.flow.entered(consumer);
    consumer.isOwedNewest = false;
    // Nobody is sent a past who is not owed it.
    this.#listens(consumer, true);
    if (consumer.past === undefined) consumer.listener.notify({ is: "replayed", endpoint: consumer.id });
    this.#changes.askNext(consumer);
  }

  /** @param newest whether it begins with the newest event, though it was open before */
  #tellOpened(consumer: ConsumerEndpoint, comesBack: boolean, newest: boolean, opened: ConsumerOpened): void {
    const { from, reset, state, past } = consumer;
    const { channel, placements } = opened;
    const replays = state.is === "replaying" || past !== undefined;
    const asksForPast = comesBack || (reset === 0 && from !== undefined && from.from !== FROM.last);
    const { feeds, modulation } = this.#production ?? {};
    const behind = feeds?.recoveryOf(modulation?.installed.feedsOf(channel) ?? []) ?? WHOLE;
    // Output that this process makes for itself is not kept.
    const keeps = comesBack || placements.every(one => placementOf(one).at !== "consumer");
    const found = newest || !asksForPast ? {} : recoveryTold(opened, behind, keeps);
    tellOpened(consumer, opened, replays, found);
  }

  /** The gateway refuses what was asked. */
  refused(request: number, error: JechoError): void {
    const endpoint = this.#parts.index.asked(request);
    if (endpoint === undefined) return;
    this.#refused(endpoint, endpoint.is === "consumer" ? endpoint.open?.change : undefined, error);
  }

  /** The gateway ended a consumer that was open. */
  lost(number: number, error: JechoError): void {
    const consumer = this.#parts.index.consumerOf(number);
    if (consumer === undefined) return;
    const { open, successor } = consumer;
    if (successor === undefined || open === undefined) this.#refused(consumer, undefined, error);
    else if (open.number === number) this.#changes.succeed(consumer, true);
    else this.#refused(consumer, open.change, error);
  }

  #refused(endpoint: Endpoint, change: Change | undefined, cause: JechoError): void {
    const error = withChannel(endpoint, cause);
    if (endpoint.is === "consumer") {
      if (change !== undefined) return this.#changes.refused(endpoint, change, error);
      if (endpoint.feed !== undefined && error.code !== "SLOW_CONSUMER") {
        this.end(endpoint);
        return this.#production?.feeds.refused(endpoint, error);
      }
    }
    // An endpoint that was open, and is refused for a reason that passes, is asked for again, as after a lost connection.
    if (error.retry && this.#askLater(endpoint)) return;
    this.end(endpoint);
    endpoint.listener.notify({ is: "refused", endpoint: endpoint.id, reset: 0, error });
  }

  /** @returns false where it never was open */
  #askLater(endpoint: Endpoint): boolean {
    const after = endpoint.state.is === "asked" ? endpoint.state.after : AWAY;
    if (after.is === "new") return false;
    const left = endpoint.is === "consumer" ? endpoint.open : undefined;
    const timer = setTimeout(() => this.#ask(endpoint), REOPEN_MS);
    if (endpoint.is === "consumer") this.#changes.leave(endpoint);
    // Only consumers rest.
    (endpoint as ConsumerEndpoint).become({ is: "retrying", timer, after });
    if (left !== undefined) this.#consumerLeft(left.channelNumber);
    endpoint.listener.notify({ is: "interrupted", endpoint: endpoint.id });
    return true;
  }

  /** A consumer leaves its channel until `wake`. Its application sees a lost connection. */
  rest(consumer: ConsumerEndpoint): void {
    const { open } = consumer;
    // Feeds of modulators have no application's thread.
    if (open === undefined || consumer.feed !== undefined) return;
    this.#parts.link.send({ kind: "CloseEndpoint", endpoint: open.number });
    this.#changes.leave(consumer);
    consumer.become(RESTING);
    this.#consumerLeft(open.channelNumber);
    consumer.listener.notify({ is: "interrupted", endpoint: consumer.id });
  }

  /** A consumer that rests, or is to be asked for again later, comes back behind its place now. */
  wake(consumer: ConsumerEndpoint): void {
    const { is } = consumer.state;
    if ((is === "resting" || is === "retrying") && this.#parts.link.isLive) this.#ask(consumer);
  }

  /** Ends an endpoint. */
  close(endpoint: Endpoint): void {
    const { open } = endpoint;
    this.end(endpoint);
    if (open !== undefined) this.#parts.link.send({ kind: "CloseEndpoint", endpoint: open.number });
  }

  /** Ends an endpoint that the gateway knows to have ended. Nobody waits for it. */
  end(endpoint: Endpoint): void {
    const { open } = endpoint;
    if (endpoint.is === "consumer") this.#changes.leave(endpoint);
    else if (endpoint.is === "producer") this.#production?.departures.add(endpoint);
    endpoint.become(GONE);
    if (endpoint.is === "producer") {
      this.#production?.lanes.forget(endpoint.lanes);
      if (open !== undefined && "channelNumber" in open) this.#producerLeft(open.channelNumber);
    } else if (endpoint.is === "consumer") {
      endpoint.past?.end();
      this.#parts.synchronous.left(endpoint);
      if (open !== undefined && "channelNumber" in open) this.#consumerLeft(open.channelNumber);
    }
  }
}

function placed(
  { consumer: number, channel: channelNumber, epoch, replay }: ConsumerOpened,
  comesBack: boolean,
): OpenConsumerState {
  const at = { number, channelNumber, epoch, change: undefined };
  return replay === 0 ? { is: "live", ...at } : { is: "replaying", replay, comesBack, ...at };
}

/** @param found what is known of the past that it asked for */
function tellOpened(
  { id: endpoint, listener, reset }: ConsumerEndpoint,
  { placements, objects }: ConsumerOpened,
  replays: boolean,
  found: ReturnType<typeof recoveryTold>,
): void {
  listener.notify({
    is: "opened",
    endpoint,
    reset,
    replays,
    placements: placements.map(placementOf),
    // A view would be sent to another thread with all of its memory.
    objects: [...objects],
    ...found,
  });
}

/** Adds the channel's name to a modulator's error: the process that ran it knows only the channel's number. */
function withChannel(endpoint: Endpoint, error: JechoError): JechoError {
  if (endpoint.is !== "consumer" || !error.code.startsWith("MODULATOR")) return error;
  return new JechoError(error.code, `a modulator of ${endpoint.channel}: ${error.message}`);
}
