import { modulatorFrom, type } from "@jecho/client";
import { FifoModulator } from "@jecho/client/moe";
import type { Example } from "./example.ts";

const ROWS = 253;
const COLUMNS = 37;
const Winds = type("Winds", { step: "uint32", windVelocity: "float32[]" });
type Winds = typeof Winds.event;

/** Runs in each producer: of a field of 37 by 253 values only their mean travels. */
class MeanModulator extends FifoModulator {
  static output = { name: "MeanWinds", description: { step: "uint32", averageVelocity: "float64" } };

  override enqueue({ step, windVelocity }: Winds): void {
    let sum = 0;
    for (let i = 0; i < windVelocity.length; i++) sum += windVelocity[i] as number;
    super.enqueue({ step, averageVelocity: sum / windVelocity.length });
  }
}

/** Figure 5 of the ECho paper: a derived channel of another type than its parent's. */
export const derivedMean: Example = {
  about: "ECho, figure 5: the mean of an array, computed at its source",
  async run(producing, consuming, print) {
    const producer = await producing.channel("examples/winds", Winds).produce();
    const consumer = await consuming.channel("examples/winds").subscribe(
      event => {
        const { step, averageVelocity } = event as unknown as { step: number; averageVelocity: number };
        print(`step ${step}: ${averageVelocity.toFixed(1)} m/s`);
      },
      { modulator: modulatorFrom(MeanModulator) },
    );
    let bytes = 0;
    for (let step = 1; step <= 3; step++) {
      const windVelocity = new Float32Array(ROWS * COLUMNS).map((_, i) => step + (i % 2));
      bytes += producer.publish({ step, windVelocity });
    }
    await producer.publishSync({ step: 4, windVelocity: new Float32Array(ROWS * COLUMNS).fill(9) });
    const share = consumer.stats.bytes / bytes;
    print(share < 0.01 ? "less than a hundredth of the bytes" : `${Math.round(100 * share)} % of the bytes`);
  },
};
