// A producer for the filters of ECho's paper: records at a rate, and arrays as fast as they are handled.
import { setTimeout as delay } from "node:timers/promises";
import { connect, type Producer, type Session } from "@jecho/client";
import {
  AVERAGE_SOURCE,
  RANGE_SOURCE,
  type Reading,
  Record,
  Winds,
  type WindsEvent,
} from "../echo-filters.ts";
import { serve } from "../worker.ts";

const TICK_MS = 5;
const COLUMNS = 253;
const ROWS = 37;

const records = new Map<string, Producer<Reading>>();
const winds = new Map<string, Producer<WindsEvent>>();
const filler = new Uint8Array(72);

serve({
  async open({
    port,
    scenarios,
    arrays,
  }: {
    port: number;
    scenarios: readonly string[];
    arrays: readonly string[];
  }) {
    const hosting = connect(`127.0.0.1:${port}`);
    const trusting = connect(`127.0.0.1:${port}`, {
      modulators: { trusted: [RANGE_SOURCE, AVERAGE_SOURCE] },
    });
    const sessionOf = (name: string): Session => (name.startsWith("local_") ? trusting : hosting);
    for (const name of scenarios)
      records.set(name, await sessionOf(name).channel(`eager/${name}`, Record).produce());
    for (const name of arrays)
      winds.set(name, await sessionOf(name).channel(`eager/${name}`, Winds).produce());
  },
  /** Records at `rate` per second; answers with how many, when the last was handled. */
  async stream({ scenario, rate, ms }: { scenario: string; rate: number; ms: number }) {
    const producer = records.get(scenario) as Producer<Reading>;
    const start = performance.now();
    let sent = 0;
    let now = 0;
    while (now < ms) {
      const due = Math.floor((rate * now) / 1000);
      for (; sent < due; sent++) producer.publish({ price: sent % 100, time: sent, filler });
      await delay(TICK_MS);
      now = performance.now() - start;
    }
    await producer.publishSync({ price: 0, time: sent, filler });
    return sent + 1;
  },
  async arrays({ scenario, events }: { scenario: string; events: number }) {
    const producer = winds.get(scenario) as Producer<WindsEvent>;
    const event = { velocity: Float32Array.from({ length: ROWS * COLUMNS }, (_, i) => i % 50) };
    const WINDOW = 16;
    const start = performance.now();
    for (let sent = 0; sent < events; sent += WINDOW) {
      for (let i = 1; i < WINDOW; i++) producer.publish(event);
      await producer.publishSync(event);
    }
    return (1000 * (performance.now() - start)) / events;
  },
});
