// A producer for `delivery`: what publishing costs its own thread, and how acknowledgements overlap.
import { readFileSync } from "node:fs";
import { setImmediate as turn } from "node:timers/promises";
import { connect, type Producer, type, type ValueOf } from "@jecho/client";
import { timeOf } from "../timing.ts";
import { serve } from "../worker.ts";

const SHAPE = { layer: "int32", values: "float32[]" } as const;
export const Layer = type("Layer", SHAPE);
/** A layer of the sample application's field: 9,361 points, 37 KB. */
export const POINTS = 9361;
const BURST = 32;

let field: Producer<ValueOf<typeof SHAPE>>;
let shared: Producer<Uint8Array>;
const own: Producer<Uint8Array>[] = [];

/** CPU time in microseconds of the application's thread, which is the one that this runs in. */
function threadCpuUs(): number {
  try {
    const [nanoseconds] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ");
    return Number(nanoseconds) / 1000;
  } catch {
    // Where the system does not say it by thread: the whole process, which is more.
    const { user, system } = process.cpuUsage();
    return user + system;
  }
}

/** Microseconds of CPU of this thread for each event, and of the call alone on the clock. */
async function publishing(ms: number): Promise<{ cpu: number; call: number }> {
  const event = { layer: 1, values: new Float32Array(POINTS).fill(1) };
  const start = performance.now();
  const before = threadCpuUs();
  let events = 0;
  let called = 0;
  while (performance.now() - start < ms) {
    const from = performance.now();
    for (let i = 1; i < BURST; i++) field.publish(event);
    called += performance.now() - from;
    await turn();
    // Nobody is to be outrun: the consumer has this one, and all before it.
    await field.publishSync(event);
    events += BURST;
  }
  return { cpu: (threadCpuUs() - before) / events, call: (1000 * called * BURST) / (BURST - 1) / events };
}

serve({
  async open({ port, consumers }: { port: number; consumers: number }) {
    const session = connect(`127.0.0.1:${port}`);
    field = await session.channel("delivery/field", Layer).produce();
    shared = await session.channel("delivery/shared").produce();
    for (let i = 0; i < consumers; i++) own.push(await session.channel(`delivery/own-${i}`).produce());
  },
  publishing,
  /** Microseconds for copying what such an event holds. */
  copying(ms: number) {
    const from = new Uint8Array(4 * POINTS);
    // Through as much memory as a ring has: a copy that stays in the cache would be no measure.
    const to = new Uint8Array(8 << 20);
    let at = 0;
    return timeOf(() => {
      to.set(from, at);
      at += from.byteLength + 8;
      if (at + from.byteLength > to.byteLength) at = 0;
    }, ms);
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
