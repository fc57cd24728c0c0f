import type { Gateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, FROM, type Frame, joinFrames, type Outgoing, PROTOCOL } from "@jecho/shared/internal";
import { expect } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);
const [FAILED] = ERRORS.MODULATOR_FAILED;
/** Where a consumer that comes back goes on: behind what the gateway has had. */
const BACK = { from: FROM.resume, epoch: 0, seq: 0n, at: 0, speed: 0 };
/** So slow that the past does not end. */
const SLOWLY = { from: FROM.seq, epoch: 0, seq: 1n, at: 0, speed: 1e-9 };

export type How = "fresh" | "back" | "slowly";

/** A consumer as it should be. */
interface Modelled {
  readonly client: ModelClient;
  readonly request: number;
  readonly how: How;
  is: "installing" | "open";
  number: number;
}

/** What consumers read: the channel itself, or what a modulator makes of it. */
export interface Read {
  /** Undefined for the channel itself. */
  readonly key: string | undefined;
  readonly consumers: Modelled[];
  awaited: number;
  /** What the producer has been asked to install, and what it has said. */
  installed: { derived: number; request: number; is: "asked" | "yes" | "no" } | undefined;
}

function endingOf(frame: Frame): string[] {
  if (frame.kind === "Refused") return [`refused ${frame.request}`];
  return frame.kind === "ConsumerLost" ? [`lost ${frame.consumer}`] : [];
}

export class ModelClient {
  readonly raw: RawClient;
  nextRequest = 1;
  /** What it should be told of consumers that are none. */
  readonly endings: string[] = [];

  constructor(raw: RawClient) {
    this.raw = raw;
  }

  send(...frames: readonly Outgoing[]): void {
    this.raw.send(joinFrames(frames.map(encodeControl)));
  }
}

/** A gateway's consumers as they should be, beside the gateway: one producer, and consumers of its channel and of what modulators make of that. */
export class ConsumerModel {
  readonly gateway: Gateway;
  readonly clients: ModelClient[] = [];
  readonly reads: Read[];
  readonly #producer: RawClient;
  /** How many consumers the producer was told of, by the channel's number. */
  readonly #demand = new Map<number, number>();
  #channel = 0;
  #keeps = false;

  private constructor(gateway: Gateway, producer: RawClient, keys: readonly string[]) {
    this.gateway = gateway;
    this.#producer = producer;
    const read = (key?: string): Read => ({ key, consumers: [], awaited: 0, installed: undefined });
    this.reads = [read(), ...keys.map(read)];
  }

  /** @param keys of the modulators @param keeps whether the channel has a history */
  static async start(gateway: Gateway, keys: readonly string[], keeps: boolean): Promise<ConsumerModel> {
    const producer = await RawClient.connect(gateway);
    const model = new ConsumerModel(gateway, producer, keys);
    model.#keeps = keeps;
    const history = keeps
      ? { events: 100, seconds: 0, latest: false, onDemand: false, durable: false }
      : undefined;
    const opening = { request: 1, channel: "a", schema, modulates: true, history };
    producer.say({ kind: "OpenProducer", ...opening });
    const { channel, producer: number } = await producer.next("ProducerOpened");
    model.#channel = channel;
    // Two events that do not come in at once, so that what lies between lasts for who asks for it slowly.
    for (const raised of [1, 2]) {
      const at = Date.now();
      await expect.poll(() => Date.now()).toBeGreaterThan(at + 1);
      producer.send(encodedRun({ channel, producer: number, raised }));
      await producer.isAlive();
    }
    return model;
  }

  async connect(): Promise<void> {
    this.clients.push(new ModelClient(await RawClient.connect(this.gateway)));
  }

  open(client: ModelClient, read: Read, how: How): void {
    const request = client.nextRequest++;
    const { key } = read;
    const from = how === "back" ? BACK : how === "slowly" ? SLOWLY : undefined;
    const modulator =
      key === undefined
        ? undefined
        : { source: "", parameters: "", key, objects: [], capabilities: [], compares: false };
    client.send({ kind: "OpenConsumer", request, channel: "a", schema, modulator, from });
    const consumer: Modelled = { client, request, how, is: "installing", number: 0 };
    read.consumers.push(consumer);
    if (key === undefined || read.installed?.is === "yes") this.#opened(read, consumer);
    else if (read.installed?.is === "no") this.#answered(read, consumer);
  }

