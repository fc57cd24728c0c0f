// Generated from schema/frame.fbs by `npm run generate`; do not edit.
import type { ControlSource } from "../frames/control-source.ts";
import type { ControlTarget } from "../frames/control-target.ts";
import type { Control, AskHandover, BaseType, Calls, Clock, CloseEndpoint, Compare, Compared, ConsumerLost, ConsumerOpened, Context, CopyUpdate, Demand, Done, Drain, Dropped, Fault, Feed, Flow, GiveUp, HandoverToken, HeldPlace, Hello, History, Impaired, Inheritance, Inherited, Install, Installed, Instead, Modulator, Noted, ObjectTaken, ObjectUpdate, ObjectWrite, Offer, OpenConsumer, OpenObject, OpenProducer, Passed, Period, Ping, Place, Placed, Placement, Pong, Position, Prepare, ProducerOpened, PullObject, Queue, Rate, Refused, Remove, Removed, Replayed, SharedState, SourcePlace, Taken, TypeKnown, Types, WantType, WantTypes, Welcome, Yield, Yielded } from "./frame-schema.ts";

function readHello(from: ControlSource, at: number): Hello {
  const fields = from.table(at);
  return {
    kind: "Hello",
    protocol: from.uint16(at, fields, 4),
    name: from.string(at, fields, 6),
    handover: from.string(at, fields, 8),
    modulating: from.string(at, fields, 10),
  };
}

const HELLO = [12, 18, 16, 4, 8, 12];
function writeHello(to: ControlTarget, from: Partial<Hello>): number {
  const at = to.table(HELLO);
  to.uint16(at + 16, from.protocol, "jecho.Hello.protocol");
  to.string(at + 4, at - 6, from.name, "jecho.Hello.name");
  to.string(at + 8, at - 4, from.handover, "jecho.Hello.handover");
  to.string(at + 12, at - 2, from.modulating, "jecho.Hello.modulating");
  return at;
}

function readWelcome(from: ControlSource, at: number): Welcome {
  const fields = from.table(at);
  return {
    kind: "Welcome",
    session: from.string(at, fields, 4),
    heartbeatMs: from.uint32(at, fields, 6),
    limitBytes: from.uint32(at, fields, 8),
    now: from.float64(at, fields, 10),
  };
}

const WELCOME = [12, 24, 12, 16, 20, 4];
function writeWelcome(to: ControlTarget, from: Partial<Welcome>): number {
  const at = to.table(WELCOME);
  to.string(at + 12, at - 8, from.session, "jecho.Welcome.session");
  to.uint32(at + 16, from.heartbeatMs, "jecho.Welcome.heartbeatMs");
  to.uint32(at + 20, from.limitBytes, "jecho.Welcome.limitBytes");
  to.float64(at + 4, from.now, "jecho.Welcome.now");
  return at;
}

function readPing(from: ControlSource, at: number): Ping {
  const fields = from.table(at);
  return {
    kind: "Ping",
    time: from.float64(at, fields, 4),
  };
}

const PING = [6, 12, 4];
function writePing(to: ControlTarget, from: Partial<Ping>): number {
  const at = to.table(PING);
  to.float64(at + 4, from.time, "jecho.Ping.time");
  return at;
}

function readPong(from: ControlSource, at: number): Pong {
  const fields = from.table(at);
  return {
    kind: "Pong",
    time: from.float64(at, fields, 4),
    now: from.float64(at, fields, 6),
  };
}

const PONG = [8, 20, 4, 12];
function writePong(to: ControlTarget, from: Partial<Pong>): number {
  const at = to.table(PONG);
  to.float64(at + 4, from.time, "jecho.Pong.time");
  to.float64(at + 12, from.now, "jecho.Pong.now");
  return at;
}

function readFault(from: ControlSource, at: number): Fault {
  const fields = from.table(at);
  return {
    kind: "Fault",
    code: from.uint16(at, fields, 4),
    message: from.string(at, fields, 6),
  };
}

const FAULT = [8, 10, 8, 4];
function writeFault(to: ControlTarget, from: Partial<Fault>): number {
  const at = to.table(FAULT);
  to.uint16(at + 8, from.code, "jecho.Fault.code");
  to.string(at + 4, at - 2, from.message, "jecho.Fault.message");
  return at;
}

function readHistory(from: ControlSource, at: number): History {
  const fields = from.table(at);
  return {
    events: from.uint32(at, fields, 4),
    seconds: from.float32(at, fields, 6),
    latest: from.bool(at, fields, 8),
    onDemand: from.bool(at, fields, 10),
  };
}

const HISTORY = [12, 14, 4, 8, 12, 13];
function writeHistory(to: ControlTarget, from: Partial<History>): number {
  const at = to.table(HISTORY);
  to.uint32(at + 4, from.events, "jecho.History.events");
  to.float32(at + 8, from.seconds, "jecho.History.seconds");
  to.bool(at + 12, from.latest, "jecho.History.latest");
  to.bool(at + 13, from.onDemand, "jecho.History.onDemand");
  return at;
}

function readOpenProducer(from: ControlSource, at: number): OpenProducer {
  const fields = from.table(at);
  return {
    kind: "OpenProducer",
    request: from.uint32(at, fields, 4),
    channel: from.string(at, fields, 6),
    schema: from.uint8s(at, fields, 8),
    modulates: from.bool(at, fields, 10),
    history: from.object(at, fields, 12, readHistory),
    key: from.string(at, fields, 14),
  };
}

const OPEN_PRODUCER = [16, 25, 4, 8, 12, 24, 16, 20];
function writeOpenProducer(to: ControlTarget, from: Partial<OpenProducer>): number {
  const at = to.table(OPEN_PRODUCER);
  to.uint32(at + 4, from.request, "jecho.OpenProducer.request");
  to.string(at + 8, at - 10, from.channel, "jecho.OpenProducer.channel");
  to.uint8s(at + 12, at - 8, from.schema, "jecho.OpenProducer.schema");
  to.bool(at + 24, from.modulates, "jecho.OpenProducer.modulates");
  to.object(at + 16, at - 4, from.history, writeHistory, "jecho.OpenProducer.history");
  to.string(at + 20, at - 2, from.key, "jecho.OpenProducer.key");
  return at;
}

function readProducerOpened(from: ControlSource, at: number): ProducerOpened {
  const fields = from.table(at);
  return {
    kind: "ProducerOpened",
    request: from.uint32(at, fields, 4),
    channel: from.uint32(at, fields, 6),
    producer: from.uint32(at, fields, 8),
    epoch: from.uint32(at, fields, 10),
  };
}

const PRODUCER_OPENED = [12, 20, 4, 8, 12, 16];
function writeProducerOpened(to: ControlTarget, from: Partial<ProducerOpened>): number {
  const at = to.table(PRODUCER_OPENED);
  to.uint32(at + 4, from.request, "jecho.ProducerOpened.request");
  to.uint32(at + 8, from.channel, "jecho.ProducerOpened.channel");
  to.uint32(at + 12, from.producer, "jecho.ProducerOpened.producer");
  to.uint32(at + 16, from.epoch, "jecho.ProducerOpened.epoch");
  return at;
}

