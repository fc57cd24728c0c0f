import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { ERRORS, type ErrorCode } from "@jecho/shared";
import {
  encodeControl,
  encodeRun,
  FROM,
  type Frame,
  joinFrames,
  type Outgoing,
} from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);
const modulator = { source: "", parameters: "", key: "", objects: [], capabilities: [], compares: false };
const OPEN_PRODUCER = { kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true } as const;
const OPEN_CONSUMER = { kind: "OpenConsumer", request: 1, channel: "a", schema, modulator } as const;
const [FAILED] = ERRORS.MODULATOR_FAILED;
const [MISSING] = ERRORS.SERVICE_MISSING;
const [SILENT] = ERRORS.TIMED_OUT;
const [CLOSED] = ERRORS.CLOSED;
const AT = { producer: 0, gateway: 1, consumer: 2, nowhere: 3 } as const;

/** Waits that no busy machine makes shorter than what they are for, unless a test is about them. */
const PATIENT = { installTimeoutMs: 100_000, requestTimeoutMs: 200_000 };

type Install = Extract<Frame, { kind: "Install" }>;

function start(options: GatewayOptions = {}): Promise<Gateway> {
  return createGateway({ ...PATIENT, ...options });
}

/** A bare client that produces on the channel "a". */
class RawProducer {
  readonly client: RawClient;
  readonly number: number;
  readonly channel: number;

  private constructor(client: RawClient, { producer, channel }: Extract<Frame, { kind: "ProducerOpened" }>) {
    this.client = client;
    this.number = producer;
    this.channel = channel;
  }

  static async open(gateway: Gateway, options: { channel?: string; modulates?: boolean } = {}) {
    const client = await RawClient.connect(gateway);
    client.send(encodeControl({ ...OPEN_PRODUCER, ...options }));
    return new RawProducer(client, await client.next("ProducerOpened"));
  }

  send(...frames: readonly Outgoing[]): void {
    this.client.send(joinFrames(frames.map(encodeControl)));
  }

  install(): Promise<Install> {
    return this.client.next("Install");
  }

  /** Installs what it is asked to. @returns the derived channel */
  async installs(): Promise<number> {
    const { request, derived } = await this.install();
    this.send(installed(request, derived));
    return derived;
  }

  async refuses(code: number, message = "not here"): Promise<number> {
    const { request, derived } = await this.install();
    this.send({ kind: "Refused", request, code, message });
    return derived;
  }

  /** The first word on the channel says that all is installed. */
  async isOpen(): Promise<void> {
    await expect.poll(() => this.client.frames.some(frame => this.#isDemand(frame))).toBe(true);
  }

  /** Whether that has been said by now. */
  async isOpenBy(others: readonly RawClient[]): Promise<boolean> {
    for (const one of [...others, this.client]) await one.isAlive();
    return this.client.frames.some(frame => this.#isDemand(frame));
  }

  #isDemand(frame: Frame): boolean {
    return frame.kind === "Demand" && frame.channel === this.channel;
  }

  /** An event of a derived channel, which that number tells of. */
  raise(derived: number, n: number): void {
    const header = { channel: derived, producer: this.number, raised: n, token: 0n, parameters: 0, flags: 0 };
    this.client.send(encodeRun(header, [{ bytes: Uint8Array.of(n, 0, 0, 0, 0, 0, 0, 0), start: 0, end: 8 }]));
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }
}

const installed = (request: number, derived: number): Outgoing => ({
  kind: "Installed",
  request,
  derived,
  schema,
  needs: [],
  reads: schema,
});

const removed = (derived: number, process = 0, code: number = FAILED): Outgoing => ({
  kind: "Removed",
  derived,
  code,
  message: "it failed",
  process,
});

/** A placement, without its message. */
const placed = (at: keyof typeof AT, producer: RawProducer, code = 0): unknown =>
  expect.objectContaining({ at: AT[at], code, producers: [producer.number] });

/** In one message: a producer closes, and opens again. */
function again({ number: endpoint }: RawProducer): Uint8Array {
  const close = encodeControl({ kind: "CloseEndpoint", endpoint });
  return joinFrames([close, encodeControl({ ...OPEN_PRODUCER, request: 2 })]);
}

/** Number of the event, as `raise` writes it. */
async function nextEvent(consumer: RawClient): Promise<number> {
  const { raised } = await consumer.next("Events");
  return raised;
}

/** What the consumer has been told that ends or moves it. */
function endings({ frames }: RawClient): Frame["kind"][] {
  return frames.map(({ kind }) => kind).filter(kind => kind === "ConsumerLost" || kind === "Refused");
}

test("MOE-5: a producer where a modulator fails is left out, and told; the others run it on, also for who comes later", async () => {
  await using gateway = await start();
  using failing = await RawProducer.open(gateway);
  using slow = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const { request, derived } = await failing.install();
  // It is at its events at once, and fails at the first.
  failing.send(installed(request, derived), removed(derived));
  await failing.client.isAlive();
  await slow.installs();
  const { placements } = await consumer.next("ConsumerOpened");
  expect(placements).toEqual([placed("nowhere", failing, FAILED), placed("producer", slow)]);
  expect(await failing.client.next("Fault")).toMatchObject({
    code: ERRORS.MODULATOR_LEFT_OUT[0],
    message: expect.stringMatching(/a .*MODULATOR_FAILED: it failed/),
  });
  slow.raise(derived, 1);
  expect(await nextEvent(consumer)).toBe(1);
  // Nobody asks it again for the same.
  consumer.send(encodeControl({ ...OPEN_CONSUMER, request: 2 }));
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ request: 2, channel: derived });
  await failing.client.isAlive();
  expect(failing.client.frames.filter(({ kind }) => kind === "Install")).toEqual([]);
});

