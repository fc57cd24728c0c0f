import { ViewModulator } from "./view-modulator.js";
import { cutOf } from "./window.js";

/** Of each layer in the view, the part that lies in its window. */
export default class ViewFilter extends ViewModulator {
  /** @param {any} event GridData */
  enqueue(event) {
    const window = this.windowOf(event);
    if (window === undefined) return;
    if (window.whole) super.enqueue(event);
    else {
      const cut = cutOf(window, event);
      cut.values = this.crop(window, event);
      super.enqueue(cut);
    }
  }
}
