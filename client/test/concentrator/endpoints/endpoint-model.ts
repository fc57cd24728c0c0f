import { JechoError } from "@jecho/shared";
import { type Control, FROM, NumberTable, type Outgoing, WHEN_FULL } from "@jecho/shared/internal";
import {
  ConsumerEndpoint,
  CopyEndpoint,
  type Endpoint,
  type PortEnd,
  ProducerEndpoint,
} from "../../../src/concentrator/endpoints/endpoint.ts";
import { EndpointIndex } from "../../../src/concentrator/endpoints/endpoint-index.ts";
import { comingOf } from "../../../src/concentrator/endpoints/endpoint-states.ts";
import { Openings } from "../../../src/concentrator/endpoints/openings.ts";
import { Flow } from "../../../src/concentrator/incoming/flow.ts";
import { Routes } from "../../../src/concentrator/incoming/routes.ts";
import { SynchronousEvents } from "../../../src/concentrator/incoming/synchronous.ts";
import type { Link } from "../../../src/concentrator/link.ts";
import { Demands } from "../../../src/concentrator/outgoing/demands.ts";
import { Departures } from "../../../src/concentrator/outgoing/departures.ts";
import { Hold } from "../../../src/concentrator/outgoing/hold.ts";
import { OwnLanes } from "../../../src/concentrator/outgoing/lane.ts";
import type { EndpointNotice } from "../../../src/places/port.ts";

type Kind<K extends Control["kind"]> = Extract<Control, { kind: K }>;
type Opening = Kind<"OpenProducer" | "OpenConsumer" | "OpenObject">;

/** The other end of a scripted connection: what was asked of it, and what it has open. */
export class ScriptedGateway {
  isLive = false;
  asked: Opening[] = [];
  readonly open = new Set<number>();
  /** Channels whose events are to wait here. */
  readonly waiting = new Set<number>();
  readonly heardBytes = 0;

  send(frame: Outgoing): void {
    if (!this.isLive) return;
    if (frame.kind === "CloseEndpoint") {
      if (!this.open.delete(frame.endpoint as number)) throw new Error(`${frame.endpoint} is closed twice`);
    } else if (frame.kind === "Flow") {
      const channel = frame.derived as number;
      if (frame.ready === !this.waiting.has(channel))
        throw new Error(`${channel} is told ${frame.ready} twice`);
      if (frame.ready) this.waiting.delete(channel);
      else this.waiting.add(channel);
    } else this.asked.push(frame as Opening);
  }

  together(act: () => void): void {
    act();
  }

  gatewayTime(time: number): number {
    return time;
  }

  ask(): void {}
}

const NO_HISTORY = { events: 0, seconds: 0, latest: false, onDemand: false, durable: false };
const NO_TYPE = new Uint8Array(0);
const PASSING = new JechoError("OVERLOADED");
const FINAL = new JechoError("TYPE_MISMATCH");

/** What a session was told last of an endpoint. */
type Told = "nothing" | "opened" | "interrupted" | "refused";

/** A process' endpoints with all that finds them, and a model of it: each endpoint's state, and what follows from that. */
export class EndpointModel {
  readonly gateway = new ScriptedGateway();
  readonly everything: Endpoint[] = [];
  readonly #told = new Map<Endpoint, Told>();
  readonly #ports: PortEnd[] = [];
  readonly #index: EndpointIndex;
  readonly #routes = new Routes();
  readonly #flow: Flow;
  readonly #demands: Demands;
  readonly #openings: Openings;
  readonly #published = new Map<number, string>();
  /** Requests that were ever sent. */
  #requests = 0;
  /** Numbers that the gateway ever gave, of one row: of channels, endpoints and pasts. */
  #numbers = 0;
  /** The channels' numbers at the present connection, by name. */
  readonly #channelOf = new Map<string, number>();
  #ids = 0;
  #resets = 0;

