import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectTcp, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type Producer, type Session, type } from "@jecho/client";
import { TestNats, whyNoNats } from "@jecho/e2e/nats";
import type { GatewayOptions, GatewayStats } from "@jecho/server";
import { connect as connectNats } from "@nats-io/transport-node";
import { listening } from "../listening.ts";
import { freePort, Worker } from "../processes.ts";
import { atMost, type Report } from "../report.ts";
import { ratios, summarise } from "../statistics.ts";

const Count = type("Count", { n: "uint32" });
type Counts = Producer<{ n: number }>;

const FILTER = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }
}`,
};

/** So many calls that nearly all of them find their code compiled: with 200 a call at one gateway takes twice as long. */
const ROUNDS = { calls: 1000, rounds: 9, events: 2000, kills: 10 };
const QUICK_ROUNDS = { calls: 200, rounds: 5, events: 500, kills: 2 };
/** So many channels have homes at each of three gateways. */
const CHANNELS = 12;
const BEAT_MS = 10;
const MOST_AWAY_MS = 60_000;

type ClusterOptions = NonNullable<GatewayOptions["cluster"]>;

/** Gateways in processes of their own, and sessions at them in this one. */
class Gateways {
  readonly #clusters: readonly ClusterOptions[];
  readonly #workers: Worker[] = [];
  readonly #ports: number[] = [];
  readonly #sessions: Session[] = [];

  private constructor(clusters: readonly ClusterOptions[]) {
    this.#clusters = clusters;
  }

  static async start(clusters: readonly ClusterOptions[]): Promise<Gateways> {
    const gateways = new Gateways(clusters);
    for (const index of clusters.keys()) await gateways.begin(index);
    await gateways.allPresent();
    return gateways;
  }

  async begin(index: number): Promise<void> {
    const worker = new Worker("cluster-gateway");
    this.#workers[index] = worker;
    const options = { port: this.#ports[index] ?? 0, heartbeatMs: 1000, cluster: this.#clusters[index] };
    this.#ports[index] = await worker.call<number>("start", options);
  }

  stats(index: number): Promise<GatewayStats> {
    return (this.#workers[index] as Worker).call<GatewayStats>("stats");
  }

  async allPresent(): Promise<void> {
    const count = this.#clusters.length;
    for (const index of this.#clusters.keys())
      while ((await this.stats(index)).gateways < count) await delay(BEAT_MS);
  }

  kill(index: number): void {
    this.#workers[index]?.child.kill("SIGKILL");
  }

  addressOf(index: number): string {
    return `127.0.0.1:${this.#ports[index]}`;
  }

  session(address: string): Session {
    const name = `session ${this.#sessions.length}`;
    const session = connect(address, { name, backoff: { firstMs: 20, mostMs: 200 } });
    this.#sessions.push(session);
    return session;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#sessions.map(session => session.close()));
    await Promise.all(this.#workers.map(worker => worker.stop()));
  }
}

