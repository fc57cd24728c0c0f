import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Dice } from "@jecho/e2e/dice";
import { fuzz, mutated } from "@jecho/e2e/fuzz";
import { type Asked, sampleFrame } from "@jecho/e2e/sample-frames";
import { createGateway, type Gateway, type GatewayOptions, lineLog } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, type Frame, joinFrames, PROTOCOL } from "@jecho/shared/internal";
import { expect, onTestFinished, test } from "vitest";
import { listed } from "./cluster/joined.ts";
import { encodedRun, RawClient } from "./raw-client.ts";

const SCHEMA = new Uint8Array(0);
/** Connections that misbehave at a time, and what each says. */
const [STRANGERS, MESSAGES, FRAMES] = [4, 80, 40];
/** One message in so many is changed. */
const MUTATED_EVERY = 64;
const MOST_BYTES = 256 << 20;

/** Most numbers that a stranger remembers. */
const MOST_NUMBERS = 64;
/** Frames by which the gateway asks something, and those that answer them. */
const ANSWERS: Partial<Record<Frame["kind"], Asked["answers"]>> = {
  Install: ["Installed", "Installed", "Refused"],
  Yield: ["Yielded"],
  Demand: ["Noted"],
};

/** A client that says what makes sense or none, about what it has heard of. */
class Stranger extends RawClient {
  readonly #numbers: number[] = [];
  readonly #asked: Asked[] = [];
  isGone = false;

  constructor(socket: WebSocket) {
    super(socket);
    void this.closed.then(() => {
      this.isGone = true;
    });
  }

  /** Whether its last `Ping` was answered, since the last `frame`. */
  hasPong(): boolean {
    return this.frames.some(({ kind }) => kind === "Pong");
  }

  frame(dice: Dice): Uint8Array {
    for (const frame of this.frames.splice(0)) {
      const answers = ANSWERS[frame.kind];
      const { request = 0, derived = 0 } = frame as { request?: number; derived?: number };
      if (answers !== undefined && request !== 0) this.#asked.push({ request, derived, answers });
      for (const value of Object.values(frame))
        if (typeof value === "number" && value === value >>> 0) this.#numbers.push(value);
    }
    this.#numbers.splice(0, this.#numbers.length - MOST_NUMBERS);
    return sampleFrame(dice, { numbers: this.#numbers, asked: this.#asked });
  }
}

/** A producer and a consumer that do as they should. */
class Healthy {
  readonly #raisesAt: Gateway;
  readonly #listensAt: Gateway;
  #producer: RawClient | undefined;
  #consumer: RawClient | undefined;
  #channel = 0;
  #number = 0;
  #raised = 0;
  #checked = 0;

  constructor(raisesAt: Gateway, listensAt: Gateway) {
    this.#raisesAt = raisesAt;
    this.#listensAt = listensAt;
  }

  async open(): Promise<void> {
    this.#producer = await RawClient.connect(this.#raisesAt);
    this.#consumer = await RawClient.connect(this.#listensAt);
    this.#consumer.say({ kind: "OpenConsumer", request: 1, channel: "healthy", schema: SCHEMA });
    await this.#consumer.next("ConsumerOpened");
    this.#producer.say({ kind: "OpenProducer", request: 1, channel: "healthy", schema: SCHEMA });
    const { channel, producer } = await this.#producer.next("ProducerOpened");
    [this.#channel, this.#number] = [channel, producer];
  }

  raise(): void {
    const header = { channel: this.#channel, producer: this.#number, raised: ++this.#raised };
    this.#producer?.send(encodedRun(header, SCHEMA));
  }

  /** Each event that was raised since the last time has come, once and in its order. */
  async check(): Promise<void> {
    await this.#producer?.isAlive();
    await this.#consumer?.isAlive();
    const frames = this.#consumer?.frames ?? [];
    const raised = (): number[] => frames.flatMap(frame => (frame.kind === "Events" ? [frame.raised] : []));
    const first = this.#checked + 1;
    this.#checked = this.#raised;
    const all = Array.from({ length: this.#raised - first + 1 }, (_, i) => first + i);
    await expect.poll(raised, { interval: 1 }).toEqual(all);
    frames.length = 0;
  }

  [Symbol.dispose](): void {
    this.#producer?.[Symbol.dispose]();
    this.#consumer?.[Symbol.dispose]();
  }
}

/** Gateways for strangers, each with options of its own. */
const SETUPS: readonly (readonly [string, number, (folder: string) => Promise<GatewayOptions[]>])[] = [
  ["a gateway", 8, async () => [{}]],
  ["a gateway with a history", 3, async folder => [{ historyFile: join(folder, "history.sqlite") }]],
  ["a cluster", 5, async () => (await listed(2)).map(cluster => ({ cluster }))],
];

test.each(SETUPS)(
  "F15, WIRE-5: whatever strangers send to %s, it lives, another one gets all its events, and nothing stays",
  async (what, seconds, setUp) => {
    const log: string[] = [];
    const folder = await mkdtemp(join(tmpdir(), "jecho-fuzz-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const gateways: Gateway[] = [];
    onTestFinished(async () => void (await Promise.all(gateways.map(gateway => gateway.close()))));
    for (const options of await setUp(folder))
      gateways.push(
        await createGateway({ ...options, resumeWindowMs: 0, log: lineLog(line => log.push(line)) }),
      );
    const [first, last] = [gateways[0] as Gateway, gateways.at(-1) as Gateway];
    const several = gateways.length > 1;
    if (several) await expect.poll(() => gateways.map(one => one.stats().gateways)).toEqual([2, 2]);
    const gatewayFor = (i: number): Gateway => gateways[i % gateways.length] as Gateway;
    using healthy = new Healthy(first, last);
    await healthy.open();
    await healthy.check();
    await fuzz(what, seconds, async dice => {
      const before = process.memoryUsage().arrayBuffers;
      const strangers = await Promise.all(
        Array.from({ length: STRANGERS }, (_, i) => Stranger.connect(gatewayFor(i))),
      );
      let tried = 0;
      for (let i = 0; i < MESSAGES; i++) {
        const at = i % STRANGERS;
        if (strangers[at]?.isGone) strangers[at] = await Stranger.connect(gatewayFor(at));
        const stranger = strangers[at] as Stranger;
        const frames = Array.from({ length: 1 + dice.below(FRAMES) }, () => stranger.frame(dice));
        const message = joinFrames(frames);
        // What breaks the rules ends a connection, so most keep to them, and only make no sense.
        stranger.send(dice.below(MUTATED_EVERY) === 0 ? mutated(dice, message) : message);
        healthy.raise();
        // Frames count that were looked at: their sender is still there, and has its answer.
        stranger.say({ kind: "Ping", time: 1 });
        await expect.poll(() => stranger.isGone || stranger.hasPong(), { interval: 1 }).toBe(true);
        if (!stranger.isGone) tried += frames.length;
      }
      for (const stranger of strangers) stranger[Symbol.dispose]();
      for (const stranger of strangers) await stranger.closed;
      await healthy.check();
      for (const gateway of gateways)
        await expect
          .poll(() => gateway.stats(), { interval: 1 })
          .toMatchObject({ connections: several ? 1 : 2, derivedChannels: 0, blocking: 0 });
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(MOST_BYTES);
      // What could not be foreseen is logged with where it happened.
      expect(log.filter(line => line.includes("could not be handled"))).toEqual([]);
      return tried;
    });
  },
);

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