function readSharedState(from: ControlSource, at: number): SharedState {
  const fields = from.table(at);
  return {
    name: from.string(at, fields, 4),
    object: from.string(at, fields, 6),
    version: from.uint32(at, fields, 8),
    state: from.string(at, fields, 10),
    lazy: from.bool(at, fields, 12),
  };
}

const SHARED_STATE = [14, 21, 4, 8, 12, 16, 20];
function writeSharedState(to: ControlTarget, from: Partial<SharedState>): number {
  const at = to.table(SHARED_STATE);
  to.string(at + 4, at - 10, from.name, "jecho.SharedState.name");
  to.string(at + 8, at - 8, from.object, "jecho.SharedState.object");
  to.uint32(at + 12, from.version, "jecho.SharedState.version");
  to.string(at + 16, at - 4, from.state, "jecho.SharedState.state");
  to.bool(at + 20, from.lazy, "jecho.SharedState.lazy");
  return at;
}

function readModulator(from: ControlSource, at: number): Modulator {
  const fields = from.table(at);
  return {
    source: from.string(at, fields, 4),
    parameters: from.string(at, fields, 6),
    key: from.string(at, fields, 8),
    objects: from.objects(at, fields, 10, readSharedState),
    capabilities: from.strings(at, fields, 12),
    compares: from.bool(at, fields, 14),
  };
}

const MODULATOR = [16, 25, 4, 8, 12, 16, 20, 24];
function writeModulator(to: ControlTarget, from: Partial<Modulator>): number {
  const at = to.table(MODULATOR);
  to.string(at + 4, at - 12, from.source, "jecho.Modulator.source");
  to.string(at + 8, at - 10, from.parameters, "jecho.Modulator.parameters");
  to.string(at + 12, at - 8, from.key, "jecho.Modulator.key");
  to.objects(at + 16, at - 6, from.objects, writeSharedState, "jecho.Modulator.objects");
  to.strings(at + 20, at - 4, from.capabilities, "jecho.Modulator.capabilities");
  to.bool(at + 24, from.compares, "jecho.Modulator.compares");
  return at;
}

function readPlace(from: ControlSource, at: number): Place {
  const fields = from.table(at);
  return {
    from: from.uint8(at, fields, 4),
    epoch: from.uint32(at, fields, 6),
    seq: from.uint64(at, fields, 8),
    at: from.float64(at, fields, 10),
    speed: from.float32(at, fields, 12),
  };
}

const PLACE = [14, 29, 28, 20, 4, 12, 24];
function writePlace(to: ControlTarget, from: Partial<Place>): number {
  const at = to.table(PLACE);
  to.uint8(at + 28, from.from, "jecho.Place.from");
  to.uint32(at + 20, from.epoch, "jecho.Place.epoch");
  to.uint64(at + 4, from.seq, "jecho.Place.seq");
  to.float64(at + 12, from.at, "jecho.Place.at");
  to.float32(at + 24, from.speed, "jecho.Place.speed");
  return at;
}

function readQueue(from: ControlSource, at: number): Queue {
  const fields = from.table(at);
  return {
    whenFull: from.uint8(at, fields, 4),
    limitBytes: from.uint32(at, fields, 6),
  };
}

const QUEUE = [8, 9, 8, 4];
function writeQueue(to: ControlTarget, from: Partial<Queue>): number {
  const at = to.table(QUEUE);
  to.uint8(at + 8, from.whenFull, "jecho.Queue.whenFull");
  to.uint32(at + 4, from.limitBytes, "jecho.Queue.limitBytes");
  return at;
}

function readFeed(from: ControlSource, at: number): Feed {
  const fields = from.table(at);
  return {
    process: from.uint32(at, fields, 4),
    channel: from.uint32(at, fields, 6),
  };
}

const FEED = [8, 12, 4, 8];
function writeFeed(to: ControlTarget, from: Partial<Feed>): number {
  const at = to.table(FEED);
  to.uint32(at + 4, from.process, "jecho.Feed.process");
  to.uint32(at + 8, from.channel, "jecho.Feed.channel");
  return at;
}

function readOpenConsumer(from: ControlSource, at: number): OpenConsumer {
  const fields = from.table(at);
  return {
    kind: "OpenConsumer",
    request: from.uint32(at, fields, 4),
    channel: from.string(at, fields, 6),
    schema: from.uint8s(at, fields, 8),
    modulator: from.object(at, fields, 10, readModulator),
    from: from.object(at, fields, 12, readPlace),
    queue: from.object(at, fields, 14, readQueue),
    label: from.string(at, fields, 16),
    as: from.string(at, fields, 18),
    feed: from.object(at, fields, 20, readFeed),
    compared: from.uint32(at, fields, 22),
  };
}

const OPEN_CONSUMER = [24, 44, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40];
function writeOpenConsumer(to: ControlTarget, from: Partial<OpenConsumer>): number {
  const at = to.table(OPEN_CONSUMER);
  to.uint32(at + 4, from.request, "jecho.OpenConsumer.request");
  to.string(at + 8, at - 18, from.channel, "jecho.OpenConsumer.channel");
  to.uint8s(at + 12, at - 16, from.schema, "jecho.OpenConsumer.schema");
  to.object(at + 16, at - 14, from.modulator, writeModulator, "jecho.OpenConsumer.modulator");
  to.object(at + 20, at - 12, from.from, writePlace, "jecho.OpenConsumer.from");
  to.object(at + 24, at - 10, from.queue, writeQueue, "jecho.OpenConsumer.queue");
  to.string(at + 28, at - 8, from.label, "jecho.OpenConsumer.label");
  to.string(at + 32, at - 6, from.as, "jecho.OpenConsumer.as");
  to.object(at + 36, at - 4, from.feed, writeFeed, "jecho.OpenConsumer.feed");
  to.uint32(at + 40, from.compared, "jecho.OpenConsumer.compared");
  return at;
}

function readPlacement(from: ControlSource, at: number): Placement {
  const fields = from.table(at);
  return {
    producers: from.uint32s(at, fields, 4),
    at: from.uint8(at, fields, 6),
    code: from.uint16(at, fields, 8),
    message: from.string(at, fields, 10),
  };
}

const PLACEMENT = [12, 15, 4, 14, 12, 8];
function writePlacement(to: ControlTarget, from: Partial<Placement>): number {
  const at = to.table(PLACEMENT);
  to.uint32s(at + 4, at - 8, from.producers, "jecho.Placement.producers");
  to.uint8(at + 14, from.at, "jecho.Placement.at");
  to.uint16(at + 12, from.code, "jecho.Placement.code");
  to.string(at + 8, at - 2, from.message, "jecho.Placement.message");
  return at;
}

