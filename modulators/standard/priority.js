import { Modulator, urgent } from "jecho:moe";
import { checkName, tagOf, text } from "./check.js";

/** Events whose tag is one of some values go first, and are marked urgent for the rest of their way. */
export default class Priority extends Modulator {
  /** @type {object[]} */
  #urgent = [];
  /** @type {object[]} */
  #others = [];

  /** @param {any} parameters */
  static check(parameters) {
    checkName(parameters, "field");
    const { urgent: values } = parameters;
    if (!Array.isArray(values))
      throw new RangeError(`urgent: a list of values is wanted, not ${text(values)}`);
    for (let i = 0; i < values.length; i++)
      if (!["string", "number", "boolean"].includes(typeof values[i]))
        throw new RangeError(`urgent[${i}]: a number, text or boolean is wanted, not ${text(values[i])}`);
  }

  /** @param {object} event */
  enqueue(event) {
    const { field, urgent: values } = /** @type {any} */ (this.parameters);
    if (values.includes(tagOf(event, field))) this.#push(this.#urgent, urgent(event));
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
