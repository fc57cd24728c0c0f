import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  ANYBODY,
  type CarrierEvents,
  ClientConnection,
  Edge,
  Members,
  NatsWays,
  sendTrunk,
  TO_EDGE,
  type TrunkCarrier,
  TrunkTopics,
  WaitingTotal,
  words,
} from "@jecho/server/internal";
import { encodeControl, parseMessage } from "@jecho/shared/internal";
import { Random } from "../chaos/random.ts";
import type { Report } from "../report.ts";
import type { Context, Suite } from "../suite.ts";

/** Numbers that docs/scale.md reckons with. */
const GATEWAYS = 200;
const RACK = 20;
const CHANNELS = 10_000;
const DERIVED = 100_000;
const VIEWERS = 1_000_000;
const EVENT_BYTES = 400;
const SEED = 1;

const LIMITS = {
  requestTimeoutMs: 10_000,
  connectionQueueBytes: 64 << 20,
  waitingTotal: new WaitingTotal(512 << 20),
};
const nameOf = (channel: number): string => `model/${channel}`;

/** Runs the code that decides where channels are and what crosses, with links that only count. */
export const scale: Suite = {
  name: "scale",
  about:
    "a million viewers of 100,000 derived channels at 200 gateways: where channels are, what crosses, what a rack's loss moves",
  async run({ report }: Context) {
    const homes = placing(report);
    const crossings = crossing(report, homes);
    edge(report);
    topics(report, crossings / GATEWAYS);
    rack(report, homes);
    await idle(report);
  },
};

function membersAt(self: number): Members {
  const members = new Members(self, () => {});
  for (let index = 0; index < GATEWAYS; index++) members.came(index);
  return members;
}

/** Homes of all channels. */
function placing(report: Report): readonly number[] {
  const members = membersAt(0);
  const begin = cpuMs();
  const homes = Array.from({ length: CHANNELS }, (_, channel) => members.homeOf(nameOf(channel)));
  report.metric("scale.find_home", ((cpuMs() - begin) / CHANNELS) * 1000, "us");
  const each = new Array<number>(GATEWAYS).fill(0);
  for (const home of homes) each[home] = (each[home] as number) + 1;
  report.metric("scale.channels_mean", CHANNELS / GATEWAYS, "channels/gateway");
  report.metric("scale.channels_most", Math.max(...each), "channels/gateway");
  return homes;
}

/** Viewers are at any gateway, whichever they look at. @returns pairs of a derived channel and a gateway with viewers that is not its home */
function crossing(report: Report, homes: readonly number[]): number {
  const random = new Random(SEED);
  const taken = new Set<number>();
  for (let viewer = 0; viewer < VIEWERS; viewer++)
    taken.add(random.whole(0, DERIVED - 1) * GATEWAYS + random.whole(0, GATEWAYS - 1));
  const out = new Array<number>(GATEWAYS).fill(0);
  let crossings = 0;
  for (const pair of taken) {
    const home = homes[Math.floor(pair / GATEWAYS) % CHANNELS] as number;
    if (pair % GATEWAYS === home) continue;
    crossings++;
    out[home] = (out[home] as number) + 1;
  }
  report.metric("scale.viewers_per_derived", VIEWERS / DERIVED, "viewers");
  report.metric("scale.crossings_per_event", crossings / DERIVED, "messages");
  report.metric("scale.out_mean", crossings / GATEWAYS, "messages/gateway");
  report.metric("scale.out_most", Math.max(...out), "messages/gateway");
  return crossings;
}

/** A link that counts. */
class CountingCarrier implements TrunkCarrier {
  readonly waitingBytes = 0;
  messages = 0;
  bytes = 0;

  send(parts: readonly Uint8Array[]): void {
    this.messages++;
    for (const { byteLength } of parts) this.bytes += byteLength;
  }

  end(): void {}
}

