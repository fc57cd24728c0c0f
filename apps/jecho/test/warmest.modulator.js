import { FifoModulator } from "jecho:moe";

/** Of each station's temperatures the highest. */
export default class extends FifoModulator {
  static output = { name: "Warmest", description: { id: "uint32", celsius: "float32" } };

  enqueue({ id, celsius }) {
    super.enqueue({ id, celsius: Math.max(...celsius) });
  }
}
