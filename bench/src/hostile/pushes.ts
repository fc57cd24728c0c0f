import { typeFromFbs } from "@jecho/shared/fbs";
import { type Outgoing, WHEN_FULL } from "@jecho/shared/internal";
import type { Stranger } from "./stranger.ts";

/** Tools that strangers are given to work with. */
export interface Push {
  /** Another connection, which stays open until the push is over. */
  connect(): Promise<Stranger>;
  /** Whether it is time to stop. */
  isOver(): boolean;
}

const SCHEMA = new Uint8Array(0);
const MANY = 500;
const MODULATOR = { parameters: "", key: "", objects: [], capabilities: [], compares: false };
const STATE = JSON.stringify({ text: "x".repeat(60_000) });

/** Sends requests without end, from connections that are opened again when they are ended. @param make the i-th */
async function flood(push: Push, make: (i: number) => Outgoing, together = MANY): Promise<void> {
  let stranger = await push.connect();
  for (let i = 1; !push.isOver(); ) {
    if (stranger.isClosed) stranger = await push.connect();
    stranger.say(...Array.from({ length: together }, () => make(i++)));
    await stranger.room();
  }
}

const consumer = (i: number, channel: string): Outgoing => ({
  kind: "OpenConsumer",
  request: i,
  channel,
  schema: SCHEMA,
});
const deriving = (i: number, channel: string, source: string, as = ""): Outgoing => ({
  ...(consumer(i, channel) as Extract<Outgoing, { kind: "OpenConsumer" }>),
  as,
  modulator: { ...MODULATOR, source },
});

/** A consumer of many channels takes nothing, and producers there raise what they can. */
async function stuck(
  push: Push,
  channels: number,
  whenFull: keyof typeof WHEN_FULL,
  prefix = "",
): Promise<void> {
  const taker = await push.connect();
  const giver = await push.connect();
  const raises: (() => void)[] = [];
  for (let i = 0; i < channels && !push.isOver(); i++) {
    const queue = { whenFull: WHEN_FULL[whenFull], limitBytes: 0 };
    taker.say({
      kind: "OpenConsumer",
      request: 1,
      channel: `stuck/${prefix}${whenFull}-${i}`,
      schema: SCHEMA,
      queue,
    });
    const opened = await taker.next("ConsumerOpened");
    if (opened !== undefined) taker.say({ kind: "Flow", derived: opened.channel, ready: false });
    raises.push(await giver.produce(`stuck/${prefix}${whenFull}-${i}`));
  }
  while (!push.isOver() && !giver.isClosed)
    for (const raise of raises) {
      raise();
      await giver.room();
    }
}

/** Many connections, each with a channel of its own, take nothing. */
async function crowdStuck(push: Push, connections: number): Promise<void> {
  await Promise.all(Array.from({ length: connections }, (_, i) => stuck(push, 1, "drop-oldest", `of-${i}`)));
}

async function history(push: Push, channels: number): Promise<void> {
  const giver = await push.connect();
  const history = { events: 0, seconds: 1e12, latest: false, onDemand: false, durable: false };
  const raises: (() => void)[] = [];
  for (let i = 0; i < channels; i++)
    raises.push(await giver.produce(`history/${channels}-${i}`, { history }));
  while (!push.isOver() && !giver.isClosed)
    for (const raise of raises) {
      raise();
      await giver.room();
    }
}

async function connecting(push: Push): Promise<void> {
  while (!push.isOver()) await push.connect();
}

