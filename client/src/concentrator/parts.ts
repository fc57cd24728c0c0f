import type { Frame } from "@jecho/shared/internal";
import { createEnvironment as environmentHere } from "#platform";
import { Delegates } from "../modulation/delegates.ts";
import { Deriving } from "../modulation/deriving.ts";
import { Feeds } from "../modulation/feeds.ts";
import { Modulation } from "../modulation/modulation.ts";
import { Past, type PastParts } from "../modulation/past.ts";
import type { ProducerModulatorOptions } from "../options/producer-options.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import type { Status } from "../session/status.ts";
import { EndpointIndex } from "./endpoints/endpoint-index.ts";
import { Openings } from "./endpoints/openings.ts";
import { GatewayQuestions } from "./gateway-questions.ts";
import { Flow } from "./incoming/flow.ts";
import { Reception } from "./incoming/reception.ts";
import { SynchronousEvents } from "./incoming/synchronous.ts";
import { Link, type LinkOptions } from "./link.ts";
import { ObjectCopies } from "./object-copies.ts";
import { Demands } from "./outgoing/demands.ts";
import { Hold } from "./outgoing/hold.ts";
import { OwnLanes } from "./outgoing/lane.ts";
import { MessageMemory } from "./outgoing/message-memory.ts";
import { Outbox } from "./outgoing/outbox.ts";
import type { RaisedEvents } from "./outgoing/outgoing.ts";
import { Raising } from "./outgoing/raising.ts";

export interface ConcentratorOptions extends LinkOptions {
  readonly modulators: ProducerModulatorOptions;
}

/** Listener for what concerns more than one of the parts. */
interface PartsListener {
  onStatus(status: Status): void;
  onGateway(identity: string): void;
  onFrame(frame: Frame): void;
  /** The subject of a producer is known: see `ReceptionEvents`. */
  onNamed(replay: number, producer: number, name: string): void;
  /** The application is to give a token. */
  onTokenWanted(): void;
  /** The gateway has taken a token, which is this subject's. */
  onAdmitted(subject: string): void;
  /** The connection takes events again. */
  onRoom(): void;
  /** Called when all who were expected after a broken connection are back, or will not come. */
  onAllBack(): void;
}

export type Parts = ReturnType<typeof assemble>;

