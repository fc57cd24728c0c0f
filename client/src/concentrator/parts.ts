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

/** What a concentrator is made of: who needs whom, and what each of them tells the others. */
export class Parts {
  readonly index: EndpointIndex;
  readonly lanes = new OwnLanes();
  readonly link: Link;
  readonly outbox: Outbox;
  readonly hold: Hold;
  readonly flow: Flow;
  readonly synchronous: SynchronousEvents;
  readonly reception: Reception;
  readonly modulation: Modulation;
  readonly feeds: Feeds;
  readonly deriving: Deriving;
  readonly raising: Raising;
  readonly demands: Demands;
  readonly delegates: Delegates;
  readonly openings: Openings;
  readonly copies: ObjectCopies;
  readonly questions: GatewayQuestions;
  /** What goes out lies in it. */
  readonly memory = new MessageMemory();
  /** Of the types that the gateway has told of, by token: for what modulators here are fed with. */
  readonly schemas = new Map<bigint, Uint8Array>();

  constructor(
    options: ConcentratorOptions,
    events: RaisedEvents,
    createEnvironment: CreateEnvironment = environmentHere,
    { onStatus, onFrame, onRoom, onAllBack }: PartsListener,
  ) {
    this.link = new Link(options, {
      onStatus,
      onFrame,
      onReady: ready => {
        this.modulation.runs.flow(ready);
        if (ready) onRoom();
      },
    });
    this.outbox = new Outbox(this.link, this.memory);
    this.hold = new Hold(onAllBack);
    this.synchronous = new SynchronousEvents();
    this.reception = new Reception(this.synchronous, {
      onTaken: (entry, frame, first, of, missing) => this.feeds.take(entry, frame, first, of, missing),
      onPlaced: (entry, producer, of, raised, missing) =>
        this.feeds.placed(entry, producer, of, raised, missing),
      onHandled: ({ channel, seq }, i, { consumers, failed, message }) =>
        this.link.send({ kind: "Ack", channel, seq: seq + i, consumers, failed, message }),
    });
    this.flow = new Flow(this.reception, this.link, {
      onRest: entry => this.openings.rest(entry),
      onAwake: entry => this.openings.wake(entry),
    });
    this.index = new EndpointIndex(this.reception, this.flow);
    const schemaOf = (token: bigint): Uint8Array | undefined =>
      this.index.schemaOf(token) ?? this.schemas.get(token);
    const checker = new RunChecker(schemaOf);
    const { most = Number.POSITIVE_INFINITY, ...running } = options.modulators;
    this.modulation = new Modulation(events => createEnvironment(running, events), most, {
      room: bytes => this.memory.take(bytes),
      onEvents: (installation, frame, raising) => this.deriving.made(installation, frame, raising),
      onInstalled: installation => this.deriving.installed(installation),
      onSeen: (installation, of) => this.deriving.seen(installation, of),
      together: act => this.outbox.together(act),
      onRestarted: installation => this.deriving.restarted(installation),
      onStatement: () => this.deriving.state(),
      onDone: raising => this.synchronous.settle(raising),
      onFurther: raising => this.synchronous.further(raising),
      onAnswer: answer => {
        // It is about what was made before.
        this.outbox.release();
        this.link.send(answer);
      },
      onDemand: base => this.demands.tell(base),
      onState: (base, state) => this.demands.tellState(base, state),
      schemaOf,
      onNeeds: base => this.delegates.tellNeeds(base),
      onFeed: (name, { process, base, producers, sources }, channel) => {
        const isOwn = producers.some(number => this.index.producerOf(number) !== undefined);
        return this.feeds.open(name, base, { process, channel }, isOwn, sources);
      },
      onUnfed: name => this.feeds.close(name),
      onCall: (base, name, values) => this.delegates.called(base, name, values),
      onPull: (derived, object) => this.link.send({ kind: "PullObject", derived, object }),
    });
    this.feeds = new Feeds(this.modulation, this.synchronous, this.index, {
      open: entry => this.openings.add(entry),
      close: entry => this.openings.close(entry),
      isSound: run => checker.isSound(run),
      isConsumed: base => this.index.isConsumed(base),
      begin: (installation, producer, source, reached) =>
        this.deriving.begin(installation, producer, source, reached),
    });
    this.deriving = new Deriving(this);
    this.raising = new Raising(events, this);
    this.demands = new Demands(this, producer => this.deriving.opened(producer));
    this.delegates = new Delegates(this.index, this.modulation);
    let request = 0;
    const nextRequest = (): number => ++request;
    this.openings = new Openings({ modulates: most > 0, nextRequest }, this);
    this.copies = new ObjectCopies(this.index, this.link);
    this.questions = new GatewayQuestions(this.link, nextRequest);
  }
}