function readConsumerOpened(from: ControlSource, at: number): ConsumerOpened {
  const fields = from.table(at);
  return {
    kind: "ConsumerOpened",
    request: from.uint32(at, fields, 4),
    channel: from.uint32(at, fields, 6),
    consumer: from.uint32(at, fields, 8),
    epoch: from.uint32(at, fields, 10),
    seq: from.uint64(at, fields, 12),
    replay: from.uint32(at, fields, 14),
    recovered: from.bool(at, fields, 16),
    missing: from.uint64(at, fields, 18),
    placements: from.objects(at, fields, 20, readPlacement),
    objects: from.uint64s(at, fields, 22),
  };
}

const CONSUMER_OPENED = [24, 49, 20, 24, 28, 32, 4, 36, 48, 12, 40, 44];
function writeConsumerOpened(to: ControlTarget, from: Partial<ConsumerOpened>): number {
  const at = to.table(CONSUMER_OPENED);
  to.uint32(at + 20, from.request, "jecho.ConsumerOpened.request");
  to.uint32(at + 24, from.channel, "jecho.ConsumerOpened.channel");
  to.uint32(at + 28, from.consumer, "jecho.ConsumerOpened.consumer");
  to.uint32(at + 32, from.epoch, "jecho.ConsumerOpened.epoch");
  to.uint64(at + 4, from.seq, "jecho.ConsumerOpened.seq");
  to.uint32(at + 36, from.replay, "jecho.ConsumerOpened.replay");
  to.bool(at + 48, from.recovered, "jecho.ConsumerOpened.recovered");
  to.uint64(at + 12, from.missing, "jecho.ConsumerOpened.missing");
  to.objects(at + 40, at - 4, from.placements, writePlacement, "jecho.ConsumerOpened.placements");
  to.uint64s(at + 44, at - 2, from.objects, "jecho.ConsumerOpened.objects");
  return at;
}

function readRefused(from: ControlSource, at: number): Refused {
  const fields = from.table(at);
  return {
    kind: "Refused",
    request: from.uint32(at, fields, 4),
    code: from.uint16(at, fields, 6),
    message: from.string(at, fields, 8),
  };
}

const REFUSED = [10, 14, 4, 12, 8];
function writeRefused(to: ControlTarget, from: Partial<Refused>): number {
  const at = to.table(REFUSED);
  to.uint32(at + 4, from.request, "jecho.Refused.request");
  to.uint16(at + 12, from.code, "jecho.Refused.code");
  to.string(at + 8, at - 2, from.message, "jecho.Refused.message");
  return at;
}

function readCloseEndpoint(from: ControlSource, at: number): CloseEndpoint {
  const fields = from.table(at);
  return {
    kind: "CloseEndpoint",
    endpoint: from.uint32(at, fields, 4),
  };
}

const CLOSE_ENDPOINT = [6, 8, 4];
function writeCloseEndpoint(to: ControlTarget, from: Partial<CloseEndpoint>): number {
  const at = to.table(CLOSE_ENDPOINT);
  to.uint32(at + 4, from.endpoint, "jecho.CloseEndpoint.endpoint");
  return at;
}

function readTypeKnown(from: ControlSource, at: number): TypeKnown {
  const fields = from.table(at);
  return {
    kind: "TypeKnown",
    schema: from.uint8s(at, fields, 4),
    request: from.uint32(at, fields, 6),
  };
}

const TYPE_KNOWN = [8, 12, 4, 8];
function writeTypeKnown(to: ControlTarget, from: Partial<TypeKnown>): number {
  const at = to.table(TYPE_KNOWN);
  to.uint8s(at + 4, at - 4, from.schema, "jecho.TypeKnown.schema");
  to.uint32(at + 8, from.request, "jecho.TypeKnown.request");
  return at;
}

function readDemand(from: ControlSource, at: number): Demand {
  const fields = from.table(at);
  return {
    kind: "Demand",
    channel: from.uint32(at, fields, 4),
    consumers: from.uint32(at, fields, 6),
    request: from.uint32(at, fields, 8),
    unheard: from.uint32(at, fields, 10),
  };
}

const DEMAND = [12, 20, 4, 8, 12, 16];
function writeDemand(to: ControlTarget, from: Partial<Demand>): number {
  const at = to.table(DEMAND);
  to.uint32(at + 4, from.channel, "jecho.Demand.channel");
  to.uint32(at + 8, from.consumers, "jecho.Demand.consumers");
  to.uint32(at + 12, from.request, "jecho.Demand.request");
  to.uint32(at + 16, from.unheard, "jecho.Demand.unheard");
  return at;
}

function readOffer(from: ControlSource, at: number): Offer {
  const fields = from.table(at);
  return {
    name: from.string(at, fields, 4),
    granted: from.bool(at, fields, 6),
    text: from.string(at, fields, 8),
    capability: from.string(at, fields, 10),
  };
}

const OFFER = [12, 17, 4, 16, 8, 12];
function writeOffer(to: ControlTarget, from: Partial<Offer>): number {
  const at = to.table(OFFER);
  to.string(at + 4, at - 8, from.name, "jecho.Offer.name");
  to.bool(at + 16, from.granted, "jecho.Offer.granted");
  to.string(at + 8, at - 4, from.text, "jecho.Offer.text");
  to.string(at + 12, at - 2, from.capability, "jecho.Offer.capability");
  return at;
}

function readInstead(from: ControlSource, at: number): Instead {
  const fields = from.table(at);
  return {
    process: from.uint32(at, fields, 4),
    base: from.string(at, fields, 6),
    producers: from.uint32s(at, fields, 8),
    schema: from.uint8s(at, fields, 10),
    own: from.bool(at, fields, 12),
    direct: from.bool(at, fields, 14),
  };
}

const INSTEAD = [16, 22, 4, 8, 12, 16, 20, 21];
function writeInstead(to: ControlTarget, from: Partial<Instead>): number {
  const at = to.table(INSTEAD);
  to.uint32(at + 4, from.process, "jecho.Instead.process");
  to.string(at + 8, at - 10, from.base, "jecho.Instead.base");
  to.uint32s(at + 12, at - 8, from.producers, "jecho.Instead.producers");
  to.uint8s(at + 16, at - 6, from.schema, "jecho.Instead.schema");
  to.bool(at + 20, from.own, "jecho.Instead.own");
  to.bool(at + 21, from.direct, "jecho.Instead.direct");
  return at;
}

function readInstall(from: ControlSource, at: number): Install {
  const fields = from.table(at);
  return {
    kind: "Install",
    request: from.uint32(at, fields, 4),
    channel: from.uint32(at, fields, 6),
    derived: from.uint32(at, fields, 8),
    modulator: from.object(at, fields, 10, readModulator),
    offers: from.objects(at, fields, 12, readOffer),
    instead: from.object(at, fields, 14, readInstead),
    behind: from.uint32(at, fields, 16),
    timeMs: from.float64(at, fields, 18),
  };
}

