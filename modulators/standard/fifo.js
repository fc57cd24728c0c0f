import { FifoModulator } from "jecho:moe";

/** Every event, in order. */
export default class Fifo extends FifoModulator {
  static keepsEvents = false;
}
