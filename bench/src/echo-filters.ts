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

/** Rejects so many percent of records whose prices go through 0 to 99. */
export function rangeFilter(rejectedPercent: number): EagerHandler {
  return { modulator: { source: RANGE_SOURCE, parameters: { low: 0, high: rejectedPercent } } };
}

export function averageFilter(): EagerHandler {
  return { modulator: { source: AVERAGE_SOURCE } };
}

export function averageOf(velocity: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < velocity.length; i++) sum += velocity[i] as number;
  return sum / velocity.length;
}
