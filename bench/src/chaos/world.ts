import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect, type DerivedStanding } from "@jecho/client";
import { TestNats } from "@jecho/e2e/nats";
import { createTokenKeys } from "@jecho/server";
import { add, emptyVerdicts, type Source, type Verdicts } from "./checker.ts";
import { ConsumerParty } from "./consumer-party.ts";
import type { Cutter } from "./cutter.ts";
import { mount, unmount } from "./disk.ts";
import { CHANNELS, isKept, type MeaningName, meaningsOf } from "./event.ts";
import type { GatewayParty } from "./gateway-party.ts";
import { type Between, type Gathering, historyFileIn, startGateways } from "./gateways.ts";
import { type ProducerOptions, ProducerParty } from "./producer-party.ts";
import type { Random } from "./random.ts";
import { slowWay, someWay, tokensBy, USUAL, type Way } from "./way.ts";

export interface WorldOptions {
  /** Number of gateways: several are a cluster. */
  readonly gateways: number;
  /** Whether they are joined by NATS. */
  readonly byNats: boolean;
  /** Whether clients go on at the other gateways where theirs ends. */
  readonly roams: boolean;
  /** Whether all producers run modulators themselves: one leaves that to others otherwise. */
  readonly allModulate: boolean;
  /** Its files lie on a small disk of their own. */
  readonly hasOwnDisk: boolean;
  /** Its messages have checksums: for where bits flip on the way. */
  readonly hasChecksums: boolean;
  /** Its gateways want tokens. */
  readonly hasKeys: boolean;
  /** How long nothing comes before what is still owed is taken to be lost. */
  readonly patienceMs: number;
  /** Is told what the world does and sees. */
  readonly log?: (line: string) => void;
}

/** Outcome of a time of faults. */
export interface Outcome {
  readonly verdicts: Verdicts;
  /** Everybody came back, and has seen or been told everything. */
  readonly isWhole: boolean;
  readonly notes: readonly string[];
  /** Consumers that were told to have ended. */
  readonly ended: number;
  /** Last changes of a shared object that some process lacks. */
  readonly unsteered: number;
}

const TAKE_MS = 100;
/** Time in which nothing comes, before anything is judged: what was told may have been due to nobody, and others still be on their way. */
const STILL_MS = 500;
/** Consumers are back that have been live for so long: a home that moves has ended their connections by then. They are waited for at most so long. */
const BACK_MS = 1500;
const MOST_BACK_MS = 60_000;
/** Longest suspension of a modulator, and the time until it is installed again. */
const MOST_LEFT_OUT_MS = 720_000;
const NUDGE = 8;
const LOAD = { batch: 10, everyMs: 30, serves: true, isLater: false, others: [], way: USUAL } as const;

/**
 * A gateway, or a cluster of some, three producers and four processes of consumers under load, each with a way of its own to the gateway; one of the processes does not
 * keep up. Faults find here whom to disturb, and give them back as they were.
 */
export class World {
  /** The server that joins the gateways, where one does. */
  readonly nats: TestNats | undefined;
  readonly gateways: readonly GatewayParty[];
  /** The ways between gateways. */
  readonly between: readonly Between[];
  readonly producers: readonly ProducerParty[];
  readonly consumers: readonly ConsumerParty[];
  /** Folder of its files. */
  readonly folder: string;
  readonly historyFile: string;
  readonly #options: WorldOptions;
  readonly #visitors: ProducerParty[] = [];
  readonly #readers: ConsumerParty[] = [];
  /** Sources whose lives have ended, and how many of them had ended at the last `settle`. */
  readonly #ended: Source[] = [];
  #endedBefore = 0;
  /** A gateway has ended since the last `settle`; and did so in a way in which it could not hand on what it had. */
  #gatewayEnded = false;
  #gatewayDied = false;
  /** Its disk has been full: what a gateway could not store of the past is not promised, once another one takes its place. */
  #isForgetful = false;
  readonly #resumeWindowMs: number;
  /** How those are connected that come and go. */
  readonly #usual: Way;
  /** Somebody's way is slow since the last `settle`, so that they may come back when they are waited for no more. */
  #mayReturnLate = false;
  readonly #locks = new Map<object, Promise<unknown>>();
  #nextVisitor = 100;
  #isOver = false;
  readonly #collecting: Promise<void>;

