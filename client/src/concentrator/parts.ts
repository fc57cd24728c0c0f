import type { Frame } from "@jecho/shared/internal";
import { createEnvironment as environmentHere } from "#platform";
import { MessageMemory } from "../message-memory.ts";
import { Delegates } from "../modulation/delegates.ts";
import { Deriving } from "../modulation/deriving.ts";
import { Feeds } from "../modulation/feeds.ts";
import { Modulation } from "../modulation/modulation.ts";
import { RunChecker } from "../modulation/run-checker.ts";
import type { ProducerModulatorOptions } from "../open-options.ts";
import type { CreateEnvironment } from "../platform/face.ts";
import type { Status } from "../status.ts";
import { Demands } from "./demands.ts";
import { EndpointIndex } from "./endpoint-index.ts";
import { Flow } from "./flow.ts";
import { GatewayQuestions } from "./gateway-questions.ts";
import { Hold } from "./hold.ts";
import { OwnLanes } from "./lane.ts";
import { Link, type LinkOptions } from "./link.ts";
import { ObjectCopies } from "./object-copies.ts";
import { Openings } from "./openings.ts";
import { Outbox } from "./outbox.ts";
import type { RaisedEvents } from "./outgoing.ts";
import { Raising } from "./raising.ts";
import { Reception } from "./reception.ts";
import { SynchronousEvents } from "./synchronous.ts";

export interface ConcentratorOptions extends LinkOptions {
  readonly modulators: ProducerModulatorOptions;
}

/** What concerns more than one of the parts. */
interface PartsListener {
  onStatus(status: Status): void;
  onFrame(frame: Frame): void;
  /** The connection takes events again. */
  onRoom(): void;
  /** All who were expected after a broken connection are back, or will not come. */
  onAllBack(): void;
}

export type Parts = ReturnType<typeof assemble>;

/** Makes what a concentrator is made of: each part is given those that it uses, and what it tells the others is said here. */
export function assemble(
  options: ConcentratorOptions,
  events: RaisedEvents,
  createEnvironment: CreateEnvironment = environmentHere,
  { onStatus, onFrame, onRoom, onAllBack }: PartsListener,
) {
  const { most = Number.POSITIVE_INFINITY, ...running } = options.modulators;
  let request = 0;
  const nextRequest = (): number => ++request;
  // What goes out lies in it.
  const memory = new MessageMemory();
  // Of the types that the gateway has told of, by token: for what modulators here are fed with.
  const schemas = new Map<bigint, Uint8Array>();
  const lanes = new OwnLanes();
  const link = new Link(options, {
    onStatus,
    onFrame,
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
    onPlaced: (consumer, producer, of, raised, missing) =>
      feeds.placed(consumer, producer, of, raised, missing),
    onHandled: ({ channel, seq }, i, { consumers, failed, message }) =>
      link.send({ kind: "Ack", channel, seq: seq + i, consumers, failed, message }),
  });
  const flow = new Flow(reception, link, {
    onRest: consumer => openings.rest(consumer),
    onAwake: consumer => openings.wake(consumer),
  });
  const index = new EndpointIndex(reception, flow);
  const schemaOf = (token: bigint): Uint8Array | undefined => index.schemaOf(token) ?? schemas.get(token);
  const checker = new RunChecker(schemaOf);
  const modulation: Modulation = new Modulation(events => createEnvironment(running, events), most, {
    room: bytes => memory.take(bytes),
    onEvents: (installation, frame, raising) => deriving.made(installation, frame, raising),
    onInstalled: installation => deriving.installed(installation),
    onSeen: (installation, of) => deriving.seen(installation, of),
    together: act => outbox.together(act),
    onRestarted: installation => deriving.restarted(installation),
    onStatement: () => deriving.state(),
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
    isSound: run => checker.isSound(run),
    isConsumed: base => index.isConsumed(base),
    begin: (installation, producer, source, reached) =>
      deriving.begin(installation, producer, source, reached),
  });
  const deriving = new Deriving({ index, lanes, outbox, hold, reception, modulation, feeds, synchronous });
  const raising = new Raising(events, {
    link,
    memory,
    outbox,
    hold,
    flow,
    modulation,
    reception,
    feeds,
    synchronous,
  });
  const demands = new Demands({ index, modulation, reception, outbox, hold }, producer =>
    deriving.opened(producer),
  );
  const delegates = new Delegates(index, modulation);
  const openings = new Openings(
    { modulates: most > 0, nextRequest },
    { index, lanes, link, modulation, reception, feeds, deriving, demands, flow, synchronous },
  );
  const copies = new ObjectCopies(index, link);
  const questions = new GatewayQuestions(link, nextRequest);
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