const INSTALL = [20, 40, 12, 16, 20, 24, 28, 32, 36, 4];
function writeInstall(to: ControlTarget, from: Partial<Install>): number {
  const at = to.table(INSTALL);
  to.uint32(at + 12, from.request, "jecho.Install.request");
  to.uint32(at + 16, from.channel, "jecho.Install.channel");
  to.uint32(at + 20, from.derived, "jecho.Install.derived");
  to.object(at + 24, at - 10, from.modulator, writeModulator, "jecho.Install.modulator");
  to.objects(at + 28, at - 8, from.offers, writeOffer, "jecho.Install.offers");
  to.object(at + 32, at - 6, from.instead, writeInstead, "jecho.Install.instead");
  to.uint32(at + 36, from.behind, "jecho.Install.behind");
  to.float64(at + 4, from.timeMs, "jecho.Install.timeMs");
  return at;
}

function readInstalled(from: ControlSource, at: number): Installed {
  const fields = from.table(at);
  return {
    kind: "Installed",
    request: from.uint32(at, fields, 4),
    derived: from.uint32(at, fields, 6),
    schema: from.uint8s(at, fields, 8),
    needs: from.strings(at, fields, 10),
    reads: from.uint8s(at, fields, 12),
    certain: from.bool(at, fields, 14),
  };
}

const INSTALLED = [16, 25, 4, 8, 12, 16, 20, 24];
function writeInstalled(to: ControlTarget, from: Partial<Installed>): number {
  const at = to.table(INSTALLED);
  to.uint32(at + 4, from.request, "jecho.Installed.request");
  to.uint32(at + 8, from.derived, "jecho.Installed.derived");
  to.uint8s(at + 12, at - 8, from.schema, "jecho.Installed.schema");
  to.strings(at + 16, at - 6, from.needs, "jecho.Installed.needs");
  to.uint8s(at + 20, at - 4, from.reads, "jecho.Installed.reads");
  to.bool(at + 24, from.certain, "jecho.Installed.certain");
  return at;
}

function readRemove(from: ControlSource, at: number): Remove {
  const fields = from.table(at);
  return {
    kind: "Remove",
    derived: from.uint32(at, fields, 4),
    process: from.uint32(at, fields, 6),
  };
}

const REMOVE = [8, 12, 4, 8];
function writeRemove(to: ControlTarget, from: Partial<Remove>): number {
  const at = to.table(REMOVE);
  to.uint32(at + 4, from.derived, "jecho.Remove.derived");
  to.uint32(at + 8, from.process, "jecho.Remove.process");
  return at;
}

function readRemoved(from: ControlSource, at: number): Removed {
  const fields = from.table(at);
  return {
    kind: "Removed",
    derived: from.uint32(at, fields, 4),
    code: from.uint16(at, fields, 6),
    message: from.string(at, fields, 8),
  };
}

const REMOVED = [10, 14, 4, 12, 8];
function writeRemoved(to: ControlTarget, from: Partial<Removed>): number {
  const at = to.table(REMOVED);
  to.uint32(at + 4, from.derived, "jecho.Removed.derived");
  to.uint16(at + 12, from.code, "jecho.Removed.code");
  to.string(at + 8, at - 2, from.message, "jecho.Removed.message");
  return at;
}

function readConsumerLost(from: ControlSource, at: number): ConsumerLost {
  const fields = from.table(at);
  return {
    kind: "ConsumerLost",
    consumer: from.uint32(at, fields, 4),
    code: from.uint16(at, fields, 6),
    message: from.string(at, fields, 8),
  };
}

const CONSUMER_LOST = [10, 14, 4, 12, 8];
function writeConsumerLost(to: ControlTarget, from: Partial<ConsumerLost>): number {
  const at = to.table(CONSUMER_LOST);
  to.uint32(at + 4, from.consumer, "jecho.ConsumerLost.consumer");
  to.uint16(at + 12, from.code, "jecho.ConsumerLost.code");
  to.string(at + 8, at - 2, from.message, "jecho.ConsumerLost.message");
  return at;
}

function readObjectUpdate(from: ControlSource, at: number): ObjectUpdate {
  const fields = from.table(at);
  return {
    kind: "ObjectUpdate",
    object: from.string(at, fields, 4),
    version: from.uint32(at, fields, 6),
    state: from.string(at, fields, 8),
    derived: from.uint32(at, fields, 10),
  };
}

const OBJECT_UPDATE = [12, 20, 4, 8, 12, 16];
function writeObjectUpdate(to: ControlTarget, from: Partial<ObjectUpdate>): number {
  const at = to.table(OBJECT_UPDATE);
  to.string(at + 4, at - 8, from.object, "jecho.ObjectUpdate.object");
  to.uint32(at + 8, from.version, "jecho.ObjectUpdate.version");
  to.string(at + 12, at - 4, from.state, "jecho.ObjectUpdate.state");
  to.uint32(at + 16, from.derived, "jecho.ObjectUpdate.derived");
  return at;
}

function readFlow(from: ControlSource, at: number): Flow {
  const fields = from.table(at);
  return {
    kind: "Flow",
    derived: from.uint32(at, fields, 4),
    ready: from.bool(at, fields, 6),
  };
}

const FLOW = [8, 9, 4, 8];
function writeFlow(to: ControlTarget, from: Partial<Flow>): number {
  const at = to.table(FLOW);
  to.uint32(at + 4, from.derived, "jecho.Flow.derived");
  to.bool(at + 8, from.ready, "jecho.Flow.ready");
  return at;
}

function readDone(from: ControlSource, at: number): Done {
  const fields = from.table(at);
  return {
    kind: "Done",
    derived: from.uint32(at, fields, 4),
    batch: from.uint32(at, fields, 6),
    dropped: from.uint32(at, fields, 8),
    cpuMs: from.float32(at, fields, 10),
  };
}

const DONE = [12, 20, 4, 8, 12, 16];
function writeDone(to: ControlTarget, from: Partial<Done>): number {
  const at = to.table(DONE);
  to.uint32(at + 4, from.derived, "jecho.Done.derived");
  to.uint32(at + 8, from.batch, "jecho.Done.batch");
  to.uint32(at + 12, from.dropped, "jecho.Done.dropped");
  to.float32(at + 16, from.cpuMs, "jecho.Done.cpuMs");
  return at;
}

function readBaseType(from: ControlSource, at: number): BaseType {
  const fields = from.table(at);
  return {
    kind: "BaseType",
    channel: from.uint32(at, fields, 4),
    schema: from.uint8s(at, fields, 6),
  };
}

const BASE_TYPE = [8, 12, 4, 8];
function writeBaseType(to: ControlTarget, from: Partial<BaseType>): number {
  const at = to.table(BASE_TYPE);
  to.uint32(at + 4, from.channel, "jecho.BaseType.channel");
  to.uint8s(at + 8, at - 2, from.schema, "jecho.BaseType.schema");
  return at;
}

function readPeriod(from: ControlSource, at: number): Period {
  const fields = from.table(at);
  return {
    kind: "Period",
    derived: from.uint32(at, fields, 4),
    periodMs: from.uint32(at, fields, 6),
  };
}

const PERIOD = [8, 12, 4, 8];
function writePeriod(to: ControlTarget, from: Partial<Period>): number {
  const at = to.table(PERIOD);
  to.uint32(at + 4, from.derived, "jecho.Period.derived");
  to.uint32(at + 8, from.periodMs, "jecho.Period.periodMs");
  return at;
}

