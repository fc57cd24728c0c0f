import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventPlace } from "@jecho/client";
import { GatewayProcess, Worker } from "../processes.ts";
import { ConsumerChecker, type Life, type Verdict } from "./checker.ts";
import { Cutter } from "./cutter.ts";
import type { Seen } from "./event.ts";
import { Random } from "./random.ts";

export interface ChaosOptions {
  /** How often something is killed, cut or handed over. */
  readonly kills: number;
  readonly seed: number;
}

export interface ChaosResult extends Verdict {
  /** How often each thing was done. */
  readonly done: Readonly<Record<string, number>>;
  /** What went wrong where, for whoever looks for the reason. */
  readonly faults: readonly string[];
}

const SETTLE_MS = 120_000;

interface LiveProducer {
  readonly id: number;
  life: number;
  worker: Worker;
}

interface LiveConsumer {
  readonly checker: ConsumerChecker;
  readonly even: boolean;
  worker: Worker;
  place: EventPlace | undefined;
}

/** A gateway, two producers and four consumers under load, all killed and cut at random, and who checks what is seen. */
export async function runChaos({ kills, seed }: ChaosOptions): Promise<ChaosResult> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-chaos-"));
  const run = new ChaosRun(seed, join(folder, "history.sqlite"));
  try {
    return await run.run(kills);
  } finally {
    await run.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

class ChaosRun {
  readonly #random: Random;
  readonly #historyFile: string;
  readonly #producers: LiveProducer[] = [];
  readonly #consumers: LiveConsumer[] = [];
  readonly #killed: Life[] = [];
  readonly #done: Record<string, number> = {};
  #gateway: GatewayProcess | undefined;
  #cutter: Cutter | undefined;

  constructor(seed: number, historyFile: string) {
    this.#random = new Random(seed);
    this.#historyFile = historyFile;
  }

  async run(kills: number): Promise<ChaosResult> {
    await this.#startGateway(0);
    this.#cutter = await Cutter.start((this.#gateway as GatewayProcess).port);
    for (const [name, even] of [
      ["all", false],
      ["even", true],
      ["handed over", false],
      ["even, handed over", true],
    ] as const) {
      const consumer = { checker: new ConsumerChecker(name, even ? 2 : 1), even, place: undefined };
      this.#consumers.push({ ...consumer, worker: await this.#startConsumer(even, undefined) });
    }
    for (const id of [1, 2]) this.#producers.push({ id, life: 1, worker: await this.#startProducer(id, 1) });
    for (let i = 0; i < kills; i++) {
      await new Promise(resolve => setTimeout(resolve, this.#random.between(10, 200)));
      await this.#kill();
      await this.#collect();
    }
    const lives: Life[] = [...this.#killed];
    for (const { id, life, worker } of this.#producers) {
      const confirmed = await worker.call<number>("stop");
      lives.push({ producer: id, life, confirmed, wasKilled: false });
    }
    await this.#settle(lives);
    const total: Verdict = { lost: 0, duplicated: 0, reordered: 0, handoverGap: 0, told: 0, events: 0 };
    for (const { checker } of this.#consumers) {
      const verdict = checker.finish(lives);
      for (const key of Object.keys(total) as (keyof Verdict)[]) total[key] += verdict[key];
    }
    return { ...total, done: this.#done, faults: this.#consumers.flatMap(({ checker }) => checker.faults) };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#producers, ...this.#consumers].map(({ worker }) => worker.stop()));
    this.#cutter?.close();
    await this.#gateway?.stop();
  }

  async #kill(): Promise<void> {
    const way = this.#random.pick([
      "cut",
      "cut",
      "cut",
      "gateway",
      "producer",
      "consumer",
      "consumer",
      "handover",
    ]);
    this.#done[way] = (this.#done[way] ?? 0) + 1;
    if (way === "cut") this.#cutter?.cut();
    else if (way === "gateway") await this.#killGateway();
    else if (way === "producer") await this.#killProducer(this.#random.pick(this.#producers));
    else if (way === "consumer") await this.#killConsumer(this.#random.pick(this.#consumers.slice(0, 2)));
    else await this.#handOver(this.#random.pick(this.#consumers.slice(2)));
  }

  async #startGateway(port: number): Promise<void> {
    this.#gateway = await GatewayProcess.start(["--history", this.#historyFile], port);
  }

  async #killGateway(): Promise<void> {
    const { port, child } = this.#gateway as GatewayProcess;
    const gone = new Promise(resolve => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
    await this.#startGateway(port);
  }

  async #startProducer(id: number, life: number): Promise<Worker> {
    const worker = new Worker("chaos-producer");
    await worker.call("start", { port: this.#cutter?.port, id, life });
    return worker;
  }

  async #killProducer(producer: LiveProducer): Promise<void> {
    const { id, life, worker } = producer;
    const confirmed = await worker.call<number>("confirmed");
    await kill(worker);
    this.#killed.push({ producer: id, life, confirmed, wasKilled: true });
    producer.life++;
    producer.worker = await this.#startProducer(id, producer.life);
  }

  async #startConsumer(even: boolean, place: EventPlace | undefined): Promise<Worker> {
    const worker = new Worker("chaos-consumer");
    await worker.call("start", { port: this.#cutter?.port, even, place });
    return worker;
  }

  async #killConsumer(consumer: LiveConsumer): Promise<void> {
    await this.#take(consumer);
    await kill(consumer.worker);
    consumer.worker = await this.#startConsumer(consumer.even, consumer.place);
  }

  async #handOver(consumer: LiveConsumer): Promise<void> {
    const first = consumer.worker;
    const port = this.#cutter?.port;
    const token = await first.call<string>("handover");
    const second = new Worker("chaos-consumer");
    await second.call("takeOver", { port, token });
    await this.#take(consumer);
    consumer.checker.handedOver();
    consumer.worker = second;
    await first.stop();
  }

  async #collect(): Promise<void> {
    for (const consumer of this.#consumers) await this.#take(consumer);
  }

  async #take(consumer: LiveConsumer): Promise<void> {
    const { seen, place } = await consumer.worker.call<{ seen: Seen[]; place: EventPlace | undefined }>(
      "take",
    );
    consumer.checker.take(seen);
    consumer.place = place ?? consumer.place;
  }

  /** Waits until everybody has seen what the producers were told to be taken, or nothing more comes. */
  async #settle(lives: readonly Life[]): Promise<void> {
    const until = performance.now() + SETTLE_MS;
    const here = lives.filter(({ wasKilled }) => !wasKilled);
    while (performance.now() < until) {
      await this.#collect();
      if (this.#consumers.every(({ checker }) => here.every(life => checker.hasSeen(life)))) return;
      await new Promise(resolve => setTimeout(resolve, 50));
    }
  }
}

async function kill({ child }: Worker): Promise<void> {
  const gone = new Promise(resolve => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
