import { FifoModulator } from "jecho:moe";
import { checkView, crop, cutOf, viewOf, WindowFinder } from "./window.js";

/** Of each layer in the view, the part that lies in its window. */
export default class ViewFilter extends FifoModulator {
  static keepsEvents = false;

  #windows = new WindowFinder();
  #room = new Float32Array(0);

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
    if (window.whole) super.enqueue(event);
    else {
      const cut = cutOf(window, event);
      cut.values = crop(window, event, this.#room);
      if (cut.values.length > this.#room.length) this.#room = cut.values;
      super.enqueue(cut);
    }
  }
}