/** One gateway as the edge of its viewers: what each costs there, and each event that crosses. */
function edge(report: Report): void {
  let published = 0;
  const one = new Edge(membersAt(0), {
    publish: () => void published++,
    took: () => {},
    knowsType: () => true,
    brings: () => {},
    followed: () => {},
  });
  const carriers = new Map<number, [CountingCarrier, CarrierEvents]>();
  for (let home = 1; home < GATEWAYS; home++) {
    const carrier = new CountingCarrier();
    carriers.set(home, [carrier, one.opened(home, carrier)]);
  }
  const socket = {
    send: () => 1,
    publish: () => true,
    subscribe: () => true,
    unsubscribe: () => true,
    end: () => {},
    getBufferedAmount: () => 0,
  };
  const random = new Random(SEED);
  const viewers = VIEWERS / GATEWAYS;
  const source = "x".repeat(EVENT_BYTES);
  const modulator = { source, parameters: "{}", key: "", objects: [], capabilities: [], compares: false };
  const members = membersAt(0);
  const before = heapBytes();
  const begin = cpuMs();
  const all: ClientConnection[] = [];
  const topicsOf = new Map<number, number>();
  // As the edge counts those that have something elsewhere.
  let client = 0;
  for (let viewer = 0; viewer < viewers; viewer++) {
    const connection = new ClientConnection(socket, LIMITS);
    connection.subject = ANYBODY;
    all.push(connection);
    const channel = nameOf(random.whole(0, CHANNELS - 1));
    const message = encodeControl({ kind: "OpenConsumer", request: 1, channel, modulator });
    parseMessage(message, (frame, start, end) => one.forward(connection, frame, message, start, end));
    one.flush();
    const home = members.homeOf(channel);
    if (home === 0) continue;
    const topic = (topicsOf.get(home) ?? 0) + 1;
    topicsOf.set(home, topic);
    carriers.get(home)?.[1].message(trunkMessage(TO_EDGE.subscribe, ++client, words(topic)));
  }
  const cpu = cpuMs() - begin;
  report.metric("scale.edge_viewer", (heapBytes() - before) / viewers, "B/viewer");
  report.metric("scale.edge_open", (cpu / viewers) * 1000, "us/viewer");
  const [bytes, messages] = [...carriers.values()].reduce(
    ([bytes, messages], [carrier]) => [bytes + carrier.bytes, messages + carrier.messages],
    [0, 0],
  );
  report.metric("scale.open_bytes", bytes / viewers, "B/viewer");
  report.metric("scale.open_messages", messages / viewers, "messages/viewer");
  const event = new Uint8Array(EVENT_BYTES);
  const events = [...topicsOf].flatMap(([home, topics]) =>
    Array.from(
      { length: topics },
      (_, i) => [home, trunkMessage(TO_EDGE.publish, 0, words(i + 1, 0), event)] as const,
    ),
  );
  const rounds = 20;
  const from = cpuMs();
  for (let round = 0; round < rounds; round++)
    for (const [home, message] of events) carriers.get(home)?.[1].message(message);
  report.metric("scale.edge_event", ((cpuMs() - from) / published) * 1000, "us/event");
}

function trunkMessage(kind: number, client: number, ...rest: readonly Uint8Array[]): Uint8Array {
  const sent: Uint8Array[] = [];
  sendTrunk(
    { waitingBytes: 0, send: parts => void sent.push(...parts), end: () => {} },
    kind,
    client,
    ...rest,
  );
  return Buffer.concat(sent);
}

/** A home's lists of what other gateways take. */
function topics(report: Report, each: number): void {
  const before = heapBytes();
  const ways = Array.from({ length: GATEWAYS - 1 }, () => new TrunkTopics());
  for (let i = 0; i < each; i++) (ways[i % ways.length] as TrunkTopics).add(`channel ${i}`);
  report.metric("scale.home_topic", (heapBytes() - before) / each, "B/topic");
  report.metric("scale.home_topics", each, "topics/gateway");
}

/** A rack is lost: what the others have to find out, and who has to come back. */
function rack(report: Report, homes: readonly number[]): void {
  const lost = (index: number): boolean => index >= GATEWAYS - RACK;
  const own = Array.from(homes.keys()).filter(channel => homes[channel] === 0);
  const members = new Members(0, () => {
    // What each gateway looks at whenever one has come or gone.
    for (const channel of own) members.isHomeOf(nameOf(channel));
  });
  for (let index = 1; index < GATEWAYS; index++) members.came(index);
  const begin = cpuMs();
  for (let index = GATEWAYS - RACK; index < GATEWAYS; index++) members.left(index);
  report.metric("scale.rack_look", cpuMs() - begin, "ms");
  const moved = homes.filter(lost).length;
  report.metric("scale.rack_moved", moved / CHANNELS, "of the channels");
  const random = new Random(SEED);
  let back = 0;
  for (let viewer = 0; viewer < VIEWERS; viewer++) {
    const channel = random.whole(0, DERIVED - 1) % CHANNELS;
    if (lost(random.whole(0, GATEWAYS - 1)) || lost(homes[channel] as number)) back++;
  }
  report.metric("scale.rack_back", back / (GATEWAYS - RACK), "viewers/gateway");
}

/** Packets of carriers over NATS that have nothing to carry. */
async function idle(report: Report): Promise<void> {
  const few = 8;
  const ms = 4000;
  let packets = 0;
  const all: NatsWays[] = [];
  const events: CarrierEvents = { message: () => {}, drained: () => {}, ended: () => {} };
  const subject = (index: number): string => `x.way.${index}`;
  const connection = {
    info: { max_payload: 1 << 20 },
    isClosed: () => false,
    publish: (to: string, data: Uint8Array) => {
      packets++;
      setImmediate(() => all[Number(to.slice(subject(0).length - 1))]?.packet(data));
    },
  } as unknown as ConstructorParameters<typeof NatsWays>[0];
  for (let self = 0; self < few; self++)
    all.push(
      new NatsWays(connection, "x", {
        self: () => ({ index: self, id: String(self) }),
        idOf: index => String(index),
        opened: () => events,
        accepted: () => events,
      }),
    );
  for (const [self, ways] of all.entries())
    for (let other = 0; other < few; other++) if (other !== self) ways.open(other, String(other));
  const timer = setInterval(() => {
    for (const ways of all) ways.look(performance.now());
  }, 100);
  await delay(1000);
  packets = 0;
  await delay(ms);
  clearInterval(timer);
  const perPair = (packets * 1000) / ms / (few * (few - 1));
  report.metric("scale.idle_pair", perPair, "packets/s");
  report.metric("scale.idle_all", perPair * GATEWAYS * (GATEWAYS - 1), "packets/s");
}

/** CPU time of this process: other programs take their share of the time by the clock. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collect();
  return process.memoryUsage().heapUsed;
}