  constructor(ports: number) {
    const { gateway } = this;
    const link = gateway as unknown as Link;
    const installed = {
      *[Symbol.iterator]() {},
      ofNumber: () => undefined,
      feedsOf: () => [],
      published: (channel: number, name: string) => this.#published.set(channel, name),
      unpublished: (channel: number) => this.#published.delete(channel),
    };
    const modulation = { installed, derivedOf: () => [] };
    const nothing = () => {};
    const synchronous = new SynchronousEvents();
    this.#flow = new Flow(this.#routes, link, {
      onRest: consumer => this.#openings.rest(consumer),
      onAwake: consumer => this.#openings.wake(consumer),
    });
    this.#index = new EndpointIndex(this.#routes, this.#flow);
    const parts = {
      index: this.#index,
      lanes: new OwnLanes(),
      link,
      modulation,
      routes: this.#routes,
      feeds: {
        opened: nothing,
        refused: nothing,
        recoveryOf: () => ({ recovered: true, missing: 0 }),
      },
      deriving: { handKept: nothing, listened: nothing },
      lacksPast: () => false,
      outbox: { resume: nothing },
      hold: new Hold(nothing),
      flow: this.#flow,
      synchronous,
    };
    this.#demands = new Demands(parts as unknown as ConstructorParameters<typeof Demands>[0], nothing);
    const departures = new Departures(parts as unknown as ConstructorParameters<typeof Departures>[0]);
    this.#openings = new Openings({ modulates: true, instance: "" }, {
      ...parts,
      nextRequest: () => ++this.#requests,
      production: { parts: { ...parts, departures, demands: this.#demands } },
    } as unknown as ConstructorParameters<typeof Openings>[1]);
    for (let i = 0; i < ports; i++) this.#ports.push(this.#newPort());
  }

  #newPort(): PortEnd {
    const endpoints = new NumberTable<Endpoint>();
    const listener = {
      notify: (notice: EndpointNotice) => this.#hear(endpoints.get(notice.endpoint), notice),
      receive: () => {},
    };
    return { endpoints, listener: listener as PortEnd["listener"] };
  }

  #hear(endpoint: Endpoint | undefined, notice: EndpointNotice): void {
    if (notice.is === "refused" && notice.reset === 0) {
      // It is gone from its port by then.
      const gone = this.everything.find(({ id }) => id === notice.endpoint);
      if (gone !== undefined) this.#told.set(gone, "refused");
    } else if (endpoint !== undefined && (notice.is === "opened" || notice.is === "interrupted"))
      this.#told.set(endpoint, notice.is);
  }

  // ---- what may happen

  add(is: Endpoint["is"], port: number, name: string, how: ConsumerHow = PLAIN): void {
    const at = this.#ports[port] as PortEnd;
    const endpoint = this.#make(is, at, name, how);
    this.everything.push(endpoint);
    this.#told.set(endpoint, "nothing");
    at.endpoints.set(endpoint.id, endpoint);
    this.#openings.add(endpoint);
  }

  #make(is: Endpoint["is"], port: PortEnd, channel: string, how: ConsumerHow): Endpoint {
    const endpoint = ++this.#ids;
    if (is === "object")
      return new CopyEndpoint(
        { endpoint, object: channel, lazy: false, version: 0, state: "" },
        port,
        this.#index,
      );
    if (is === "producer") {
      const asked = { endpoint, channel, schema: NO_TYPE, token: 0n, offers: undefined, key: "" };
      const request = { ...asked, context: new Map(), history: NO_HISTORY };
      return new ProducerEndpoint(request, port, new OwnLanes().create(), this.#index);
    }
    const from = how.last ? { from: FROM.last, epoch: 0, seq: 0n, at: 0, speed: 0 } : undefined;
    const queue = { whenFull: how.whenFull, limitBytes: 0 };
    const asked = { endpoint, channel, schema: NO_TYPE, queue, label: "", as: "", from };
    const request = { ...asked, modulator: how.modulated ? modulator() : undefined };
    return new ConsumerEndpoint(request, port, this.#index);
  }

  connect(): void {
    if (this.gateway.isLive) return;
    this.gateway.isLive = true;
    this.#openings.live();
  }

  cut(): void {
    if (!this.gateway.isLive) return;
    this.gateway.isLive = false;
    this.gateway.asked = [];
    this.gateway.open.clear();
    this.gateway.waiting.clear();
    this.#channelOf.clear();
    this.#published.clear();
    const wereOpen = this.#index.interrupted();
    this.#flow.interrupted();
    for (const { id, listener } of wereOpen) listener.notify({ is: "interrupted", endpoint: id });
  }

  /** The gateway opens what it was asked for. @param replays sends the past first */
  accept(asked: Opening, replays: boolean): void {
    const { gateway } = this;
    gateway.asked = gateway.asked.filter(other => other !== asked);
    const number = ++this.#numbers;
    gateway.open.add(number);
    const { request } = asked;
    if (asked.kind === "OpenObject") {
      const copy = { kind: "CopyUpdate", request, copy: number, term: 0, version: 0, state: "" } as const;
      const update = { ...copy, master: true, oldest: 0 } as unknown as Kind<"CopyUpdate">;
      this.#openings.objectOpened(update);
      return;
    }
    const channel = this.#channel(`${asked.channel}${"modulator" in asked && asked.modulator ? "#" : ""}`);
    if (asked.kind === "OpenProducer") {
      const opened = { kind: "ProducerOpened", request, channel, producer: number, epoch: 1 } as const;
      this.#openings.producerOpened(opened);
      return;
    }
    const replay = replays ? ++this.#numbers : 0;
    const told = { recovered: true, missing: 0n, placements: [], objects: new BigUint64Array(0) };
    const opened = { kind: "ConsumerOpened", request, channel, consumer: number, replay, epoch: 1, seq: 1n };
    this.#openings.consumerOpened({ ...opened, ...told } as unknown as Kind<"ConsumerOpened">);
  }

  #channel(name: string): number {
    const number = this.#channelOf.get(name) ?? ++this.#numbers;
    this.#channelOf.set(name, number);
    return number;
  }

  refuse(asked: Opening, passes: boolean): void {
    this.gateway.asked = this.gateway.asked.filter(other => other !== asked);
    this.#openings.refused(asked.request, passes ? PASSING : FINAL);
  }

  compare(asked: Kind<"OpenConsumer">, newest: number): void {
    this.gateway.asked = this.gateway.asked.filter(other => other !== asked);
    const { request } = asked;
    this.#openings.compare({
      kind: "Compare",
      request,
      newest,
      modulators: [],
    } as unknown as Kind<"Compare">);
  }

  /** @param fails the application cannot compare */
  compared(consumer: ConsumerEndpoint, newest: number, isChange: boolean, fails: boolean): void {
    const { reset } = (isChange ? consumer.open?.change?.reset : undefined) ?? consumer;
    const failure = fails ? "it cannot" : "";
    const answer = {
      is: "compared",
      endpoint: consumer.id,
      reset,
      newest,
      equal: undefined,
      failure,
    } as const;
    this.#openings.compared(consumer, answer);
  }

  /** @param isNext that of the next modulator, where it has one */
  lose(consumer: ConsumerEndpoint, passes: boolean, isNext: boolean): void {
    const number = (isNext ? comingOf(consumer.open) : undefined)?.number ?? consumer.open?.number ?? 0;
    this.gateway.open.delete(number);
    this.#openings.lost(number, passes ? PASSING : FINAL);
  }

  replayed(consumer: ConsumerEndpoint, replay: number): void {
    const number = consumer.open?.number ?? 0;
    this.#openings.replayed({ kind: "Replayed", consumer: number, replay } as Kind<"Replayed">);
  }

  demand(producer: ProducerEndpoint, consumers: number): void {
    this.#demands.told({ channel: producer.channelNumber, consumers, unheard: 0 });
  }

  /** The derived channel that it publishes into is another one now. */
  move(producer: ProducerEndpoint): void {
    this.#channelOf.delete(producer.channel);
    const channel = this.#channel(producer.channel);
    const moved = {
      kind: "ProducerOpened",
      request: 0,
      channel,
      producer: producer.number,
      epoch: 1,
    } as const;
    this.#openings.producerOpened(moved);
  }

  reset(consumer: ConsumerEndpoint, modulated: boolean): void {
    this.#openings.reset(consumer, { reset: ++this.#resets, modulator: modulated ? modulator() : undefined });
  }

  stall(consumers: readonly ConsumerEndpoint[], isStalled: boolean): void {
    this.#flow.setStalled(consumers, isStalled);
  }

  pause(consumer: ConsumerEndpoint, isPaused: boolean): void {
    this.#flow.setReady(consumer, !isPaused);
  }

  close(endpoint: Endpoint): void {
    this.#openings.close(endpoint);
  }

  /** Another device takes over what a session has. */
  yield(port: number): void {
    for (const [, endpoint] of [...(this.#ports[port] as PortEnd).endpoints]) {
      if (endpoint.is === "producer") continue;
      this.gateway.open.delete(endpoint.open?.number ?? 0);
      this.#openings.end(endpoint);
    }
  }

  // ---- what follows from the states

  get present(): Endpoint[] {
    return this.everything.filter(({ state }) => state.is !== "gone");
  }

  /** Forgets those that are gone, as their sessions do. */
  forgetGone(): void {
    const present = this.present;
    this.everything.splice(0, this.everything.length, ...present);
    for (const endpoint of this.#told.keys()) if (endpoint.state.is === "gone") this.#told.delete(endpoint);
  }

  /** Timers that run. @param newest is a consumer open that wants the newest only? */
  get timers(): number {
    const paced = this.present.some(
      it => it.is === "consumer" && it.open !== undefined && it.queue.whenFull === WHEN_FULL.latest,
    );
    const coming = this.present.filter(it => isConsumer(it) && it.successor !== undefined);
    return (
      this.present.filter(({ state }) => state.is === "retrying").length + 2 * coming.length + (paced ? 1 : 0)
    );
  }

  /** @throws Error where an index disagrees with a state */
  check(): void {
    const { present } = this;
    same("all", new Set(this.#index), new Set(present));
    for (const endpoint of this.everything) {
      const there = endpoint.port.endpoints.get(endpoint.id);
      equal("its port", there, endpoint.state.is === "gone" ? undefined : endpoint);
      this.#checkTold(endpoint);
    }
    const asked = new Map(present.flatMap(it => requestsOf(it).map(request => [request, it] as const)));
    for (let request = 1; request <= this.#requests; request++)
      equal(`request ${request}`, this.#index.asked(request), asked.get(request));
    this.#checkNumbers(present);
    this.#checkChannels(present);
    const consumers = present.filter(isConsumer);
    const owed = consumers.filter(isOwedConsumer);
    same("owed", new Set([...this.#index.owed.values()].flatMap(set => [...set])), new Set(owed));
    equal("any away", this.#index.isAnyAway(), owed.length > 0 || consumers.some(isAwayConsumer));
  }

  #checkNumbers(present: readonly Endpoint[]): void {
    const open = new Map(present.flatMap(it => numbersOf(it).map(number => [number, it] as const)));
    if (this.gateway.isLive) same("open at the gateway", this.gateway.open, new Set(open.keys()));
    for (let number = 1; number <= this.#numbers; number++) {
      const index = this.#index;
      const found = index.consumerOf(number) ?? index.producerOf(number) ?? index.copyOf(number);
      equal(`number ${number}`, found, open.get(number));
    }
    for (const it of present) {
      if (it.is !== "producer") continue;
      equal("a producer's number", it.number, it.open?.number ?? 0);
      equal("its channel's", it.channelNumber, it.open?.channelNumber ?? 0);
    }
  }

  #checkChannels(present: readonly Endpoint[]): void {
    const published = new Set<number>();
    for (let channel = 1; channel <= this.#numbers; channel++) {
      const consumers = present.filter(
        it => it.is === "consumer" && (it.open?.channelNumber === channel || it.replay === channel),
      );
      const producers = present.filter(it => it.is === "producer" && it.open?.channelNumber === channel);
      if (producers.length > 0) published.add(channel);
      same(`consumers of ${channel}`, new Set<Endpoint>(this.#routes.membersOf(channel)), new Set(consumers));
      const coming = present.filter(it => isConsumer(it) && comingOf(it.open)?.channelNumber === channel);
      same(`coming to ${channel}`, new Set<Endpoint>(this.#routes.comingTo(channel)), new Set(coming));
      const all = consumers.length + coming.length;
      equal(`their number`, this.#routes.consumersOf(channel), all);
      equal(`are there any`, this.#routes.takes(channel), all > 0);
      same(
        `producers of ${channel}`,
        new Set<Endpoint>(this.#index.producersOf(channel) ?? []),
        new Set(producers),
      );
      equal(`an empty set`, this.#index.producersOf(channel)?.size === 0, false);
      this.#checkFlow(
        channel,
        present.filter(isConsumer).filter(it => it.open?.is === "live" && it.channelNumber === channel),
      );
    }
    same("published", new Set(this.#published.keys()), published);
    for (const name of new Set(present.map(it => (it.is === "producer" ? it.channel : "")))) {
      const named = present.filter(it => it.is === "producer" && it.channel === name);
      same(`producers named ${name}`, new Set<Endpoint>(this.#index.producersNamed(name)), new Set(named));
    }
  }

  /** A channel waits as long as somebody who is to be waited for takes nothing; whoever need not be waited for rests. */
  #checkFlow(channel: number, consumers: readonly ConsumerEndpoint[]): void {
    if (!this.gateway.isLive) return;
    const stalled = consumers.filter(({ isStalled }) => isStalled);
    const holds = consumers.some(
      ({ isPaused, isStalled, queue }) => isPaused || (isStalled && queue.whenFull === WHEN_FULL.block),
    );
    const waits = holds || (stalled.length === consumers.length && consumers.length > 0);
    equal(`does ${channel} wait`, this.gateway.waiting.has(channel), waits);
    if (!waits) equal(`stalled at ${channel}`, stalled.length, 0);
  }

  #checkTold(endpoint: Endpoint): void {
    const told = this.#told.get(endpoint);
    const { state } = endpoint;
    if (endpoint.is === "object" || state.is === "gone") return;
    const isOpen = endpoint.is === "producer" ? state.is === "live" : endpoint.open !== undefined;
    equal(`told of ${endpoint.is} ${endpoint.id}, which is ${state.is}`, told === "opened", isOpen);
  }
}

export interface ConsumerHow {
  readonly whenFull: number;
  readonly modulated: boolean;
  readonly last: boolean;
}

const PLAIN: ConsumerHow = { whenFull: WHEN_FULL["drop-oldest"], modulated: false, last: false };

function modulator() {
  const made = { source: "", parameters: "", key: "", compares: true, capabilities: [], objects: [] };
  return made as ConsumerEndpoint["modulator"];
}

function isConsumer(endpoint: Endpoint): endpoint is ConsumerEndpoint {
  return endpoint.is === "consumer";
}

/** An endpoint's numbers at the gateway: its own, and that of its next modulator. */
function numbersOf(endpoint: Endpoint): number[] {
  const next = isConsumer(endpoint) ? comingOf(endpoint.open)?.number : undefined;
  return [endpoint.open?.number, next].filter(number => number !== undefined);
}

function requestsOf(endpoint: Endpoint): number[] {
  const { state } = endpoint;
  const change = endpoint.is === "consumer" ? endpoint.open?.change : undefined;
  const awaits = state.is === "asked" ? state.awaits : change?.awaits;
  return awaits !== undefined && "request" in awaits ? [awaits.request] : [];
}

function isAwayConsumer({ feed, state }: ConsumerEndpoint): boolean {
  return feed === undefined && ["away", "resting", "retrying"].includes(state.is);
}

function isOwedConsumer({ feed, from, state }: ConsumerEndpoint): boolean {
  return feed === undefined && state.is === "asked" && (from !== undefined || state.after.is !== "new");
}

function equal(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: ${String(found)} where ${String(expected)} is due`);
}

function same<T>(what: string, found: ReadonlySet<T>, expected: ReadonlySet<T>): void {
  if (found.size !== expected.size || [...found].some(it => !expected.has(it)))
    throw new Error(`${what}: ${found.size} of them where ${expected.size} are due, or others`);
}
