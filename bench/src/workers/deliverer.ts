// A producer for `delivery`: what publishing costs its own thread, and how acknowledgements overlap.
import { connect, type Producer, type, type ValueOf } from "@jecho/client";
import { type Cost, costsOf } from "../beats.ts";
import { timeOf } from "../timing.ts";
import { serve } from "../worker.ts";

const SHAPE = { layer: "int32", values: "float32[]" } as const;
const Layer = type("Layer", SHAPE);
/** A layer of the sample application's field: 9,361 points, 37 KB. */
const POINTS = 9361;
/** Layers in a step of it. */
const STEP = 37;
/** Long enough for a step to reach its consumer. */
const BEAT_MS = 8;

let field: Producer<ValueOf<typeof SHAPE>>;
let shared: Producer<Uint8Array>;
const own: Producer<Uint8Array>[] = [];

const event = { layer: 1, values: new Float32Array(POINTS).fill(1) };
const bytes = new Uint8Array(event.values.buffer);
/** A producer's ring has as much memory by default, and its events lie one behind the other. */
const target = new Uint8Array(8 << 20);
const PLACE_BYTES = (bytes.byteLength + 63) & ~63;
let at = 0;

/** Only copies what an event holds. */
function copy(): void {
  target.set(bytes, at);
  at += PLACE_BYTES;
  if (at + PLACE_BYTES > target.byteLength) at = 0;
}

/** Microseconds for each event of a step: raising it, and only copying what it holds through as much memory as a ring has. */
async function publishing(ms: number): Promise<{ publish: Cost; copy: Cost }> {
  const costs = await costsOf(
    { copy, publish: () => void field.publish(event) },
    { beatMs: BEAT_MS, times: STEP, ms },
  );
  // All of it got there: nothing was cheap for having been dropped.
  await field.publishSync(event);
  if (field.stats.dropped > 0) throw new Error(`${field.stats.dropped} events were dropped`);
  return costs;
}

/** Microseconds of CPU of this thread for an event that is alone in its beat, and wakes the concentrator for itself. */
async function publishingAlone(ms: number): Promise<number> {
  const costs = await costsOf(
    { publish: () => void field.publish(event) },
    { beatMs: BEAT_MS, times: 1, ms },
  );
  return costs.publish.thread;
}

serve({
  async open({ port, consumers }: { port: number; consumers: number }) {
    const session = connect(`127.0.0.1:${port}`);
    field = await session.channel("delivery/field", Layer).produce();
    shared = await session.channel("delivery/shared").produce();
    for (let i = 0; i < consumers; i++) own.push(await session.channel(`delivery/own-${i}`).produce());
  },
  publishing,
  publishingAlone,
  /** As fast as the consumer takes it, so that all is compiled that will be. */
  async warming(ms: number) {
    for (const start = performance.now(); performance.now() - start < ms; ) {
      for (let i = 1; i < STEP; i++) field.publish(event);
      await field.publishSync(event);
    }
  },
  /** Microseconds for such a copy where nothing comes between one and the next. */
  copying(ms: number) {
    return timeOf(copy, ms);
  },
  /** Milliseconds for one event to all consumers at once, and to each alone, one after the other. */
  async acknowledging(times: number) {
    const event = new Uint8Array(128);
    const start = performance.now();
    for (let i = 0; i < times; i++) await shared.publishSync(event);
    const between = performance.now();
    for (let i = 0; i < times; i++) for (const producer of own) await producer.publishSync(event);
    const end = performance.now();
    return { overlapping: (between - start) / times, inTurn: (end - between) / times };
  },
});
