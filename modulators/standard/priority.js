import { Modulator, urgent } from "jecho:moe";
import { checkTag } from "./check.js";
import { checkPriority } from "./parameters.js";

/** Events whose tag is one of some values go first, and are marked urgent for the rest of their way. */
export default class Priority extends Modulator {
  /** @type {object[]} */
  #urgent = [];
  /** @type {object[]} */
  #others = [];

  /** @param {any} parameters */
  static check(parameters) {
    checkPriority(parameters);
  }

  /**
   * @param {any} fields
   * @param {any} parameters
   */
  static checkInput(fields, { field }) {
    checkTag(fields, field);
  }

  /** @param {object} event */
  enqueue(event) {
    const { field, urgent: values } = /** @type {any} */ (this.parameters);
    if (values.includes(/** @type {any} */ (event)[field])) this.#push(this.#urgent, urgent(event));
    else this.#push(this.#others, event);
  }

  dequeue() {
    return this.#urgent.shift() ?? this.#others.shift();
  }

  /**
   * A full queue drops its oldest event.
   *
   * @param {object[]} queue
   * @param {object} event
   */
  #push(queue, event) {
    if (queue.length >= this.moe.queueEvents) queue.shift();
    queue.push(event);
  }
}