test("MOE-5: a modulator that has failed at every producer ends with the cause, and who comes next has it installed anew", async () => {
  await using gateway = await start();
  using first = await RawProducer.open(gateway);
  using second = await RawProducer.open(gateway);
  using third = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await first.installs();
  await second.installs();
  await third.refuses(MISSING);
  await consumer.next("ConsumerOpened");
  first.send(removed(derived));
  expect((await consumer.next("Placed")).placements).toEqual([
    placed("nowhere", first, FAILED),
    placed("producer", second),
    placed("nowhere", third, MISSING),
  ]);
  expect(endings(consumer)).toEqual([]);
  second.send(removed(derived));
  expect(await consumer.next("ConsumerLost")).toMatchObject({ code: FAILED, message: "it failed" });
  consumer.send(encodeControl({ ...OPEN_CONSUMER, request: 2 }));
  for (const one of [first, second, third]) expect(await one.installs()).not.toBe(derived);
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ request: 2 });
});

test("MOE-5: a modulator that fails with the first event behind its installation has no consumer, where it ran nowhere else", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const { request, derived } = await producer.install();
  producer.send(installed(request, derived), removed(derived));
  expect(await consumer.next("Refused")).toMatchObject({ request: 1, code: FAILED, message: "it failed" });
});

test("MOE-5: where the reason passes the producer is asked again, and never where it is the modulator's own", async () => {
  await using gateway = await start();
  using failing = await RawProducer.open(gateway);
  using passing = await RawProducer.open(gateway);
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const [derived] = await Promise.all([failing, passing, healthy].map(one => one.installs()));
  await consumer.next("ConsumerOpened");
  failing.send(removed(derived as number));
  await failing.client.isAlive();
  const [hostFailed] = ERRORS.MODULATOR_HOST_FAILED;
  passing.send(removed(derived as number, 0, hostFailed));
  await passing.installs();
  await expect
    .poll(() => consumer.frames.at(-1))
    .toMatchObject({
      kind: "Placed",
      placements: [
        placed("nowhere", failing, FAILED),
        placed("producer", passing),
        placed("producer", healthy),
      ],
    });
  // It has to be told that it is wanted.
  await expect
    .poll(() => passing.client.frames)
    .toContainEqual(expect.objectContaining({ kind: "Demand", channel: derived, consumers: 1 }));
  await failing.client.isAlive();
  expect(failing.client.frames.filter(({ kind }) => kind === "Install")).toEqual([]);
});

test("MOE-3: where every present producer refuses it, so is the consumer, with the first reason; who comes back is not", async () => {
  await using gateway = await start();
  using first = await RawProducer.open(gateway);
  using second = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  const refuse = async (): Promise<void> => {
    await first.refuses(MISSING, "no thermostat");
    await second.refuses(FAILED, "no more");
  };
  consumer.send(encodeControl(OPEN_CONSUMER));
  await refuse();
  expect(await consumer.next("Refused")).toMatchObject({ code: MISSING, message: "no thermostat" });
  for (const one of [first, second]) await one.client.isAlive();
  expect(first.client.frames.filter(({ kind }) => kind === "Fault")).toEqual([]);
  const from = { from: FROM.resume, epoch: 1, seq: 1n, at: 0, speed: 0 };
  consumer.send(encodeControl({ ...OPEN_CONSUMER, request: 2, from }));
  await refuse();
  const { placements } = await consumer.next("ConsumerOpened");
  expect(placements).toEqual([placed("nowhere", first, MISSING), placed("nowhere", second, FAILED)]);
});

