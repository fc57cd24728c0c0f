import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import type { Frame, OpenConsumer, OpenProducer, Outgoing } from "@jecho/shared/internal";
import { expect } from "vitest";
import { encodedRun, modulator, RawClient } from "./raw-client.ts";

type Kind<K extends Frame["kind"]> = Extract<Frame, { kind: K }>;
export type Install = Kind<"Install">;

export const schema = new Uint8Array(0);
const OPEN_PRODUCER = { kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true } as const;
const OPEN_CONSUMER = { kind: "OpenConsumer", request: 1, channel: "a", schema, modulator } as const;
const AT = { producer: 0, gateway: 1, consumer: 2, nowhere: 3 } as const;

/** Waits that no busy machine makes shorter than what they are for, unless a test is about them. */
const PATIENT = { installTimeoutMs: 100_000, requestTimeoutMs: 200_000 };

export function start(options: GatewayOptions = {}): Promise<Gateway> {
  return createGateway({ ...PATIENT, ...options });
}

/** A bare client that produces on the channel "a". */
export class RawProducer extends RawClient {
  number = 0;
  channel = 0;

  static async open(gateway: Gateway, options: Partial<OpenProducer> = {}) {
    const client = await RawProducer.connect(gateway);
    client.say({ ...OPEN_PRODUCER, ...options });
    const { producer, channel } = await client.next("ProducerOpened");
    client.number = producer;
    client.channel = channel;
    return client;
  }

  /** In one message: closes, and opens again. */
  again(): void {
    this.say({ kind: "CloseEndpoint", endpoint: this.number }, { ...OPEN_PRODUCER, request: 2 });
  }

  install(): Promise<Install> {
    return this.next("Install");
  }

  /** Installs what it is asked to. @returns the derived channel */
  async installs(): Promise<number> {
    const { request, derived } = await this.install();
    this.say(installed(request, derived));
    return derived;
  }

  async refuses(code: number, message = "not here"): Promise<number> {
    const { request, derived } = await this.install();
    this.say({ kind: "Refused", request, code, message });
    return derived;
  }

  /** The first word on the channel says that all is installed. */
  async isOpen(): Promise<void> {
    await expect.poll(() => this.frames.some(frame => this.#isDemand(frame))).toBe(true);
  }

  /** Whether that has been said by now. */
  async isOpenBy(others: readonly RawClient[]): Promise<boolean> {
    for (const one of [...others, this]) await one.isAlive();
    return this.frames.some(frame => this.#isDemand(frame));
  }

  #isDemand(frame: Frame): boolean {
    return frame.kind === "Demand" && frame.channel === this.channel;
  }

  /** An event of a derived channel, which that number tells of. */
  raise(derived: number, n: number): void {
    const header = { channel: derived, producer: this.number, raised: n };
    this.send(encodedRun(header, Uint8Array.of(n, 0, 0, 0, 0, 0, 0, 0)));
  }
}

/** A bare client that subscribes to the channel "a" through a modulator. */
export class RawConsumer extends RawClient {
  static async open(gateway: Gateway, options: Partial<OpenConsumer> = {}) {
    const client = await RawConsumer.connect(gateway);
    client.subscribe(options);
    return client;
  }

  subscribe(options: Partial<OpenConsumer>): void {
    this.say({ ...OPEN_CONSUMER, ...options });
  }

  install(): Promise<Install> {
    return this.next("Install");
  }

  opened(): Promise<Kind<"ConsumerOpened">> {
    return this.next("ConsumerOpened");
  }

  /** Where its modulator runs, as it is told next. */
  async placements(): Promise<Kind<"Placed">["placements"]> {
    return (await this.next("Placed")).placements;
  }

  /** Its modulator runs there in the end: on a busy machine, who answers may be left out for a moment, too. */
  async runs(...placements: unknown[]): Promise<void> {
    await expect.poll(() => this.next("ConsumerOpened", "Placed")).toMatchObject({ placements });
  }

  /** What this producer raises on the derived channel reaches it. */
  async hears(producer: RawProducer, derived: number, n = 1): Promise<void> {
    producer.raise(derived, n);
    expect((await this.next("Events")).raised).toBe(n);
  }

  /** What it has been told that ends it. */
  get endings(): Frame["kind"][] {
    return this.frames.map(({ kind }) => kind).filter(kind => kind === "ConsumerLost" || kind === "Refused");
  }
}

export const installed = (request: number, derived: number): Outgoing => ({
  kind: "Installed",
  request,
  derived,
  schema,
  needs: [],
  reads: schema,
});

export const removed = (
  derived: number,
  process = 0,
  code: number = ERRORS.MODULATOR_FAILED[0],
): Outgoing => ({
  kind: "Removed",
  derived,
  code,
  message: "it failed",
  process,
});

/** A placement, without its message. */
export const placed = (at: keyof typeof AT, producer: RawProducer, code = 0): unknown =>
  expect.objectContaining({ at: AT[at], code, producers: [producer.number] });