function readContext(from: ControlSource, at: number): Context {
  const fields = from.table(at);
  return {
    kind: "Context",
    channel: from.uint32(at, fields, 4),
    name: from.string(at, fields, 6),
    value: from.uint8s(at, fields, 8),
  };
}

const CONTEXT = [10, 16, 4, 8, 12];
function writeContext(to: ControlTarget, from: Partial<Context>): number {
  const at = to.table(CONTEXT);
  to.uint32(at + 4, from.channel, "jecho.Context.channel");
  to.string(at + 8, at - 4, from.name, "jecho.Context.name");
  to.uint8s(at + 12, at - 2, from.value, "jecho.Context.value");
  return at;
}

function readClock(from: ControlSource, at: number): Clock {
  const fields = from.table(at);
  return {
    kind: "Clock",
    timeMs: from.float64(at, fields, 4),
  };
}

const CLOCK = [6, 12, 4];
function writeClock(to: ControlTarget, from: Partial<Clock>): number {
  const at = to.table(CLOCK);
  to.float64(at + 4, from.timeMs, "jecho.Clock.timeMs");
  return at;
}

function readCalls(from: ControlSource, at: number): Calls {
  const fields = from.table(at);
  return {
    kind: "Calls",
    derived: from.uint32(at, fields, 4),
    calls: from.uint8s(at, fields, 6),
  };
}

const CALLS = [8, 12, 4, 8];
function writeCalls(to: ControlTarget, from: Partial<Calls>): number {
  const at = to.table(CALLS);
  to.uint32(at + 4, from.derived, "jecho.Calls.derived");
  to.uint8s(at + 8, at - 2, from.calls, "jecho.Calls.calls");
  return at;
}

function readWantType(from: ControlSource, at: number): WantType {
  const fields = from.table(at);
  return {
    kind: "WantType",
    request: from.uint32(at, fields, 4),
    token: from.uint64(at, fields, 6),
  };
}

const WANT_TYPE = [8, 16, 12, 4];
function writeWantType(to: ControlTarget, from: Partial<WantType>): number {
  const at = to.table(WANT_TYPE);
  to.uint32(at + 12, from.request, "jecho.WantType.request");
  to.uint64(at + 4, from.token, "jecho.WantType.token");
  return at;
}

function readWantTypes(from: ControlSource, at: number): WantTypes {
  const fields = from.table(at);
  return {
    kind: "WantTypes",
    request: from.uint32(at, fields, 4),
    channel: from.string(at, fields, 6),
  };
}

const WANT_TYPES = [8, 12, 4, 8];
function writeWantTypes(to: ControlTarget, from: Partial<WantTypes>): number {
  const at = to.table(WANT_TYPES);
  to.uint32(at + 4, from.request, "jecho.WantTypes.request");
  to.string(at + 8, at - 2, from.channel, "jecho.WantTypes.channel");
  return at;
}

function readTypes(from: ControlSource, at: number): Types {
  const fields = from.table(at);
  return {
    kind: "Types",
    request: from.uint32(at, fields, 4),
    tokens: from.uint64s(at, fields, 6),
  };
}

const TYPES = [8, 12, 4, 8];
function writeTypes(to: ControlTarget, from: Partial<Types>): number {
  const at = to.table(TYPES);
  to.uint32(at + 4, from.request, "jecho.Types.request");
  to.uint64s(at + 8, at - 2, from.tokens, "jecho.Types.tokens");
  return at;
}

function readPosition(from: ControlSource, at: number): Position {
  const fields = from.table(at);
  return {
    kind: "Position",
    channel: from.uint32(at, fields, 4),
    producer: from.uint32(at, fields, 6),
    urgent: from.bool(at, fields, 8),
    source: from.uint64(at, fields, 10),
    raised: from.uint64(at, fields, 12),
    process: from.uint32(at, fields, 14),
  };
}

const POSITION = [16, 33, 20, 24, 32, 4, 12, 28];
function writePosition(to: ControlTarget, from: Partial<Position>): number {
  const at = to.table(POSITION);
  to.uint32(at + 20, from.channel, "jecho.Position.channel");
  to.uint32(at + 24, from.producer, "jecho.Position.producer");
  to.bool(at + 32, from.urgent, "jecho.Position.urgent");
  to.uint64(at + 4, from.source, "jecho.Position.source");
  to.uint64(at + 12, from.raised, "jecho.Position.raised");
  to.uint32(at + 28, from.process, "jecho.Position.process");
  return at;
}

function readTaken(from: ControlSource, at: number): Taken {
  const fields = from.table(at);
  return {
    kind: "Taken",
    messages: from.uint32(at, fields, 4),
  };
}

const TAKEN = [6, 8, 4];
function writeTaken(to: ControlTarget, from: Partial<Taken>): number {
  const at = to.table(TAKEN);
  to.uint32(at + 4, from.messages, "jecho.Taken.messages");
  return at;
}

function readReplayed(from: ControlSource, at: number): Replayed {
  const fields = from.table(at);
  return {
    kind: "Replayed",
    consumer: from.uint32(at, fields, 4),
    replay: from.uint32(at, fields, 6),
  };
}

const REPLAYED = [8, 12, 4, 8];
function writeReplayed(to: ControlTarget, from: Partial<Replayed>): number {
  const at = to.table(REPLAYED);
  to.uint32(at + 4, from.consumer, "jecho.Replayed.consumer");
  to.uint32(at + 8, from.replay, "jecho.Replayed.replay");
  return at;
}

function readDropped(from: ControlSource, at: number): Dropped {
  const fields = from.table(at);
  return {
    kind: "Dropped",
    channel: from.uint32(at, fields, 4),
    events: from.uint64(at, fields, 6),
  };
}

const DROPPED = [8, 16, 12, 4];
function writeDropped(to: ControlTarget, from: Partial<Dropped>): number {
  const at = to.table(DROPPED);
  to.uint32(at + 12, from.channel, "jecho.Dropped.channel");
  to.uint64(at + 4, from.events, "jecho.Dropped.events");
  return at;
}

function readGiveUp(from: ControlSource, at: number): GiveUp {
  const fields = from.table(at);
  return {
    kind: "GiveUp",
    channel: from.uint32(at, fields, 4),
    producer: from.uint32(at, fields, 6),
    raised: from.uint64(at, fields, 8),
  };
}

const GIVE_UP = [10, 20, 12, 16, 4];
function writeGiveUp(to: ControlTarget, from: Partial<GiveUp>): number {
  const at = to.table(GIVE_UP);
  to.uint32(at + 12, from.channel, "jecho.GiveUp.channel");
  to.uint32(at + 16, from.producer, "jecho.GiveUp.producer");
  to.uint64(at + 4, from.raised, "jecho.GiveUp.raised");
  return at;
}

function readAskHandover(from: ControlSource, at: number): AskHandover {
  const fields = from.table(at);
  return {
    kind: "AskHandover",
    request: from.uint32(at, fields, 4),
  };
}