test("MOE-3: a present producer that does not answer is left out, and taken in when it does", async () => {
  await using gateway = await start({ installTimeoutMs: 50 });
  using hung = await RawProducer.open(gateway);
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const { request, derived } = await hung.install();
  await healthy.installs();
  const { placements } = await consumer.next("ConsumerOpened");
  expect(placements).toEqual([placed("nowhere", hung, SILENT), placed("producer", healthy)]);
  // The next modulator does not wait for it at all.
  consumer.send(encodeControl({ ...OPEN_CONSUMER, request: 2, modulator: { ...modulator, key: "2" } }));
  const other = await healthy.installs();
  await healthy.client.isAlive();
  await consumer.isAlive();
  expect(consumer.frames).toContainEqual(
    expect.objectContaining({ kind: "ConsumerOpened", request: 2, channel: other }),
  );
  hung.send(installed(request, derived));
  expect(await consumer.next("Placed")).toMatchObject({
    derived,
    placements: [placed("producer", hung), placed("producer", healthy)],
  });
  await expect
    .poll(() => hung.client.frames)
    .toContainEqual(expect.objectContaining({ kind: "Demand", channel: derived, consumers: 1 }));
  hung.raise(derived, 1);
  expect(await nextEvent(consumer)).toBe(1);
});

test("MOE-3: where no producer answers the consumer is opened in the end, as on a channel without producers", async () => {
  await using gateway = await createGateway({ installTimeoutMs: 20, requestTimeoutMs: 100 });
  using hung = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const { placements } = await consumer.next("ConsumerOpened");
  expect(placements).toEqual([placed("nowhere", hung, SILENT)]);
  await hung.refuses(MISSING);
  expect((await consumer.next("Placed")).placements).toEqual([placed("nowhere", hung, MISSING)]);
  using late = await RawProducer.open(gateway);
  await late.installs();
  expect((await consumer.next("Placed")).placements).toContainEqual(placed("producer", late));
});

test("MOE-3: a producer that closes and opens again while a modulator is installed does not fail that", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const first = await producer.install();
  producer.client.send(again(producer));
  const second = await producer.install();
  // A process answers so what it is asked to remove in the meantime.
  producer.send({ kind: "Refused", request: first.request, code: CLOSED, message: "not wanted any more" });
  await producer.client.isAlive();
  producer.send(installed(second.request, second.derived));
  expect(await consumer.next("ConsumerOpened")).toMatchObject({ request: 1, channel: second.derived });
});

test("MOE-4: a producer that joins and does not answer is not open, and nobody else notices", async () => {
  await using gateway = await start({ installTimeoutMs: 50 });
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await healthy.installs();
  await consumer.next("ConsumerOpened");
  using hung = await RawProducer.open(gateway);
  const { request } = await hung.install();
  expect((await consumer.next("Placed")).placements).toEqual([
    placed("producer", healthy),
    placed("nowhere", hung, SILENT),
  ]);
  for (let n = 1; n <= 3; n++) {
    healthy.raise(derived, n);
    expect(await nextEvent(consumer)).toBe(n);
  }
  // What is installed while it is being opened it has to have, too.
  consumer.send(encodeControl({ ...OPEN_CONSUMER, request: 2, modulator: { ...modulator, key: "2" } }));
  await healthy.installs();
  await consumer.next("ConsumerOpened");
  const second = await hung.install();
  hung.send(installed(request, derived));
  expect((await consumer.next("Placed")).placements).toEqual([
    placed("producer", healthy),
    placed("producer", hung),
  ]);
  expect(await hung.isOpenBy([consumer])).toBe(false);
  hung.send(installed(second.request, second.derived));
  await hung.isOpen();
  expect(endings(consumer)).toEqual([]);
});

