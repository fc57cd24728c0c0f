// Produces the sample application's field. The steps are computed before anything is measured: the model's own computing is no
// part of what it costs to share them.
import { setTimeout as delay } from "node:timers/promises";
import { CHANNELS, GridData, Model, readWinds } from "@jecho/atmosphere";
import { connect, type Producer } from "@jecho/client";
import { serve } from "../worker.ts";

export interface Produce {
  /** Steps in all, and from one to the next. */
  readonly steps: number;
  readonly intervalMs: number;
}

/** Steps of a compiled modulator for one layer, as in the sample application. */
const MOST_PER_LAYER = 2_000_000;
const MODEL_SECONDS_PER_STEP = 7200;
/** Every so many steps the viewer is waited for: what cannot keep up takes longer, and costs what it costs. */
const STEPS_AHEAD = 4;

let producer: Producer<GridData>;
/** By step, all of its layers. */
const fields: GridData[][] = [];

serve({
  async open({ port, steps }: { port: number; steps: number }) {
    const model = new Model({ winds: await readWinds() });
    const { rows, columns, latStep, lonStep } = model.grid;
    for (let step = 0; step < steps; step++) {
      model.step(MODEL_SECONDS_PER_STEP);
      const shape = { latFirst: 90, latStep: -latStep, rows, lonFirst: 0, lonStep, columns };
      fields.push(
        model.layers.map((_, layer) => ({
          step,
          layer,
          time: model.time,
          ...shape,
          values: model.layer(layer).slice(),
        })),
      );
    }
    const session = connect(`127.0.0.1:${port}`, { modulators: { mostPerEvent: MOST_PER_LAYER } });
    producer = await session.channel(CHANNELS.ozone, GridData).produce();
  },
  /** Answers when every consumer has handled the last. */
  async produce({ steps, intervalMs }: Produce) {
    const start = performance.now();
    for (let step = 0; step < steps; step++) {
      const late = performance.now() - start - step * intervalMs;
      if (late < 0) await delay(-late);
      // There and back, so that no step is far from the one before.
      const at = step % (2 * fields.length);
      const layers = fields[at < fields.length ? at : 2 * fields.length - 1 - at] as GridData[];
      // All layers at once, as the application does it; now and then the last is waited for.
      const waits = step % STEPS_AHEAD === STEPS_AHEAD - 1 || step === steps - 1;
      await producer.batch(() => {
        const events = layers.map(layer => ({ ...layer, step }));
        const last = waits ? events.pop() : undefined;
        for (const event of events) producer.publish(event);
        return last && producer.publishSync(last, { timeoutMs: 30_000 });
      });
    }
    return performance.now() - start;
  },
});
