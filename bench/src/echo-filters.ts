import { type EagerHandler, type } from "@jecho/client";

/*
 * The filters of ECho's paper: the range filter of its figure 4 (measured in its figure 8) and the average of its figure 5, as
 * modulators.
 */

/** About 100 bytes, as the paper's. */
export const Record = type("Record", { price: "float64", time: "float64", filler: "uint8[]" });

/** `wind_velocity[37][253]`. */
export const Winds = type("Winds", { velocity: "float32[]" });

export const RANGE_SOURCE = `
import { FifoModulator } from "jecho:moe";
export default class Range extends FifoModulator {
  static keepsEvents = false;
  enqueue(event) {
    const { low, high } = this.parameters;
    const { price } = event;
    if (price < low || price >= high) super.enqueue(event);
  }
}
`;

const AVERAGE_SOURCE = `
import { FifoModulator } from "jecho:moe";
export default class Average extends FifoModulator {
  static keepsEvents = false;
  static output = { name: "Average", description: { velocity: "float64" } };
  enqueue({ velocity }) {
    let sum = 0;
    for (let i = 0; i < velocity.length; i++) sum += velocity[i];
    super.enqueue({ velocity: sum / velocity.length });
  }
}
`;

/** The same, by the mean of "jecho:moe". */
const MEAN_SOURCE = `
import { FifoModulator, mean } from "jecho:moe";
export default class Average extends FifoModulator {
  static keepsEvents = false;
  static output = { name: "Average", description: { velocity: "float64" } };
  enqueue({ velocity }) {
    super.enqueue({ velocity: mean(velocity) });
  }
}
`;

/** 37 x 60 of 73 rows of 144 numbers. */
const WINDOW_SOURCE = `
import { FifoModulator } from "jecho:moe";
export default class Window extends FifoModulator {
  static keepsEvents = false;
  enqueue({ velocity }) {
    const cut = new Float32Array(2220);
    for (let row = 0; row < 37; row++) {
      const from = (row + 18) * 144 + 42;
      cut.set(velocity.subarray(from, from + 60), row * 60);
    }
    super.enqueue({ velocity: cut });
  }
}
`;

/** Rejects so many percent of records whose prices go through 0 to 99. */
export function rangeFilter(rejectedPercent: number): EagerHandler {
  return { modulator: { source: RANGE_SOURCE, parameters: { low: 0, high: rejectedPercent } } };
}

export const averageFilter: EagerHandler = { modulator: { source: AVERAGE_SOURCE } };
export const meanFilter: EagerHandler = { modulator: { source: MEAN_SOURCE } };
export const windowFilter: EagerHandler = { modulator: { source: WINDOW_SOURCE } };

export function windowOf(velocity: Float32Array): Float32Array {
  const cut = new Float32Array(2220);
  for (let row = 0; row < 37; row++) {
    const from = (row + 18) * 144 + 42;
    cut.set(velocity.subarray(from, from + 60), row * 60);
  }
  return cut;
}

export function averageOf(velocity: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < velocity.length; i++) sum += velocity[i] as number;
  return sum / velocity.length;
}