test("MOE-4: a producer that joins and refuses a modulator is open without it, and told; consumers are told, and go on", async () => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await healthy.installs();
  await consumer.next("ConsumerOpened");
  using lacking = await RawProducer.open(gateway);
  await lacking.refuses(MISSING, "no thermostat");
  await lacking.isOpen();
  expect(await lacking.client.next("Fault")).toMatchObject({
    code: ERRORS.MODULATOR_LEFT_OUT[0],
    message: expect.stringContaining("SERVICE_MISSING: no thermostat"),
  });
  const { placements } = await consumer.next("Placed");
  expect(placements).toEqual([placed("producer", healthy), placed("nowhere", lacking, MISSING)]);
  // Also when it is the only one that is left.
  healthy.send({ kind: "CloseEndpoint", endpoint: healthy.number });
  expect((await consumer.next("Placed")).placements).toEqual([placed("nowhere", lacking, MISSING)]);
  using other = await RawProducer.open(gateway);
  expect(await other.installs()).toBe(derived);
  await other.isOpen();
  other.raise(derived, 1);
  expect(await nextEvent(consumer)).toBe(1);
  expect(endings(consumer)).toEqual([]);
});

test("MOE-4: a producer that comes, goes and comes again at once ends no modulator for others, and is open when all is installed", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  await producer.installs();
  await consumer.next("ConsumerOpened");
  using hasty = await RawProducer.open(gateway);
  const first = await hasty.install();
  hasty.client.send(again(hasty));
  const second = await hasty.install();
  hasty.send({ kind: "Refused", request: first.request, code: CLOSED, message: "not wanted any more" });
  expect(await hasty.isOpenBy([consumer])).toBe(false);
  hasty.send(installed(second.request, second.derived));
  await hasty.isOpen();
  await consumer.isAlive();
  expect(endings(consumer)).toEqual([]);
});

test("MOE-17: a modulator behind one that failed at a producer is taken out there, too, and goes on elsewhere", async () => {
  await using gateway = await start();
  const producers = [await RawProducer.open(gateway), await RawProducer.open(gateway)] as const;
  const [failing, healthy] = producers;
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl({ ...OPEN_CONSUMER, as: "first" }));
  const [first] = await Promise.all(producers.map(one => one.installs()));
  await consumer.next("ConsumerOpened");
  consumer.send(encodeControl({ ...OPEN_CONSUMER, request: 2, channel: "a#first" }));
  const [behind] = await Promise.all(producers.map(one => one.installs()));
  await consumer.next("ConsumerOpened");
  failing.send(removed(first as number));
  expect(await failing.client.next("Remove")).toMatchObject({ derived: behind });
  const left = [placed("nowhere", failing, FAILED), placed("producer", healthy)];
  for (const _ of producers) expect((await consumer.next("Placed")).placements).toEqual(left);
  healthy.raise(behind as number, 1);
  expect(await nextEvent(consumer)).toBe(1);
  // What was on its way from the other one harms nobody.
  failing.raise(behind as number, 1);
  await failing.client.isAlive();
  for (const one of producers) one[Symbol.dispose]();
});

test("MOE-5, MOE-18: a modulator that fails in its consumer's own process is left out there for that producer alone", async () => {
  await using gateway = await start();
  const producers = [
    await RawProducer.open(gateway, { modulates: false }),
    await RawProducer.open(gateway, { modulates: false }),
  ] as const;
  for (const { client } of producers) await client.next("Demand");
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const installs = [await consumer.next("Install"), await consumer.next("Install")] as const;
  const [{ derived }] = installs;
  for (const { request } of installs) consumer.send(encodeControl(installed(request, derived)));
  const [process, other] = installs.map(({ instead }) => instead?.process);
  consumer.send(encodeControl(removed(derived, process)));
  for (const producer of producers) {
    const { request: asked } = await producer.client.next("Demand");
    producer.send({ kind: "Noted", request: asked });
  }
  const opened = await consumer.next("ConsumerOpened");
  const [notServed] = ERRORS.MODULATORS_NOT_SERVED;
  expect(opened.placements).toEqual([
    placed("nowhere", producers[0], FAILED),
    placed("consumer", producers[1], notServed),
  ]);
  consumer.send(encodeControl(removed(derived, other)));
  expect(await consumer.next("ConsumerLost")).toMatchObject({ code: FAILED, consumer: opened.consumer });
  for (const producer of producers) producer[Symbol.dispose]();
});