const ASK_HANDOVER = [6, 8, 4];
function writeAskHandover(to: ControlTarget, from: Partial<AskHandover>): number {
  const at = to.table(ASK_HANDOVER);
  to.uint32(at + 4, from.request, "jecho.AskHandover.request");
  return at;
}

function readHandoverToken(from: ControlSource, at: number): HandoverToken {
  const fields = from.table(at);
  return {
    kind: "HandoverToken",
    request: from.uint32(at, fields, 4),
    token: from.string(at, fields, 6),
    validMs: from.uint32(at, fields, 8),
  };
}

const HANDOVER_TOKEN = [10, 16, 4, 8, 12];
function writeHandoverToken(to: ControlTarget, from: Partial<HandoverToken>): number {
  const at = to.table(HANDOVER_TOKEN);
  to.uint32(at + 4, from.request, "jecho.HandoverToken.request");
  to.string(at + 8, at - 4, from.token, "jecho.HandoverToken.token");
  to.uint32(at + 12, from.validMs, "jecho.HandoverToken.validMs");
  return at;
}

function readYield(from: ControlSource, at: number): Yield {
  const fields = from.table(at);
  return {
    kind: "Yield",
    request: from.uint32(at, fields, 4),
    asked: from.uint32(at, fields, 6),
  };
}

const YIELD = [8, 12, 4, 8];
function writeYield(to: ControlTarget, from: Partial<Yield>): number {
  const at = to.table(YIELD);
  to.uint32(at + 4, from.request, "jecho.Yield.request");
  to.uint32(at + 8, from.asked, "jecho.Yield.asked");
  return at;
}

function readSourcePlace(from: ControlSource, at: number): SourcePlace {
  const fields = from.table(at);
  return {
    source: from.uint64(at, fields, 4),
    urgent: from.bool(at, fields, 6),
    raised: from.uint64(at, fields, 8),
  };
}

const SOURCE_PLACE = [10, 21, 4, 20, 12];
function writeSourcePlace(to: ControlTarget, from: Partial<SourcePlace>): number {
  const at = to.table(SOURCE_PLACE);
  to.uint64(at + 4, from.source, "jecho.SourcePlace.source");
  to.bool(at + 20, from.urgent, "jecho.SourcePlace.urgent");
  to.uint64(at + 12, from.raised, "jecho.SourcePlace.raised");
  return at;
}

function readHeldPlace(from: ControlSource, at: number): HeldPlace {
  const fields = from.table(at);
  return {
    consumer: from.uint32(at, fields, 4),
    epoch: from.uint32(at, fields, 6),
    seq: from.uint64(at, fields, 8),
    sources: from.objects(at, fields, 10, readSourcePlace),
    label: from.string(at, fields, 12),
  };
}

const HELD_PLACE = [14, 28, 12, 16, 4, 20, 24];
function writeHeldPlace(to: ControlTarget, from: Partial<HeldPlace>): number {
  const at = to.table(HELD_PLACE);
  to.uint32(at + 12, from.consumer, "jecho.HeldPlace.consumer");
  to.uint32(at + 16, from.epoch, "jecho.HeldPlace.epoch");
  to.uint64(at + 4, from.seq, "jecho.HeldPlace.seq");
  to.objects(at + 20, at - 4, from.sources, writeSourcePlace, "jecho.HeldPlace.sources");
  to.string(at + 24, at - 2, from.label, "jecho.HeldPlace.label");
  return at;
}

function readYielded(from: ControlSource, at: number): Yielded {
  const fields = from.table(at);
  return {
    kind: "Yielded",
    request: from.uint32(at, fields, 4),
    places: from.objects(at, fields, 6, readHeldPlace),
    copies: from.uint32s(at, fields, 8),
  };
}

const YIELDED = [10, 16, 4, 8, 12];
function writeYielded(to: ControlTarget, from: Partial<Yielded>): number {
  const at = to.table(YIELDED);
  to.uint32(at + 4, from.request, "jecho.Yielded.request");
  to.objects(at + 8, at - 4, from.places, writeHeldPlace, "jecho.Yielded.places");
  to.uint32s(at + 12, at - 2, from.copies, "jecho.Yielded.copies");
  return at;
}

function readInherited(from: ControlSource, at: number): Inherited {
  const fields = from.table(at);
  return {
    channel: from.string(at, fields, 4),
    label: from.string(at, fields, 6),
    modulator: from.object(at, fields, 8, readModulator),
    as: from.string(at, fields, 10),
    epoch: from.uint32(at, fields, 12),
    seq: from.uint64(at, fields, 14),
    sources: from.objects(at, fields, 16, readSourcePlace),
  };
}

const INHERITED = [18, 36, 12, 16, 20, 24, 28, 4, 32];
function writeInherited(to: ControlTarget, from: Partial<Inherited>): number {
  const at = to.table(INHERITED);
  to.string(at + 12, at - 14, from.channel, "jecho.Inherited.channel");
  to.string(at + 16, at - 12, from.label, "jecho.Inherited.label");
  to.object(at + 20, at - 10, from.modulator, writeModulator, "jecho.Inherited.modulator");
  to.string(at + 24, at - 8, from.as, "jecho.Inherited.as");
  to.uint32(at + 28, from.epoch, "jecho.Inherited.epoch");
  to.uint64(at + 4, from.seq, "jecho.Inherited.seq");
  to.objects(at + 32, at - 2, from.sources, writeSourcePlace, "jecho.Inherited.sources");
  return at;
}

function readInheritance(from: ControlSource, at: number): Inheritance {
  const fields = from.table(at);
  return {
    kind: "Inheritance",
    subscriptions: from.objects(at, fields, 4, readInherited),
    objects: from.objects(at, fields, 6, readSharedState),
  };
}

const INHERITANCE = [8, 12, 4, 8];
function writeInheritance(to: ControlTarget, from: Partial<Inheritance>): number {
  const at = to.table(INHERITANCE);
  to.objects(at + 4, at - 4, from.subscriptions, writeInherited, "jecho.Inheritance.subscriptions");
  to.objects(at + 8, at - 2, from.objects, writeSharedState, "jecho.Inheritance.objects");
  return at;
}

function readOpenObject(from: ControlSource, at: number): OpenObject {
  const fields = from.table(at);
  return {
    kind: "OpenObject",
    request: from.uint32(at, fields, 4),
    object: from.string(at, fields, 6),
    lazy: from.bool(at, fields, 8),
    term: from.uint32(at, fields, 10),
    version: from.uint32(at, fields, 12),
    state: from.string(at, fields, 14),
  };
}

const OPEN_OBJECT = [16, 25, 4, 8, 24, 12, 16, 20];
function writeOpenObject(to: ControlTarget, from: Partial<OpenObject>): number {
  const at = to.table(OPEN_OBJECT);
  to.uint32(at + 4, from.request, "jecho.OpenObject.request");
  to.string(at + 8, at - 10, from.object, "jecho.OpenObject.object");
  to.bool(at + 24, from.lazy, "jecho.OpenObject.lazy");
  to.uint32(at + 12, from.term, "jecho.OpenObject.term");
  to.uint32(at + 16, from.version, "jecho.OpenObject.version");
  to.string(at + 20, at - 2, from.state, "jecho.OpenObject.state");
  return at;
}