  private constructor(
    folder: string,
    nats: TestNats | undefined,
    { gateways, between }: Gathering,
    producers: readonly ProducerParty[],
    consumers: readonly ConsumerParty[],
    options: WorldOptions,
    resumeWindowMs: number,
    usual: Way,
  ) {
    this.folder = folder;
    this.nats = nats;
    this.historyFile = historyFileIn(folder);
    this.gateways = gateways;
    this.between = between;
    this.producers = producers;
    this.consumers = consumers;
    this.#options = options;
    this.#resumeWindowMs = resumeWindowMs;
    this.#usual = usual;
    this.#collecting = this.#collect();
  }

  /** Whether its gateways ask for tokens. */
  get hasKeys(): boolean {
    return this.#usual.keys !== undefined;
  }

  static async start(random: Random, options: WorldOptions): Promise<World> {
    const folder = await mkdtemp(join(tmpdir(), "jecho-chaos-"));
    try {
      if (options.hasOwnDisk) mount(folder);
      return await World.#startIn(folder, random, options);
    } catch (error) {
      await remove(folder);
      throw error;
    }
  }

  static async #startIn(folder: string, random: Random, options: WorldOptions): Promise<World> {
    const [resumeWindowMs, modulates] = [random.pick([5000, 30_000]), random.next() < 0.75];
    options.log?.(
      `${options.gateways} gateways ${modulates ? "with" : "without"} processes for modulators, a resume window of ${resumeWindowMs} ms${options.hasKeys ? ", tokens" : ""}`,
    );
    const keys = options.hasKeys ? (await createTokenKeys("HS256")).signing : undefined;
    const having = keys && { keys };
    const ways: Way[] = Array.from({ length: 6 }, () => ({ ...someWay(random), ...having }));
    ways.push({ ...slowWay(random), ...having });
    const [toProducers, toConsumers] = [ways.slice(0, 3), ways.slice(3)];
    const text = ways.map(({ place, tier, slow }) => [place, tier, slow ?? ""].join(" ").trim());
    options.log?.(`producers: ${text.slice(0, 3).join(", ")}; consumers: ${text.slice(3).join(", ")}`);
    const nats = options.byNats ? await TestNats.start() : undefined;
    const gathering = await startGateways(folder, nats, options.gateways, {
      checksums: options.hasChecksums,
      resumeWindowMs,
      modulates,
      ...(keys && { tokens: { keys } }),
    });
    const { gateways } = gathering;
    const portOf = (i: number): number => (gateways[i % gateways.length] as GatewayParty).port;
    const othersOf = (i: number): number[] =>
      options.roams ? gateways.map(({ port }) => port).filter(port => port !== portOf(i)) : [];
    const all = CHANNELS.flatMap(channel => meaningsOf(channel).map(meaning => [channel, meaning] as const));
    const create = (name: string, i: number, ...without: MeaningName[]): Promise<ConsumerParty> =>
      ConsumerParty.create(
        name,
        portOf(i),
        all.filter(([, meaning]) => !without.includes(meaning)),
        { others: othersOf(i), way: toConsumers[i] as Way },
      );
    const consumers = await Promise.all([
      create("A", 0, "third"),
      create("B", 1, "gathered"),
      // Consumers that do not keep up.
      create("S", 3, "third"),
      // Consumers that are handed over.
      create("H", 2, "fourth", "third"),
    ]);
    const producers = await Promise.all(
      [true, true, options.allModulate].map((modulates, i) =>
        ProducerParty.create(i + 1, portOf(i + 1), {
          ...LOAD,
          others: othersOf(i + 1),
          modulates,
          way: toProducers[i] as Way,
        }),
      ),
    );
    const world = new World(folder, nats, gathering, producers, consumers, options, resumeWindowMs, {
      ...USUAL,
      ...having,
    });
    try {
      for (const consumer of consumers) await consumer.start();
      for (const producer of producers) await producer.start();
    } catch (error) {
      await world.stop();
      throw error;
    }
    return world;
  }

  /** Lets nobody else disturb `party` meanwhile. */
  async exclusively<T>(party: object, disturb: () => Promise<T>): Promise<T> {
    const before = this.#locks.get(party) ?? Promise.resolve();
    const now = before.catch(() => {}).then(disturb);
    this.#locks.set(party, now);
    return now;
  }

  /** The one gateway, or the one at which visitors are and which has the history's file that is spoilt. */
  get gateway(): GatewayParty {
    return this.gateways[0] as GatewayParty;
  }

  /** A gateway has ended. @param hasHandedOn whether it could hand on what it had */
  gatewayEnds(hasHandedOn: boolean): void {
    this.#gatewayEnded = true;
    this.#gatewayDied ||= !hasHandedOn;
  }

  /** Somebody may take so long to come back. */
  returnsIn(ms: number): void {
    this.#mayReturnLate ||= ms > this.#resumeWindowMs;
  }

  /** The gateway cannot store all that it has. */
  historyLost(): void {
    this.#isForgetful = true;
  }

  /** Waits until all consumers are back, as who restarts one gateway after another does. */
  async back(): Promise<void> {
    const until = performance.now() + MOST_BACK_MS;
    let since = performance.now();
    while (performance.now() - since < BACK_MS && performance.now() < until) {
      if (!this.consumers.every(({ areLive, mayBeAway }) => areLive || mayBeAway)) since = performance.now();
      await delay(TAKE_MS);
    }
  }

  /** A producer ended: so much of what it raised has to come. */
  lifeEnded(sources: readonly Source[]): void {
    for (const source of sources) source.isOver = true;
    this.#ended.push(...sources);
  }

  /** Has a producer of its own for as long as `stay` takes, which starts and ends it. */
  async visit(
    options: Partial<ProducerOptions>,
    stay: (visitor: ProducerParty) => Promise<readonly Source[]>,
  ): Promise<void> {
    const id = this.#nextVisitor++;
    const visitor = await ProducerParty.create(id, this.gateway.port, {
      ...LOAD,
      way: this.#usual,
      modulates: true,
      ...options,
    });
    this.#visitors.push(visitor);
    try {
      this.lifeEnded(await stay(visitor));
    } finally {
      await visitor.stop();
      this.#visitors.splice(this.#visitors.indexOf(visitor), 1);
    }
  }

  /** Has consumers come that begin with all that has been kept. They go once they have been judged. */
  async read(): Promise<void> {
    const wanted = (["all", "even", "fresh"] as const).map(meaning => ["chaos/kept", meaning] as const);
    const reader = await ConsumerParty.create("R", this.gateway.port, wanted, { from: 1, way: this.#usual });
    this.#readers.push(reader);
    await reader.start();
  }

  /** The ways to the gateway of all who are always there. */
  get cutters(): readonly Cutter[] {
    return [...this.producers, ...this.consumers].map(({ cutter }) => cutter);
  }

  /** Ends the faults: waits until everybody has seen or been told everything, or nothing more comes, and judges. */
  async settle(): Promise<Outcome> {
    const ended = this.#ended.slice(this.#endedBefore);
    const isFileWhole = !this.#isForgetful && !this.gateway.hasSalvaged;
    if (!isFileWhole) for (const reader of this.#readers) reader.forgive();
    // Nobody knows any more what a gateway had of producers that have gone, where neither it nor its file could hand that on.
    const keeps = this.gateways.length === 1;
    for (const source of ended) {
      const isInFile = keeps && isKept(source.channel);
      // Nobody wants what is published into a derived channel while its consumers are not known, as on a connection that was cut.
      if (source.isDirect) source.due = 0;
      if (isInFile ? this.#gatewayEnded && !isFileWhole : this.#gatewayDied) source.due = 0;
    }
    // Steering ends at once, while a connection may be dead that nobody knows to be.
    const set = new Map<string, number>();
    for (const consumer of this.consumers)
      for (const [field, value] of Object.entries((await consumer.rest()).set)) set.set(field, value);
    await this.#eachProducer(producer => producer.pause());
    await this.#flush();
    const { patienceMs } = this.#options;
    let isWhole = await this.#quiet(patienceMs / 4);
    if (!isWhole) {
      this.#say(`events are missing; some more are raised (${this.#missing().join("; ")})`);
      for (const one of await this.#derived())
        if (one.of.places.some(({ at }) => at === "nowhere")) this.#say(lineOf(one));
      await this.#eachProducer(producer => producer.nudge(NUDGE));
      isWhole = await this.#quiet(patienceMs);
    }
    const apart = await this.#agree(set, patienceMs);
    isWhole &&= apart.length === 0;
    const verdicts = emptyVerdicts();
    const judged = this.#watched;
    const notes: string[] = isWhole
      ? []
      : [...apart, ...judged.flatMap(({ away }) => away), ...(await this.#derived()).map(lineOf)];
    let endedConsumers = 0;
    const lacksRows = this.gateways.some(gateway => gateway.lacksRows);
    for (const consumer of judged) {
      for (const one of consumer.close(this.#sources(), isFileWhole && !lacksRows, this.#mayReturnLate)) {
        add(verdicts[one.category], one.verdict);
        notes.push(...one.notes);
      }
      endedConsumers += consumer.ended;
      consumer.ended = 0;
    }
    for (const gateway of this.gateways) {
      const { failedStarts, log } = gateway;
      if (failedStarts > 0) notes.push(`a gateway did not come to run: ${failedStarts} times; ${log.at(-1)}`);
      gateway.failedStarts = 0;
      gateway.lacksRows = false;
    }
    this.#endedBefore = this.#ended.length;
    this.#gatewayEnded = false;
    this.#gatewayDied = false;
    this.#mayReturnLate = false;
    await Promise.all(this.#readers.splice(0).map(reader => reader.stop()));
    await this.#eachProducer(producer => producer.resume());
    for (const consumer of this.consumers) await consumer.steer();
    return { verdicts, isWhole, notes, ended: endedConsumers, unsteered: apart.length };
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.producers, ...this.#visitors, ...this.#watched].map(party => party.stop()));
    await this.#collecting;
    await Promise.all(this.gateways.map(gateway => gateway.stop()));
    for (const { cutter } of this.between) cutter.close();
    await this.nats?.stop();
    await remove(this.folder);
  }

  get #watched(): ConsumerParty[] {
    return [...this.consumers, ...this.#readers];
  }

  #sources(): Source[] {
    const living = [...this.producers, ...this.#visitors].filter(({ isRunning }) => isRunning);
    const sources = living.flatMap(({ sources }) => sources);
    return [...sources, ...this.#ended.filter(source => !sources.includes(source))];
  }

  async #eachProducer(act: (producer: ProducerParty) => Promise<void>): Promise<void> {
    await Promise.all(this.producers.filter(({ isRunning }) => isRunning).map(act));
  }

  /** Waits until all have what each had set in the shared object last. @returns who lacks what */
  async #agree(set: ReadonlyMap<string, number>, patienceMs: number): Promise<string[]> {
    const until = performance.now() + patienceMs;
    for (;;) {
      const apart: string[] = [];
      for (const consumer of this.consumers) {
        const { state } = await consumer.rest();
        for (const [field, value] of set)
          if (state[field] !== value)
            apart.push(
              `${consumer.name}: "${field}" of the shared object is ${state[field]}, and was set to ${value}`,
            );
      }
      if (apart.length === 0 || performance.now() > until) return apart;
      await delay(TAKE_MS);
    }
  }

  /** Waits until what was raised is taken. A producer that does not say so in time is told of, and not waited for. */
  async #flush(): Promise<void> {
    await this.#eachProducer(async producer => {
      const late = new AbortController();
      await Promise.race([
        producer.flush(),
        delay(2 * this.#options.patienceMs, undefined, { signal: late.signal }).then(() =>
          this.#say(`the flush of producer ${producer.id} did not end`),
        ),
      ]).catch((error: Error) => this.#say(`producer ${producer.id}: ${error.message}`));
      late.abort();
    });
  }

  /** Standings of the modulators' channels, as the gateways tell them. */
  async #derived(): Promise<{ readonly name: string; readonly of: DerivedStanding }[]> {
    const overviews = await Promise.all(
      this.gateways.map(async ({ port }) => {
        const session = connect(`127.0.0.1:${port}`, {
          name: "looks in",
          onError() {},
          ...tokensBy(this.#usual.keys, "operator"),
        });
        const late = delay(this.#options.patienceMs).then(() => undefined);
        const overview = await Promise.race([session.overview(), late]).catch(() => undefined);
        await session.close();
        return overview;
      }),
    );
    return overviews.flatMap(overview =>
      (overview?.of ?? []).flatMap(({ name, derived }) => derived.map(of => ({ name, of }))),
    );
  }

  /**
   * Whether a modulator is left out for a reason that passes, as a suspension. Its consumers know that by `placements`, and are told how many events they
   * miss when it is back.
   */
  async #isLeftOut(): Promise<boolean> {
    const places = (await this.#derived()).flatMap(({ of }) => of.places);
    return places.some(({ at, code }) => at === "nowhere" && code !== "SERVICE_MISSING");
  }

  /** Consumers that are not live, and those that are owed events. */
  #missing(): string[] {
    const sources = this.#sources();
    return this.#watched.flatMap(consumer => [...consumer.away, ...consumer.owing(sources)]);
  }

  /** Waits until nobody is owed anything. @returns false where nothing came for so long */
  async #quiet(patienceMs: number): Promise<boolean> {
    const began = performance.now();
    let [owed, since, cameAt] = [Number.POSITIVE_INFINITY, began, began];
    while (performance.now() - since < patienceMs) {
      for (const consumer of this.#watched) {
        if (await consumer.take()) since = cameAt = performance.now();
        // It is waited for below.
        void consumer.renew();
      }
      const sources = this.#sources();
      const now = this.#watched.reduce((sum, consumer) => sum + consumer.owed(sources), 0);
      const isStill = performance.now() - cameAt > STILL_MS;
      if (now === 0 && isStill && this.#watched.every(({ areLive }) => areLive)) return true;
      if (now !== owed) [owed, since] = [now, performance.now()];
      await delay(TAKE_MS / 4);
      const isOver = performance.now() - since >= patienceMs;
      if (isOver && performance.now() - began < MOST_LEFT_OUT_MS && (await this.#isLeftOut()))
        since = performance.now();
    }
    return false;
  }

  /** Takes what consumers note, while everything goes its way. */
  async #collect(): Promise<void> {
    while (!this.#isOver) {
      // One that is stopped answers when it goes on.
      for (const consumer of this.#watched) if (consumer.isRunning) consumer.take().catch(() => {});
      await delay(TAKE_MS);
    }
  }

  #say(line: string): void {
    this.#options.log?.(line);
  }
}

async function remove(folder: string): Promise<void> {
  unmount(folder);
  await rm(folder, { recursive: true, force: true });
}

function lineOf({
  name,
  of: { number, behind, names, consumers, events, places },
}: {
  readonly name: string;
  readonly of: DerivedStanding;
}): string {
  const where = places.map(
    place =>
      `${place.producers} at ${place.at} (${place.tier ?? place.why}): ${place.events} events, ${place.dropped} dropped, ${place.restarts} restarts`,
  );
  return `${name} ${number} ${names} behind ${behind}: ${consumers} consumers, ${events} events; ${where.join("; ")}`;
}
