import { FifoModulator } from "jecho:moe";
import { checkView, crop, geometry, viewOf, WindowFinder } from "./window.js";

/** Of 65,536 levels the last one stands for NaN. */
const NO_NUMBER = 65_535;
const LAST_LEVEL = 65_534;
const NONE = new Float32Array(0);

/**
 * Of each layer in the view, the part that lies in its window, each value as one of 65,535 levels from the least to the
 * greatest value there: half the bytes.
 */
export default class PackedView extends FifoModulator {
  static keepsEvents = false;
  static output = {
    name: "PackedGrid",
    description: {
      step: "uint32",
      layer: "int32",
      time: "float64",
      latFirst: "float32",
      latStep: "float32",
      rows: "uint16",
      lonFirst: "float32",
      lonStep: "float32",
      columns: "uint16",
      least: "float32",
      greatest: "float32",
      levels: "uint16[]",
      values: "float32[]",
    },
  };

  #windows = new WindowFinder();
  #values = new Float32Array(0);
  #levels = new Uint16Array(0);

  /**
   * @param {any} parameters
   * @param {any} objects
   */
  static check(parameters, objects) {
    checkView(viewOf(parameters, objects));
  }

  /** @param {any} event GridData */
  enqueue(event) {
    const view = viewOf(this.parameters, this.objects);
    const { layer } = event;
    if (layer < view.firstLayer || layer > view.lastLayer) return;
    const window = this.#windows.find(view, event);
    if (window === undefined) return;
    const count = window.rows * window.columns;
    if (count > this.#levels.length) {
      this.#values = new Float32Array(count);
      this.#levels = new Uint16Array(count);
    }
    const values = crop(window, event, this.#values);
    const { step, time } = event;
    const packed = pack(values, this.#levels.subarray(0, count));
    super.enqueue({ step, layer, time, ...geometry(window, event), ...packed });
  }
}

/**
 * @param {Float32Array} values
 * @param {Uint16Array} levels are written
 */
function pack(values, levels) {
  let least = Infinity;
  let greatest = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  // There are no levels up to infinity: these go as they are.
  if (least === -Infinity || greatest === Infinity)
    return { least: 0, greatest: 0, levels: levels.subarray(0, 0), values };
  if (least > greatest) least = greatest = 0;
  const scale = greatest > least ? LAST_LEVEL / (greatest - least) : 0;
  for (let i = 0; i < levels.length; i++) {
    const value = values[i];
    levels[i] = Number.isNaN(value) ? NO_NUMBER : (value - least) * scale + 0.5;
  }
  return { least, greatest, levels, values: NONE };
}