function readCopyUpdate(from: ControlSource, at: number): CopyUpdate {
  const fields = from.table(at);
  return {
    kind: "CopyUpdate",
    request: from.uint32(at, fields, 4),
    copy: from.uint32(at, fields, 6),
    term: from.uint32(at, fields, 8),
    master: from.bool(at, fields, 10),
    write: from.uint32(at, fields, 12),
    version: from.uint32(at, fields, 14),
    state: from.string(at, fields, 16),
  };
}

const COPY_UPDATE = [18, 29, 4, 8, 12, 28, 16, 20, 24];
function writeCopyUpdate(to: ControlTarget, from: Partial<CopyUpdate>): number {
  const at = to.table(COPY_UPDATE);
  to.uint32(at + 4, from.request, "jecho.CopyUpdate.request");
  to.uint32(at + 8, from.copy, "jecho.CopyUpdate.copy");
  to.uint32(at + 12, from.term, "jecho.CopyUpdate.term");
  to.bool(at + 28, from.master, "jecho.CopyUpdate.master");
  to.uint32(at + 16, from.write, "jecho.CopyUpdate.write");
  to.uint32(at + 20, from.version, "jecho.CopyUpdate.version");
  to.string(at + 24, at - 2, from.state, "jecho.CopyUpdate.state");
  return at;
}

function readPullObject(from: ControlSource, at: number): PullObject {
  const fields = from.table(at);
  return {
    kind: "PullObject",
    copy: from.uint32(at, fields, 4),
    derived: from.uint32(at, fields, 6),
    object: from.string(at, fields, 8),
  };
}

const PULL_OBJECT = [10, 16, 4, 8, 12];
function writePullObject(to: ControlTarget, from: Partial<PullObject>): number {
  const at = to.table(PULL_OBJECT);
  to.uint32(at + 4, from.copy, "jecho.PullObject.copy");
  to.uint32(at + 8, from.derived, "jecho.PullObject.derived");
  to.string(at + 12, at - 2, from.object, "jecho.PullObject.object");
  return at;
}

function readObjectWrite(from: ControlSource, at: number): ObjectWrite {
  const fields = from.table(at);
  return {
    kind: "ObjectWrite",
    copy: from.uint32(at, fields, 4),
    writer: from.uint32(at, fields, 6),
    write: from.uint32(at, fields, 8),
    patch: from.string(at, fields, 10),
  };
}

const OBJECT_WRITE = [12, 20, 4, 8, 12, 16];
function writeObjectWrite(to: ControlTarget, from: Partial<ObjectWrite>): number {
  const at = to.table(OBJECT_WRITE);
  to.uint32(at + 4, from.copy, "jecho.ObjectWrite.copy");
  to.uint32(at + 8, from.writer, "jecho.ObjectWrite.writer");
  to.uint32(at + 12, from.write, "jecho.ObjectWrite.write");
  to.string(at + 16, at - 2, from.patch, "jecho.ObjectWrite.patch");
  return at;
}

function readObjectTaken(from: ControlSource, at: number): ObjectTaken {
  const fields = from.table(at);
  return {
    kind: "ObjectTaken",
    copy: from.uint32(at, fields, 4),
    write: from.uint32(at, fields, 6),
  };
}

const OBJECT_TAKEN = [8, 12, 4, 8];
function writeObjectTaken(to: ControlTarget, from: Partial<ObjectTaken>): number {
  const at = to.table(OBJECT_TAKEN);
  to.uint32(at + 4, from.copy, "jecho.ObjectTaken.copy");
  to.uint32(at + 8, from.write, "jecho.ObjectTaken.write");
  return at;
}

function readNoted(from: ControlSource, at: number): Noted {
  const fields = from.table(at);
  return {
    kind: "Noted",
    request: from.uint32(at, fields, 4),
  };
}

const NOTED = [6, 8, 4];
function writeNoted(to: ControlTarget, from: Partial<Noted>): number {
  const at = to.table(NOTED);
  to.uint32(at + 4, from.request, "jecho.Noted.request");
  return at;
}

function readPlaced(from: ControlSource, at: number): Placed {
  const fields = from.table(at);
  return {
    kind: "Placed",
    derived: from.uint32(at, fields, 4),
    placements: from.objects(at, fields, 6, readPlacement),
  };
}

const PLACED = [8, 12, 4, 8];
function writePlaced(to: ControlTarget, from: Partial<Placed>): number {
  const at = to.table(PLACED);
  to.uint32(at + 4, from.derived, "jecho.Placed.derived");
  to.objects(at + 8, at - 2, from.placements, writePlacement, "jecho.Placed.placements");
  return at;
}

function readCompared(from: ControlSource, at: number): Compared {
  const fields = from.table(at);
  return {
    parameters: from.string(at, fields, 4),
    key: from.string(at, fields, 6),
  };
}

const COMPARED = [8, 12, 4, 8];
function writeCompared(to: ControlTarget, from: Partial<Compared>): number {
  const at = to.table(COMPARED);
  to.string(at + 4, at - 4, from.parameters, "jecho.Compared.parameters");
  to.string(at + 8, at - 2, from.key, "jecho.Compared.key");
  return at;
}

function readCompare(from: ControlSource, at: number): Compare {
  const fields = from.table(at);
  return {
    kind: "Compare",
    request: from.uint32(at, fields, 4),
    newest: from.uint32(at, fields, 6),
    modulators: from.objects(at, fields, 8, readCompared),
  };
}

const COMPARE = [10, 16, 4, 8, 12];
function writeCompare(to: ControlTarget, from: Partial<Compare>): number {
  const at = to.table(COMPARE);
  to.uint32(at + 4, from.request, "jecho.Compare.request");
  to.uint32(at + 8, from.newest, "jecho.Compare.newest");
  to.objects(at + 12, at - 2, from.modulators, writeCompared, "jecho.Compare.modulators");
  return at;
}

function readImpaired(from: ControlSource, at: number): Impaired {
  const fields = from.table(at);
  return {
    kind: "Impaired",
    derived: from.uint32(at, fields, 4),
    code: from.uint16(at, fields, 6),
    message: from.string(at, fields, 8),
  };
}

const IMPAIRED = [10, 14, 4, 12, 8];
function writeImpaired(to: ControlTarget, from: Partial<Impaired>): number {
  const at = to.table(IMPAIRED);
  to.uint32(at + 4, from.derived, "jecho.Impaired.derived");
  to.uint16(at + 12, from.code, "jecho.Impaired.code");
  to.string(at + 8, at - 2, from.message, "jecho.Impaired.message");
  return at;
}

function readRate(from: ControlSource, at: number): Rate {
  const fields = from.table(at);
  return {
    kind: "Rate",
    derived: from.uint32(at, fields, 4),
    mostPerSecond: from.float64(at, fields, 6),
  };
}