/** How a stranger pushes each limit of SECURITY.md's table. */
export const PUSHES: Readonly<Record<string, (push: Push) => Promise<void>>> = {
  async limitBytes(push) {
    while (!push.isOver()) {
      const stranger = await push.connect();
      stranger.send(new Uint8Array((16 << 20) + 8));
      await stranger.room();
    }
  },
  connections: connecting,
  connectionsPerAddress: connecting,
  connectionsPerSubject: connecting,
  framesPerSecond: push => flood(push, i => ({ kind: "Ping", time: i }), 10 * MANY),
  bytesPerSecond: push => flood(push, i => ({ ...consumer(i, "a"), label: "x".repeat(1 << 20) }), 8),
  endpointsPerConnection: push => flood(push, i => consumer(i, "a")),
  channels: push => flood(push, i => consumer(i, `channel/${i}`)),
  namesPerChannel: push => flood(push, i => deriving(i, "a", String(i), `n${i}`)),
  modulatorsPerConnection: push => flood(push, i => deriving(i, "a", `${i}${"x".repeat(10_000)}`), 50),
  modulatorsInARow: push =>
    flood(push, i => deriving(i, i === 1 ? "a" : `a#n${i - 1}`, String(i), `n${i}`), 1),
  modulatorLength: push => flood(push, i => deriving(i, "a", `${i}${"x".repeat(1 << 20)}`), 4),
  objectsPerConnection: push =>
    flood(push, i => ({ kind: "OpenObject", request: i, object: `o${i}`, version: 1, state: STATE }), 50),
  labelLength: push => flood(push, i => ({ ...consumer(i, `label/${i}`), label: "x".repeat(4 << 20) }), 2),
  schemaBytes: push =>
    flood(
      push,
      i => ({ kind: "OpenProducer", request: i, channel: `schema/${i}`, schema: new Uint8Array(2 << 20) }),
      2,
    ),
  typesPerChannel: push =>
    flood(
      push,
      i => ({
        kind: "OpenProducer",
        request: i,
        channel: "types",
        schema: typeFromFbs(`table T${i} { n: uint32; } root_type T${i};`).schema,
      }),
      20,
    ),
  async keptBytes(push) {
    const source = "x".repeat(200_000);
    const connections = Array.from({ length: 8 }, (_, c) =>
      flood(push, i => deriving(i, "a", `${c} ${i} ${source}`), 5),
    );
    await Promise.all(connections);
  },
  consumerQueueBytes: push => stuck(push, 1, "drop-oldest"),
  connectionQueueBytes: push => stuck(push, 60, "drop-oldest"),
  queueTotalBytes: push => crowdStuck(push, 20),
  blockMs: push => stuck(push, 4, "block"),
  historyBytes: push => history(push, 1),
  historyTotalBytes: push => history(push, 20),
};

/** Floods that are to take the gateway's time from others, by their rows in the list of what it must withstand. */
export const FLOODS: Readonly<Record<string, (push: Push) => Promise<void>>> = {
  "row 38, derived of derived": PUSHES.modulatorsInARow as (push: Push) => Promise<void>,
  "row 40, labels of 4 MiB": PUSHES.labelLength as (push: Push) => Promise<void>,
  "row 41, history without end": push => history(push, 20),
  "row 43, opens": push => flood(push, i => consumer(i, `open/${i}`)),
  "row 43, subscriptions": push => flood(push, i => consumer(i, "a"), 10 * MANY),
  "row 43, WantType": push => flood(push, i => ({ kind: "WantType", request: i, token: 1n }), 10 * MANY),
  "row 43, WantTypes": push => flood(push, i => ({ kind: "WantTypes", request: i, channel: "a" }), 10 * MANY),
  "row 53, small messages": async push => {
    let stranger = await push.connect();
    while (!push.isOver()) {
      if (stranger.isClosed) stranger = await push.connect();
      for (let i = 0; i < 10 * MANY; i++) stranger.say({ kind: "CloseEndpoint", endpoint: i });
      await stranger.room();
    }
  },
  "row 43, ObjectUpdate": push =>
    flood(push, i => ({ kind: "ObjectUpdate", object: "o", version: i, state: STATE }), 200),
  "row 44, block and never ready": push => stuck(push, 1, "block"),
  "row 45, ever new sources": async push => {
    const stranger = await push.connect();
    await stranger.produce("sources");
    for (let i = 1n; !push.isOver() && !stranger.isClosed; ) {
      stranger.say(
        ...Array.from(
          { length: MANY },
          (): Outgoing => ({ kind: "Position", channel: 1, producer: 1, source: i++, raised: 0n }),
        ),
      );
      await stranger.room();
    }
  },
  "row 47, connections that come and go": connecting,
};
