import { tokenOf } from "@jecho/shared/internal";
import { Delegates } from "../modulation/delegates.ts";
import { Deriving } from "../modulation/deriving.ts";
import { Feeds } from "../modulation/feeds.ts";
import { Modulation } from "../modulation/modulation.ts";
import { lacksPast, Past, type PastParts } from "../modulation/past.ts";
import { TracedRuns } from "../modulation/traced-runs.ts";
import { QueueReaders } from "../queues/queue-readers.ts";
import { EndedSources } from "./incoming/ended-sources.ts";
import { Demands } from "./outgoing/demands.ts";
import { Departures } from "./outgoing/departures.ts";
import { Hold } from "./outgoing/hold.ts";
import { OwnLanes } from "./outgoing/lane.ts";
import { MessageMemory } from "./outgoing/message-memory.ts";
import { Outbox } from "./outgoing/outbox.ts";
import { Raising } from "./outgoing/raising.ts";
import type { CreateProduction } from "./parts.ts";
import type { Production } from "./production-parts.ts";

/** Makes and connects the parts that produce events. */
export const createProduction: CreateProduction = ({
  index,
  link,
  routes,
  reception,
  synchronous,
  openings,
  schemas,
  events,
  most,
  isTraced,
  createEnvironment,
  onAllBack,
}) => {
  // Memory of outgoing messages.
  const memory = new MessageMemory();
  const lanes = new OwnLanes();
  const outbox = new Outbox(link, memory);
  const hold = new Hold(onAllBack);
  const known = new Map<bigint, Uint8Array>();
  const schemaOf = (token: bigint): Uint8Array | undefined => {
    for (const schema of schemas.all.slice(known.size)) known.set(tokenOf(schema), schema);
    return index.schemaOf(token) ?? known.get(token);
  };
  const modulation: Modulation = new Modulation(createEnvironment, most, {
    room: bytes => memory.take(bytes),
    onEvents: (installation, frame, raising, isLast) => deriving.made(installation, frame, raising, isLast),
    onOrdered: (hosted, feed, parent, wire) => deriving.ordered(hosted, feed, parent, wire),
    onRefused: hosted => deriving.refused(hosted),
    onInstalled: installation => deriving.installed(installation),
    onAgain: installation => deriving.again(installation),
    onSeen: (installation, of) => deriving.seen(installation, of),
    onUnseen: () => deriving.stateLater(),
    together: act => outbox.together(act),
    onRestarted: installation => deriving.restarted(installation),
    onStatement: installation => deriving.state(installation),
    onDone: raising => synchronous.settle(raising),
    onFurther: raising => synchronous.further(raising),
    onAnswer: answer => {
      // Output that the answer is about goes first.
      outbox.release();
      link.send(answer);
    },
    onDemand: base => demands.tell(base),
    onState: (base, state) => demands.tellState(base, state),
    schemaOf,
    onNeeds: base => delegates.tellNeeds(base),
    feedFor: (source, places) => feeds.nameFor(source, places),
    onFeed: (name, { process, base, producers, sources }, channel, isBeside) => {
      const isOwn = producers.some(number => index.producerOf(number) !== undefined);
      return feeds.open(name, base, { process, channel }, isOwn, sources, isBeside);
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
  const traced = isTraced ? new TracedRuns() : undefined;
  const deriving = new Deriving({
    index,
    lanes,
    outbox,
    hold,
    routes,
    reception,
    modulation,
    feeds,
    synchronous,
    traced,
  });
  const raising = new Raising(events, {
    index,
    link,
    memory,
    outbox,
    hold,
    modulation,
    routes,
    reception,
    feeds,
    synchronous,
    traced,
  });
  const demands = new Demands({ index, modulation, routes, reception, outbox, hold }, producer =>
    deriving.opened(producer),
  );
  const delegates = new Delegates(index, modulation);
  const pastParts: PastParts = {
    indexes: index,
    lanes,
    modulation,
    deriving,
    reception,
    synchronous,
    open: entry => {
      // Events that the past is to reach up to go first.
      outbox.release();
      openings.add(entry);
    },
    close: entry => {
      if (entry.state.is !== "gone") openings.close(entry);
    },
  };
  let pasts = 0;
  const newPast: Production["newPast"] = (consumer, isAll, events) =>
    new Past(consumer, isAll, `past ${++pasts}`, pastParts, events);
  const noted = (request: number): void => link.send({ kind: "Noted", request });
  const take: Production["take"] = frame => {
    switch (frame.kind) {
      case "Demand":
        demands.told(frame);
        // Installing a producer's modulators may take longer than the return of consumers.
        if (hold.isHolding && !index.isAnyProducerAway()) hold.opened();
        return frame.request === 0 ? undefined : noted(frame.request);
      case "Install":
        hold.stir();
        return modulation.installer.install(frame, delegates.ofNumber(frame.channel));
      case "Remove":
        return modulation.remove(frame);
      case "Drain":
        void modulation.runs.finished().then(() => {
          outbox.release();
          noted(frame.request);
        });
        return;
      case "ObjectUpdate":
        return modulation.update(frame);
    }
  };
  const queuesOf: Production["queuesOf"] = (port, events) => new QueueReaders(port, events);
  modulation.runs.flow(link.isReady);
  return {
    lanes,
    outbox,
    hold,
    modulation,
    deriving,
    ended: new EndedSources(routes, reception, channel => modulation.finishedFor(channel)),
    feeds,
    raising,
    demands,
    departures: new Departures({ index, link, openings, modulation, outbox }),
    delegates,
    queuesOf,
    lacksPast: (consumer, opened) => lacksPast(consumer, opened, deriving),
    newPast,
    take,
  };
};