/** Makes what a concentrator is made of: each part is given those that it uses, and what it tells the others is said here. */
export function assemble(
  options: ConcentratorOptions,
  events: RaisedEvents,
  createEnvironment: CreateEnvironment = environmentHere,
  { onStatus, onGateway, onFrame, onNamed, onTokenWanted, onAdmitted, onRoom, onAllBack }: PartsListener,
) {
  const { most: wanted = Number.POSITIVE_INFINITY, ...running } = options.modulators;
  const most = running.allow === "none" ? 0 : wanted;
  let request = 0;
  const nextRequest = (): number => ++request;
  // What goes out lies in it.
  const memory = new MessageMemory();
  // Of the types that the gateway has told of, by token: for what modulators here are fed with.
  const schemas = new Map<bigint, Uint8Array>();
  const lanes = new OwnLanes();
  const link = new Link(options, {
    onStatus,
    onGateway,
    onFrame,
    onTokenWanted,
    onAdmitted,
    onReady: ready => {
      modulation.runs.flow(ready);
      if (ready) onRoom();
    },
  });
  const outbox = new Outbox(link, memory);
  const hold = new Hold(onAllBack);
  const synchronous = new SynchronousEvents();
  const reception = new Reception(synchronous, {
    onTaken: (consumer, frame, first, of, missing) => feeds.take(consumer, frame, first, of, missing),
    onDropped: (consumer, events) => feeds.dropped(consumer, events),
    onPlaced: (consumer, producer, of, raised, missing) =>
      feeds.placed(consumer, producer, of, raised, missing),
    onNamed,
    onHandled: ({ channel, seq }, i, { consumers, failed, message }) =>
      link.send({ kind: "Ack", channel, seq: seq + i, consumers, failed, message }),
  });
  const flow = new Flow(reception, link, {
    onRest: consumer => openings.rest(consumer),
    onAwake: consumer => openings.wake(consumer),
  });
  const index = new EndpointIndex(reception, flow);
  const schemaOf = (token: bigint): Uint8Array | undefined => index.schemaOf(token) ?? schemas.get(token);
  const modulation: Modulation = new Modulation(events => createEnvironment(running, events), most, {
    room: bytes => memory.take(bytes),
    onEvents: (installation, frame, raising, isLast) => deriving.made(installation, frame, raising, isLast),
    onOrdered: (hosted, feed, parent, wire) => deriving.ordered(hosted, feed, parent, wire),
    onRefused: hosted => deriving.refused(hosted),
    onInstalled: installation => deriving.installed(installation),
    onSeen: (installation, of) => deriving.seen(installation, of),
    together: act => outbox.together(act),
    onRestarted: installation => deriving.restarted(installation),
    onStatement: installation => deriving.state(installation),
    onDone: raising => synchronous.settle(raising),
    onFurther: raising => synchronous.further(raising),
    onAnswer: answer => {
      // It is about what was made before.
      outbox.release();
      link.send(answer);
    },
    onDemand: base => demands.tell(base),
    onState: (base, state) => demands.tellState(base, state),
    schemaOf,
    onNeeds: base => delegates.tellNeeds(base),
    feedFor: (source, places) => feeds.nameFor(source, places),
    onFeed: (name, { process, base, producers, sources }, channel) => {
      const isOwn = producers.some(number => index.producerOf(number) !== undefined);
      return feeds.open(name, base, { process, channel }, isOwn, sources);
    },
    onUnfed: name => feeds.close(name),
    onCall: (base, name, values) => delegates.called(base, name, values),
    onPull: (derived, object) => link.send({ kind: "PullObject", derived, object }),
  });
  const feeds = new Feeds(modulation, synchronous, index, {
    open: consumer => openings.add(consumer),
    close: consumer => openings.close(consumer),
    isConsumed: base => index.isConsumed(base),
    dropped: (channel, events) => reception.dropped(channel, events),
    met: (wire, producer, source, reached) => deriving.met(wire, producer, source, reached),
    begin: (installation, producer, source, reached) =>
      deriving.begin(installation, producer, source, reached),
  });
  const deriving = new Deriving({ index, lanes, outbox, hold, reception, modulation, feeds, synchronous });
  const raising = new Raising(events, {
    link,
    memory,
    outbox,
    hold,
    modulation,
    reception,
    feeds,
    synchronous,
  });
  const demands = new Demands({ index, modulation, reception, outbox, hold }, producer =>
    deriving.opened(producer),
  );
  const delegates = new Delegates(index, modulation);
  let pasts = 0;
  const openings: Openings = new Openings(
    { modulates: most > 0, instance: randomName(), nextRequest },
    {
      index,
      lanes,
      link,
      modulation,
      reception,
      feeds,
      deriving,
      demands,
      flow,
      synchronous,
      newPast: (consumer, from, events) => new Past(consumer, `past ${++pasts}`, from, pastParts, events),
    },
  );
  const pastParts: PastParts = {
    indexes: index,
    lanes,
    modulation,
    deriving,
    reception,
    synchronous,
    open: entry => {
      // What the past is to reach up to goes first.
      outbox.release();
      openings.add(entry);
    },
    close: entry => {
      if (entry.state.is !== "gone") openings.close(entry);
    },
  };
  const copies = new ObjectCopies(index, link);
  const questions = new GatewayQuestions(link, options, nextRequest);
  return {
    index,
    lanes,
    link,
    outbox,
    hold,
    flow,
    synchronous,
    reception,
    modulation,
    deriving,
    feeds,
    raising,
    demands,
    delegates,
    openings,
    copies,
    questions,
    schemas,
  };
}

/** 128 random bits. */
function randomName(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), bits => bits.toString(36)).join("-");
}