  #opened(read: Read, consumer: Modelled): void {
    consumer.is = "open";
    if (consumer.how === "back" && read.awaited > 0) read.awaited--;
  }

  /** The producer runs it not. */
  #answered(read: Read, consumer: Modelled): void {
    if (consumer.how === "back") return this.#opened(read, consumer);
    consumer.client.endings.push(`refused ${consumer.request}`);
    this.#gone(read, consumer);
  }

  #gone(read: Read, consumer: Modelled): void {
    read.consumers.splice(read.consumers.indexOf(consumer), 1);
    if (read.consumers.length === 0 && read.awaited === 0) read.installed = undefined;
  }

  close(read: Read, consumer: Modelled): void {
    consumer.client.send({ kind: "CloseEndpoint", endpoint: consumer.number });
    this.#gone(read, consumer);
  }

  /** The client's connection ends. @param isCut it may come back */
  async end(client: ModelClient, isCut: boolean): Promise<void> {
    const { connections } = this.gateway.stats();
    if (isCut) await client.raw.cut();
    else client.raw[Symbol.dispose]();
    await expect.poll(() => this.gateway.stats().connections).toBe(connections - 1);
    this.clients.splice(this.clients.indexOf(client), 1);
    this.#ended(client, isCut);
  }

  #ended(client: ModelClient, isCut: boolean): void {
    for (const read of this.reads)
      for (const consumer of read.consumers.filter(one => one.client === client)) {
        const returns = consumer.is === "open" || (consumer.how === "back" && read.awaited === 0);
        if (isCut && returns) read.awaited++;
        this.#gone(read, consumer);
      }
  }

  /** The producer answers what it was asked. */
  answer(read: Read, yes: boolean): void {
    const { installed } = read;
    if (installed?.is !== "asked") return;
    const { request, derived } = installed;
    installed.is = yes ? "yes" : "no";
    const said = { request, derived, schema, needs: [], reads: schema };
    if (yes) this.#producer.say({ kind: "Installed", ...said });
    else this.#producer.say({ kind: "Refused", request, code: FAILED, message: "" });
    for (const consumer of read.consumers.filter(({ is }) => is === "installing"))
      if (yes) this.#opened(read, consumer);
      else this.#answered(read, consumer);
  }

  /** The modulator fails where it runs: it is over. */
  fail(read: Read): void {
    if (read.installed?.is !== "yes") return;
    const { derived } = read.installed;
    this.#producer.say({ kind: "Removed", derived, code: FAILED, message: "", process: 0 });
    for (const { client, number } of read.consumers) client.endings.push(`lost ${number}`);
    read.consumers.length = 0;
    read.awaited = 0;
    read.installed = undefined;
  }

  /** The client's session goes to another device, which does not go on with anything yet. */
  async handOver(client: ModelClient): Promise<void> {
    const request = client.nextRequest++;
    client.send({ kind: "AskHandover", request });
    const { token } = await client.raw.next("HandoverToken");
    const second = await RawClient.connect(this.gateway, false);
    second.say({ kind: "Hello", protocol: PROTOCOL, name: "second", handover: token });
    const { request: asked } = await client.raw.next("Yield");
    const handed = this.reads.flatMap(({ consumers }) =>
      consumers.filter(one => one.client === client && one.is === "open"),
    );
    const places = handed.map(({ number }) => ({
      consumer: number,
      epoch: 0,
      seq: 0n,
      sources: [],
      label: "",
      sinceMs: 0,
    }));
    client.send({ kind: "Yielded", request: asked, places, copies: [] });
    await second.next("Inheritance");
    this.clients.push(new ModelClient(second));
    for (const read of this.reads)
      for (const consumer of read.consumers.filter(one => handed.includes(one))) {
        read.awaited++;
        this.#gone(read, consumer);
      }
  }

  /** Takes in what the gateway has said, and compares all that it shows of its consumers with what should be. */
  async check(): Promise<void> {
    await Promise.all(this.clients.map(({ raw }) => raw.isAlive()));
    await this.#producer.isAlive();
    for (const frame of this.#producer.frames.splice(0)) this.#told(frame);
    for (const read of this.reads) {
      for (const consumer of read.consumers) this.#checkConsumer(consumer);
      const { key, consumers, awaited, installed } = read;
      const number = key === undefined ? this.#channel : installed?.is === "yes" ? installed.derived : 0;
      // What is kept whether anybody listens or not counts as one.
      const kept = key === undefined && this.#keeps ? 1 : 0;
      const wanted = kept + awaited + consumers.filter(({ is }) => is === "open").length;
      if (number !== 0) expect([key, this.#demand.get(number)]).toEqual([key, wanted]);
    }
    for (const { raw, endings } of this.clients)
      expect(raw.frames.splice(0).flatMap(endingOf).sort()).toEqual(endings.splice(0).sort());
    const derived = this.reads.filter(
      ({ key, consumers, awaited }) => key !== undefined && consumers.length + awaited > 0,
    );
    expect(this.gateway.stats().derivedChannels).toBe(derived.length);
  }

  #told(frame: Frame): void {
    if (frame.kind === "Demand") this.#demand.set(frame.channel, frame.consumers);
    if (frame.kind !== "Install") return;
    const read = this.reads.find(({ key }) => key === frame.modulator?.key);
    if (read !== undefined) read.installed = { derived: frame.derived, request: frame.request, is: "asked" };
  }

  /** One that should be open has been told so, once. */
  #checkConsumer(consumer: Modelled): void {
    const { client, request } = consumer;
    const { frames } = client.raw;
    const at = frames.findIndex(frame => frame.kind === "ConsumerOpened" && frame.request === request);
    if (consumer.is === "installing" || consumer.number !== 0) return expect(at).toBe(-1);
    const [opened] = frames.splice(at, at < 0 ? 0 : 1);
    expect(opened?.kind).toBe("ConsumerOpened");
    consumer.number = (opened as Extract<Frame, { kind: "ConsumerOpened" }>).consumer;
  }

  /** Everybody leaves. */
  async empty(): Promise<void> {
    for (const client of [...this.clients]) await this.end(client, false);
    this.#producer[Symbol.dispose]();
  }
}