const RATE = [8, 16, 12, 4];
function writeRate(to: ControlTarget, from: Partial<Rate>): number {
  const at = to.table(RATE);
  to.uint32(at + 12, from.derived, "jecho.Rate.derived");
  to.float64(at + 4, from.mostPerSecond, "jecho.Rate.mostPerSecond");
  return at;
}

function readDrain(from: ControlSource, at: number): Drain {
  const fields = from.table(at);
  return {
    kind: "Drain",
    request: from.uint32(at, fields, 4),
  };
}

const DRAIN = [6, 8, 4];
function writeDrain(to: ControlTarget, from: Partial<Drain>): number {
  const at = to.table(DRAIN);
  to.uint32(at + 4, from.request, "jecho.Drain.request");
  return at;
}

function readPassed(from: ControlSource, at: number): Passed {
  const fields = from.table(at);
  return {
    kind: "Passed",
    derived: from.uint32(at, fields, 4),
    urgent: from.bool(at, fields, 6),
    parameters: from.uint32(at, fields, 8),
    versions: from.uint32s(at, fields, 10),
    ranges: from.uint32s(at, fields, 12),
  };
}

const PASSED = [14, 21, 4, 20, 8, 12, 16];
function writePassed(to: ControlTarget, from: Partial<Passed>): number {
  const at = to.table(PASSED);
  to.uint32(at + 4, from.derived, "jecho.Passed.derived");
  to.bool(at + 20, from.urgent, "jecho.Passed.urgent");
  to.uint32(at + 8, from.parameters, "jecho.Passed.parameters");
  to.uint32s(at + 12, at - 4, from.versions, "jecho.Passed.versions");
  to.uint32s(at + 16, at - 2, from.ranges, "jecho.Passed.ranges");
  return at;
}

function readPrepare(from: ControlSource, at: number): Prepare {
  const fields = from.table(at);
  return {
    kind: "Prepare",
    derived: from.uint32(at, fields, 4),
  };
}

const PREPARE = [6, 8, 4];
function writePrepare(to: ControlTarget, from: Partial<Prepare>): number {
  const at = to.table(PREPARE);
  to.uint32(at + 4, from.derived, "jecho.Prepare.derived");
  return at;
}

/** Reads the message of each tag. */
export const READERS: readonly (((from: ControlSource, at: number) => Control) | undefined)[] = [
  undefined,
  readHello,
  readWelcome,
  readPing,
  readPong,
  readFault,
  readOpenProducer,
  readProducerOpened,
  readOpenConsumer,
  readConsumerOpened,
  readRefused,
  readCloseEndpoint,
  readTypeKnown,
  readDemand,
  readInstall,
  readInstalled,
  readRemove,
  readRemoved,
  readConsumerLost,
  readObjectUpdate,
  readFlow,
  readDone,
  readBaseType,
  readPeriod,
  readContext,
  readClock,
  readCalls,
  readWantType,
  readWantTypes,
  readTypes,
  readPosition,
  readTaken,
  readReplayed,
  readDropped,
  readGiveUp,
  readAskHandover,
  readHandoverToken,
  readYield,
  readYielded,
  readInheritance,
  readOpenObject,
  readCopyUpdate,
  readPullObject,
  readObjectWrite,
  readObjectTaken,
  readNoted,
  readPlaced,
  readCompare,
  readImpaired,
  readRate,
  readDrain,
  readPassed,
  readPrepare,
];

/** What writes the message of a kind, and its tag. */
export interface Writer {
  readonly tag: number;
  readonly write: (to: ControlTarget, from: object) => number;
}

/** By the messages' kinds. */
export const WRITERS: ReadonlyMap<string, Writer> = new Map([
  ["Hello", { tag: 1, write: writeHello }],
  ["Welcome", { tag: 2, write: writeWelcome }],
  ["Ping", { tag: 3, write: writePing }],
  ["Pong", { tag: 4, write: writePong }],
  ["Fault", { tag: 5, write: writeFault }],
  ["OpenProducer", { tag: 6, write: writeOpenProducer }],
  ["ProducerOpened", { tag: 7, write: writeProducerOpened }],
  ["OpenConsumer", { tag: 8, write: writeOpenConsumer }],
  ["ConsumerOpened", { tag: 9, write: writeConsumerOpened }],
  ["Refused", { tag: 10, write: writeRefused }],
  ["CloseEndpoint", { tag: 11, write: writeCloseEndpoint }],
  ["TypeKnown", { tag: 12, write: writeTypeKnown }],
  ["Demand", { tag: 13, write: writeDemand }],
  ["Install", { tag: 14, write: writeInstall }],
  ["Installed", { tag: 15, write: writeInstalled }],
  ["Remove", { tag: 16, write: writeRemove }],
  ["Removed", { tag: 17, write: writeRemoved }],
  ["ConsumerLost", { tag: 18, write: writeConsumerLost }],
  ["ObjectUpdate", { tag: 19, write: writeObjectUpdate }],
  ["Flow", { tag: 20, write: writeFlow }],
  ["Done", { tag: 21, write: writeDone }],
  ["BaseType", { tag: 22, write: writeBaseType }],
  ["Period", { tag: 23, write: writePeriod }],
  ["Context", { tag: 24, write: writeContext }],
  ["Clock", { tag: 25, write: writeClock }],
  ["Calls", { tag: 26, write: writeCalls }],
  ["WantType", { tag: 27, write: writeWantType }],
  ["WantTypes", { tag: 28, write: writeWantTypes }],
  ["Types", { tag: 29, write: writeTypes }],
  ["Position", { tag: 30, write: writePosition }],
  ["Taken", { tag: 31, write: writeTaken }],
  ["Replayed", { tag: 32, write: writeReplayed }],
  ["Dropped", { tag: 33, write: writeDropped }],
  ["GiveUp", { tag: 34, write: writeGiveUp }],
  ["AskHandover", { tag: 35, write: writeAskHandover }],
  ["HandoverToken", { tag: 36, write: writeHandoverToken }],
  ["Yield", { tag: 37, write: writeYield }],
  ["Yielded", { tag: 38, write: writeYielded }],
  ["Inheritance", { tag: 39, write: writeInheritance }],
  ["OpenObject", { tag: 40, write: writeOpenObject }],
  ["CopyUpdate", { tag: 41, write: writeCopyUpdate }],
  ["PullObject", { tag: 42, write: writePullObject }],
  ["ObjectWrite", { tag: 43, write: writeObjectWrite }],
  ["ObjectTaken", { tag: 44, write: writeObjectTaken }],
  ["Noted", { tag: 45, write: writeNoted }],
  ["Placed", { tag: 46, write: writePlaced }],
  ["Compare", { tag: 47, write: writeCompare }],
  ["Impaired", { tag: 48, write: writeImpaired }],
  ["Rate", { tag: 49, write: writeRate }],
  ["Drain", { tag: 50, write: writeDrain }],
  ["Passed", { tag: 51, write: writePassed }],
  ["Prepare", { tag: 52, write: writePrepare }],
]);
