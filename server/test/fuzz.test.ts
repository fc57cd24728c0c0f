import { fuzz, mutated } from "@jecho/e2e/fuzz";
import { sampleFrame } from "@jecho/e2e/sample-frames";
import { createGateway, type Gateway, lineLog } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, encodeRun, joinFrames, PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const SCHEMA = new Uint8Array(0);
/** Connections that misbehave at a time, and what each says. */
const [STRANGERS, MESSAGES, FRAMES] = [4, 80, 40];
const MOST_BYTES = 256 << 20;

/** A producer and a consumer that do as they should. */
class Healthy {
  readonly #gateway: Gateway;
  #producer: RawClient | undefined;
  #consumer: RawClient | undefined;
  #channel = 0;
  #number = 0;
  #raised = 0;
  #checked = 0;

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  async open(): Promise<void> {
    this.#producer = await RawClient.connect(this.#gateway);
    this.#consumer = await RawClient.connect(this.#gateway);
    this.#consumer.say({ kind: "OpenConsumer", request: 1, channel: "healthy", schema: SCHEMA });
    await this.#consumer.next("ConsumerOpened");
    this.#producer.say({ kind: "OpenProducer", request: 1, channel: "healthy", schema: SCHEMA });
    const { channel, producer } = await this.#producer.next("ProducerOpened");
    [this.#channel, this.#number] = [channel, producer];
  }

  raise(): void {
    const header = { channel: this.#channel, producer: this.#number, raised: ++this.#raised, token: 0n };
    this.#producer?.send(
      encodeRun({ ...header, parameters: 0, flags: 0 }, [{ bytes: SCHEMA, start: 0, end: 0 }]),
    );
  }

  /** Each event that was raised since the last time has come, once and in its order. */
  async check(): Promise<void> {
    await this.#producer?.isAlive();
    await this.#consumer?.isAlive();
    const frames = this.#consumer?.frames ?? [];
    const raised = frames.flatMap(frame => (frame.kind === "Events" ? [frame.raised] : []));
    const first = this.#checked + 1;
    this.#checked = this.#raised;
    expect(raised).toEqual(Array.from({ length: this.#raised - first + 1 }, (_, i) => first + i));
    frames.length = 0;
  }

  [Symbol.dispose](): void {
    this.#producer?.[Symbol.dispose]();
    this.#consumer?.[Symbol.dispose]();
  }
}

test("F15, WIRE-5: whatever strangers send, the gateway lives, another one gets all its events, and nothing stays", async () => {
  const log: string[] = [];
  await using gateway = await createGateway({ resumeWindowMs: 0, log: lineLog(line => log.push(line)) });
  using healthy = new Healthy(gateway);
  await healthy.open();
  await healthy.check();
  await fuzz("gateway", 8, async dice => {
    const before = process.memoryUsage().arrayBuffers;
    const strangers = await Promise.all(Array.from({ length: STRANGERS }, () => RawClient.connect(gateway)));
    let tried = 0;
    for (let i = 0; i < MESSAGES; i++) {
      const stranger = strangers[i % STRANGERS] as RawClient;
      const frames = Array.from({ length: 1 + dice.below(FRAMES) }, () => sampleFrame(dice));
      tried += frames.length;
      const message = joinFrames(frames);
      // What breaks the rules ends a connection, so most keep to them, and only make no sense.
      stranger.send(dice.below(16) === 0 ? mutated(dice, message) : message);
      healthy.raise();
    }
    for (const stranger of strangers) {
      stranger.say({ kind: "Ping", time: 1 });
      const isHeard = () => stranger.frames.some(({ kind }) => kind === "Pong");
      let isGone = false;
      void stranger.closed.then(() => {
        isGone = true;
      });
      await expect.poll(() => isGone || isHeard(), { interval: 1 }).toBe(true);
      stranger[Symbol.dispose]();
    }
    for (const stranger of strangers) await stranger.closed;
    await healthy.check();
    await expect
      .poll(() => gateway.stats(), { interval: 1 })
      .toMatchObject({ connections: 2, derivedChannels: 0, blocking: 0 });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(MOST_BYTES);
    // What could not be foreseen is logged with where it happened.
    expect(log.filter(line => line.startsWith("a frame could not be handled"))).toEqual([]);
    return tried;
  });
});

test("F15, F16, HAND-1: a handover token that is changed in any way is none, and the right one is still good", async () => {
  await using gateway = await createGateway();
  await fuzz("handover tokens", 2, async dice => {
    using first = await RawClient.connect(gateway);
    first.say({ kind: "AskHandover", request: 1 });
    const { token } = await first.next("HandoverToken");
    const greet = async (handover: Uint8Array | string): Promise<RawClient> => {
      const client = await RawClient.connect(gateway, false);
      const hello = { kind: "Hello", protocol: PROTOCOL } as const;
      if (typeof handover === "string") client.say({ ...hello, handover });
      else client.send(handover);
      return client;
    };
    const TRIES = 8;
    for (let i = 0; i < TRIES; i++) {
      const changed = Buffer.from(mutated(dice, Buffer.from(token))).toString("latin1");
      if (changed === token) continue;
      using other = await greet(changed);
      // An empty one asks for nothing.
      if (changed === "") await other.next("Welcome");
      else expect((await other.closed).code).toBe(ERRORS.HANDOVER_INVALID[0]);
    }
    using second = await greet(encodeControl({ kind: "Hello", protocol: PROTOCOL, handover: token }));
    const { request } = await first.next("Yield");
    first.say({ kind: "Yielded", request, places: [], copies: [] });
    await second.next("Inheritance");
    return TRIES;
  });
});
