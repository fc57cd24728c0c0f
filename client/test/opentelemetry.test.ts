import { type ConcentratorPlace, connect, type EventInfo, modulatorFrom } from "@jecho/client";
import { openTelemetry } from "@jecho/client/opentelemetry";
import { createGateway } from "@jecho/server";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { beforeAll, beforeEach, expect, test } from "vitest";
import { Tick } from "./tick.ts";

const exporter = new InMemorySpanExporter();
const tracer = trace.getTracer("test");

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(
    new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }),
  );
});

beforeEach(() => exporter.reset());

const spansNamed = (name: string) => exporter.getFinishedSpans().filter(span => span.name === name);
const traceIds = (name: string) => spansNamed(name).map(span => span.spanContext().traceId);

test.for<ConcentratorPlace>(["here", "worker"])(
  "PROV-8: %s: what becomes of a raised event is one trace: publish, modulate, deliver",
  async place => {
    await using gateway = await createGateway();
    await using producing = connect(gateway.address, { place, tracing: openTelemetry() });
    await using consuming = connect(gateway.address, {
      name: "consuming",
      place: "here",
      tracing: openTelemetry(),
    });
    const ids = new Map<string, string | undefined>();
    const active = new Map<string, string | undefined>();
    const take =
      (who: string) =>
      ({ n }: typeof Tick.event, { traceId }: EventInfo): void => {
        ids.set(`${who} ${n}`, traceId);
        active.set(`${who} ${n}`, trace.getActiveSpan()?.spanContext().traceId);
      };
    const channel = consuming.channel("a", Tick);
    const modulator = modulatorFrom((event: typeof Tick.event) => event.n > 1);
    await channel.subscribe(take("all"));
    await channel.subscribe(take("some"), { modulator });
    const producer = await producing.channel("a", Tick).produce();
    await expect.poll(() => producer.demand.total).toBe(2);
    const measuring = tracer.startActiveSpan("measure", span => {
      for (const n of [1, 2]) producer.publish({ n, note: "" });
      span.end();
      return span.spanContext();
    });
    producer.publishUrgent({ n: 3, note: "" });
    await expect.poll(() => [...ids.keys()].sort()).toEqual(["all 1", "all 2", "all 3", "some 2", "some 3"]);
    expect(ids.get("some 2")).toBe(ids.get("all 2"));
    expect(ids.get("some 3")).toBe(ids.get("all 3"));
    expect(active).toEqual(ids);

    const [first, second, urgent] = [1, 2, 3].map(n => ids.get(`all ${n}`));
    expect(traceIds("publish a")).toEqual([first, second, urgent]);
    await expect.poll(() => traceIds("modulate a")).toEqual(expect.arrayContaining([second, urgent]));
    const delivered = traceIds("deliver a").sort();
    expect(delivered).toEqual([first, second, second, urgent, urgent].sort());

    const spans = exporter.getFinishedSpans().filter(span => span.spanContext().traceId === second);
    expect(new Set(spans.map(span => span.parentSpanContext?.spanId)).size).toBe(1);
    const [published] = spansNamed("publish a");
    expect(published).toMatchObject({
      kind: SpanKind.PRODUCER,
      links: [{ context: { spanId: measuring.spanId } }],
      attributes: { "messaging.system": "jecho", "messaging.destination.name": "a" },
    });
    const [modulated] = spansNamed("modulate a");
    expect(modulated?.attributes["jecho.made"]).toBeGreaterThan(0);
    // It began once the event was raised, and no span ends before it begins.
    for (const { startTime, endTime } of exporter.getFinishedSpans())
      expect(endTime[0] - startTime[0] + (endTime[1] - startTime[1]) / 1e9).toBeGreaterThanOrEqual(0);
  },
);

test("PROV-8: of many events those are traced at both ends that are the same one of so many", async () => {
  await using gateway = await createGateway();
  const tracing = openTelemetry({ every: 4 });
  await using session = connect(gateway.address, { place: "here", tracing });
  await using other = connect(gateway.address, { place: "here", name: "other", tracing });
  const seen: (string | undefined)[] = [];
  await other.channel("a", Tick).subscribe((_, { traceId }) => void seen.push(traceId));
  const producer = await session.channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < 400; n++) producer.publish({ n, note: "" });
  await expect.poll(() => seen.length).toBe(400);
  const traced = seen.filter(id => id !== undefined);
  expect(traced.length).toBeGreaterThan(50);
  expect(traced.length).toBeLessThan(150);
  expect(traceIds("publish a")).toEqual(traced);
  expect(traceIds("deliver a")).toEqual(traced);
});

test("what a handler throws, or its promise is rejected with, its span says", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address, { place: "here", tracing: openTelemetry() });
  const errors: string[] = [];
  const options = { onError: ({ message }: Error) => void errors.push(message) };
  await session.channel("a", Tick).subscribe(({ n }) => {
    if (n === 1) throw new Error("thrown");
    return n === 2 ? Promise.reject(new Error("rejected")) : Promise.resolve();
  }, options);
  const producer = await session.channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  for (const n of [1, 2, 3]) producer.publish({ n, note: "" });
  await expect.poll(() => spansNamed("deliver a").length).toBe(3);
  expect(errors).toEqual(["thrown", "rejected"]);
  const said = spansNamed("deliver a").map(({ status, events }) => [status.code, events.length]);
  expect(said).toEqual(
    expect.arrayContaining([
      [SpanStatusCode.ERROR, 1],
      [SpanStatusCode.ERROR, 1],
      [SpanStatusCode.UNSET, 0],
    ]),
  );
});

test("without the option no event has a trace, and no span is begun", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address, { place: "here" });
  const seen: EventInfo[] = [];
  await session.channel("a", Tick).subscribe((_, info) => void seen.push(info));
  const producer = await session.channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 1, note: "" });
  await expect.poll(() => seen.length).toBe(1);
  expect(seen[0]).not.toHaveProperty("traceId");
  expect(exporter.getFinishedSpans()).toEqual([]);
});

test("a share that is none is refused", () => {
  for (const every of [0, 1.5, Number.NaN])
    expect(() => openTelemetry({ every })).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID" }));
});
