import { setTimeout as delay } from "node:timers/promises";
import type { Kind } from "./dialects.ts";
import { cpuMsOfAll, type Process, Worker } from "./processes.ts";
import type { Flow, OpenProducer } from "./workers/producer.ts";
import type { OpenSubscribers } from "./workers/subscribers.ts";

/** A server under load: its process, its subscribers in the load generator, and its producer. */
export interface Server {
  readonly name: string;
  readonly kind: Kind;
  readonly process: Process;
  readonly port: number;
}

/** Load of one server in one round. All of its events have been delivered to everyone by the end. */
export interface Load {
  readonly deliveries: number;
  readonly seconds: number;
  /** CPU of the server, of the load generator and of the producer. */
  readonly serverMs: number;
  readonly generatorMs: number;
  readonly producerMs: number;
  /** Bytes that one delivery took on the wire. */
  readonly wireBytes: number;
}

/** Some subscribers of some servers in few processes, which count cheaply. */
export class LoadGenerator {
  readonly #parts: readonly Worker[];
  readonly #producers = new Map<string, { worker: Worker; progressPort: number; subscribers: number }>();

  constructor(processes: number) {
    this.#parts = Array.from({ length: processes }, () => new Worker("subscribers"));
  }

  /** Brings a server's subscribers up to so many: as many in each part. Its producer comes with the first. */
  async attach(
    { name, kind, port }: Server,
    { subscribers, eventBytes }: { subscribers: number; eventBytes: number },
  ): Promise<void> {
    let producer = this.#producers.get(name);
    if (producer === undefined) {
      const worker = new Worker("producer");
      producer = { worker, progressPort: 0, subscribers: 0 };
      this.#producers.set(name, producer);
      producer.progressPort = await worker.call<number>("open", { kind, port } satisfies OpenProducer);
    }
    const { progressPort } = producer;
    const each = (subscribers - producer.subscribers) / this.#parts.length;
    if (!Number.isInteger(each))
      throw new RangeError(`${subscribers} subscribers cannot be shared out evenly`);
    producer.subscribers = subscribers;
    await Promise.all(
      this.#parts.map(part =>
        part.call("open", {
          crowd: name,
          kind,
          port,
          subscribers: each,
          eventBytes,
          progressPort,
        } satisfies OpenSubscribers),
      ),
    );
  }

  /** Lets a server's producer produce for a while, and waits until everything has arrived. */
  async load(server: Server, flow: Flow, ms: number): Promise<Load> {
    const producer = this.#producers.get(server.name)?.worker as Worker;
    const before = await this.#look(server, producer);
    await producer.call("start", flow);
    await delay(ms);
    try {
      await producer.call("stop");
    } catch (error) {
      throw new Error(`${server.name} has not delivered everything`, { cause: error });
    }
    const after = await this.#look(server, producer);
    const deliveries = after.deliveries - before.deliveries;
    if (deliveries === 0) throw new Error(`${server.name} delivered nothing in ${ms} ms`);
    return {
      deliveries,
      seconds: (after.time - before.time) / 1000,
      serverMs: after.serverMs - before.serverMs,
      generatorMs: after.generatorMs - before.generatorMs,
      producerMs: after.producerMs - before.producerMs,
      wireBytes: (after.bytes - before.bytes) / deliveries,
    };
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.#parts, ...[...this.#producers.values()].map(({ worker }) => worker)].map(process =>
        process.stop(),
      ),
    );
  }

  async #look(server: Server, producer: Worker) {
    const counts = await Promise.all(
      this.#parts.map(part => part.call<{ events: number; bytes: number }>("count", server.name)),
    );
    return {
      time: performance.now(),
      deliveries: counts.reduce((sum, { events }) => sum + events, 0),
      bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
      serverMs: server.process.treeCpuMs(),
      generatorMs: cpuMsOfAll(this.#parts),
      producerMs: producer.cpuMs(),
    };
  }
}