/** Measures what gateways that share channels cost and take, by NATS and by a list. */
export async function clusterFigures(report: Report, quick: boolean): Promise<void> {
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  const why = await whyNoNats();
  if (why === undefined) {
    const nats = await TestNats.start();
    const member = { nats: { servers: [nats.address] } };
    try {
      await using(await Gateways.start([member, member]), gateways =>
        crossing(report, gateways, nats.address, rounds),
      );
      await using(await Gateways.start([member, member, member]), gateways =>
        failover(report, "failover_nats", gateways, rounds.kills),
      );
    } finally {
      await nats.stop();
    }
  } else report.missing("cluster.cross_vs_local", atMost(1.3), why);
  const folder = await mkdtemp(join(tmpdir(), "jecho-cluster-"));
  try {
    const secretFile = join(folder, "secret");
    await writeFile(secretFile, "a secret of this cluster");
    const members: string[] = [];
    while (members.length < 3) members.push(`127.0.0.1:${await freePort()}`);
    const listed = members.map(self => ({ members, self, secretFile }));
    await using(await Gateways.start(listed), async gateways => {
      await sends(report, gateways, rounds.events);
      await failover(report, "failover", gateways, rounds.kills);
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function using(gateways: Gateways, act: (gateways: Gateways) => Promise<void>): Promise<void> {
  try {
    await act(gateways);
  } finally {
    await gateways.stop();
  }
}

/** A synchronous event there and back to the other gateway, less one to a consumer at the same, against a question and its answer by NATS alone. */
async function crossing(
  report: Report,
  gateways: Gateways,
  address: string,
  { calls, rounds }: typeof ROUNDS,
): Promise<void> {
  const producing = gateways.session(gateways.addressOf(0));
  const channels = await homesAt(gateways, producing, 2);
  const [local, cross] = channels as [Counts, Counts];
  await gateways
    .session(gateways.addressOf(0))
    .channel(local.channel, Count)
    .subscribe(() => {});
  await gateways
    .session(gateways.addressOf(1))
    .channel(cross.channel, Count)
    .subscribe(() => {});
  while (local.demand.total + cross.demand.total < 2) await delay(BEAT_MS);
  const [asking, answering] = [
    await connectNats({ servers: address }),
    await connectNats({ servers: address }),
  ];
  answering.subscribe("bench.ask", { callback: (_, message) => void message.respond(message.data) });
  await answering.flush();
  const question = new Uint8Array(64);
  const times = { local: [], cross: [], nats: [] } as Record<"local" | "cross" | "nats", number[]>;
  for (let round = -1; round < rounds; round++) {
    const of: typeof times = { local: [], cross: [], nats: [] };
    for (let n = 0; n < calls; n++) {
      of.local.push(await timeOf(() => local.publishSync({ n })));
      of.cross.push(await timeOf(() => cross.publishSync({ n })));
      of.nats.push(await timeOf(() => asking.request("bench.ask", question)));
    }
    if (round >= 0)
      for (const key of ["local", "cross", "nats"] as const) times[key].push(summarise(of[key]).median);
  }
  await Promise.all([asking.close(), answering.close()]);
  report.metric("cluster.local_round_trip", times.local, "ms");
  report.metric("cluster.cross_round_trip", times.cross, "ms");
  report.metric("cluster.nats_round_trip", times.nats, "ms");
  const further = times.cross.map((cross, i) => cross - (times.local[i] as number));
  report.metric("cluster.cross_vs_local", ratios(further, times.nats), "x", atMost(1.3));
}

/** Producers of so many channels whose home is the first gateway, at which the session is. */
async function homesAt(gateways: Gateways, session: Session, wanted: number): Promise<Counts[]> {
  const found: Counts[] = [];
  for (let i = 0; found.length < wanted; i++) {
    const { channels } = await gateways.stats(0);
    const producer = await session.channel(`at-home-${i}`, Count).produce();
    if ((await gateways.stats(0)).channels > channels) found.push(producer);
    else await producer.close();
  }
  return found;
}

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await act();
  return performance.now() - begin;
}

/** Bytes that a producer sends whose filter has consumers at all gateways, against the same with consumers at one. */
async function sends(report: Report, gateways: Gateways, events: number): Promise<void> {
  const [host, port] = gateways.addressOf(0).split(":") as [string, string];
  let bytes = 0;
  const proxy = createServer(near => {
    const far = connectTcp(Number(port), host);
    near.on("data", data => {
      bytes += data.byteLength;
    });
    near.pipe(far).pipe(near);
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
  });
  const producing = gateways.session(`${host}:${await listening(proxy)}`);
  const sent: number[] = [];
  for (const places of [1, 3]) {
    const name = `sends-${places}`;
    const producer = await producing.channel(name, Count).produce();
    let seen = 0;
    for (let place = 0; place < places; place++)
      await gateways
        .session(gateways.addressOf(place))
        .channel(name, Count)
        .subscribe(() => void seen++, { modulator: FILTER });
    while (producer.demand.total < places) await delay(BEAT_MS);
    const before = bytes;
    for (let n = 0; n < 2 * events; n += 2) producer.publish({ n });
    await producing.flush();
    while (seen < places * events) await delay(BEAT_MS);
    sent.push(bytes - before);
    await producer.close();
  }
  await producing.close();
  proxy.close();
  report.metric(
    "cluster.producer_sends",
    Math.round((sent[1] as number) / (sent[0] as number)),
    "x",
    atMost(1),
  );
}

/** How long nothing comes when the third gateway is killed, which is the home of about a third of the channels. */
async function failover(report: Report, name: string, gateways: Gateways, kills: number): Promise<void> {
  const [producing, consuming] = [0, 1].map(index => gateways.session(gateways.addressOf(index)));
  const newest = new Map<string, number>();
  const producers: Counts[] = [];
  for (let i = 0; i < CHANNELS; i++) {
    const channel = `failover-${i}`;
    producers.push(await (producing as Session).channel(channel, Count).produce());
    await (consuming as Session).channel(channel, Count).subscribe(({ n }) => newest.set(channel, n));
  }
  let n = 0;
  const beat = setInterval(() => {
    n++;
    for (const producer of producers) producer.publish({ n });
  }, BEAT_MS);
  /** All channels have an event that was raised later than this call. */
  const allComeBy = async (): Promise<void> => {
    const raised = n;
    const lateAt = performance.now() + MOST_AWAY_MS;
    while ([...newest.values()].filter(seen => seen > raised).length < CHANNELS) {
      if (performance.now() > lateAt) throw new Error(`${name}: no events for ${MOST_AWAY_MS} ms`);
      await delay(BEAT_MS / 2);
    }
  };
  try {
    const seconds: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      await allComeBy();
      seconds.push(
        (await timeOf(async () => {
          gateways.kill(2);
          await delay(BEAT_MS);
          await allComeBy();
        })) / 1000,
      );
      await gateways.begin(2);
      await gateways.allPresent();
    }
    report.metric(`cluster.${name}_s`, seconds, "s");
    report.metric(`cluster.${name}_most_s`, Math.max(...seconds), "s");
  } finally {
    clearInterval(beat);
  }
}