test("MOE-18: a producer that does not note that it is to feed a consumer's process is left out until it does", async () => {
  await using gateway = await start({ installTimeoutMs: 50 });
  using hung = await RawProducer.open(gateway, { modulates: false });
  using healthy = await RawProducer.open(gateway);
  await hung.client.next("Demand");
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await healthy.installs();
  const { request } = await consumer.next("Install");
  consumer.send(encodeControl(installed(request, derived)));
  const { request: asked } = await hung.client.next("Demand");
  const { placements } = await consumer.next("ConsumerOpened");
  expect(placements).toEqual([placed("nowhere", hung, SILENT), placed("producer", healthy)]);
  hung.send({ kind: "Noted", request: asked });
  expect((await consumer.next("Placed")).placements).toEqual([
    placed("consumer", hung, ERRORS.MODULATORS_NOT_SERVED[0]),
    placed("producer", healthy),
  ]);
});

test("MOE-18: a producer that can run a modulator no longer has it run elsewhere", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await producer.installs();
  await consumer.next("ConsumerOpened");
  producer.send(removed(derived, 0, ERRORS.MODULATORS_NOT_SERVED[0]));
  expect(await consumer.next("Install")).toMatchObject({ derived, instead: { own: true } });
  expect(endings(consumer)).toEqual([]);
});

test.each<[string, (derived: number, request: number) => Outgoing]>([
  ["Removed of what it was never asked for", derived => removed(derived)],
  ["Installed that nobody asked for", derived => installed(77, derived)],
  ["Installed without a request", derived => installed(0, derived)],
  [
    "Impaired of what it was never asked for",
    derived => ({ kind: "Impaired", derived, code: ERRORS.MODULATOR_RESTARTED[0], message: "" }),
  ],
])("MOE-7: a stranger who says %s ends its own connection, and nothing else", async (_, lie) => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await healthy.installs();
  await consumer.next("ConsumerOpened");
  // It produces, but on another channel.
  using stranger = await RawProducer.open(gateway, { channel: "b" });
  stranger.send(lie(derived, 1));
  expect(await stranger.client.closed).toMatchObject({ code: ERRORS.FRAME_UNEXPECTED[0] });
  healthy.raise(derived, 1);
  expect(await nextEvent(consumer)).toBe(1);
  expect(endings(consumer)).toEqual([]);
});

test.each<[string, ErrorCode, (install: Install) => Outgoing]>([
  [
    "answers another installation",
    "FRAME_UNEXPECTED",
    ({ request, derived }) => installed(request, derived + 1),
  ],
  ["answers by another kind of frame", "FRAME_UNEXPECTED", ({ request }) => ({ kind: "Noted", request })],
])("MOE-7: a producer that %s ends its own connection, and nothing else", async (_, code, lie) => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using liar = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  await healthy.installs();
  liar.send(lie(await liar.install()));
  expect(await liar.client.closed).toMatchObject({ code: ERRORS[code][0] });
  expect((await consumer.next("ConsumerOpened")).placements).toEqual([placed("producer", healthy)]);
});

test("MOE-5: a producer that says Impaired for a reason that it cannot be ends its own connection", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await producer.installs();
  await consumer.next("ConsumerOpened");
  producer.send({ kind: "Impaired", derived, code: ERRORS.INTERNAL[0], message: "a stranger says so" });
  expect(await producer.client.closed).toMatchObject({ code: ERRORS.FRAME_UNEXPECTED[0] });
  await consumer.isAlive();
  expect(consumer.frames.filter(({ kind }) => kind === "Impaired")).toEqual([]);
});

test("MOE-7: a declaration that cannot be read leaves its producer out alone", async () => {
  await using gateway = await start();
  using healthy = await RawProducer.open(gateway);
  using liar = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  await healthy.installs();
  const { request, derived } = await liar.install();
  const garbage = Uint8Array.from({ length: 100 }, (_, i) => i);
  liar.send({ kind: "Installed", request, derived, schema: garbage, needs: [], reads: schema });
  expect((await consumer.next("ConsumerOpened")).placements).toEqual([
    placed("producer", healthy),
    placed("nowhere", liar, ERRORS.TYPE_INVALID[0]),
  ]);
  expect(await liar.client.next("Remove")).toMatchObject({ derived });
});

test("MOE-5: a word that comes late, behind the end of what it is about, ends no connection", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway);
  using consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl(OPEN_CONSUMER));
  const derived = await producer.installs();
  const opened = await consumer.next("ConsumerOpened");
  producer.send({ kind: "CloseEndpoint", endpoint: producer.number }, removed(derived));
  await producer.client.isAlive();
  consumer.send(encodeControl({ kind: "CloseEndpoint", endpoint: opened.consumer }));
  await consumer.isAlive();
  producer.send(removed(derived));
  await producer.client.isAlive();
});
