import { FifoModulator } from "jecho:moe";

interface Tick {
  readonly n: number;
}

/** Ticks above a number. Written in TypeScript, as a file of its own. */
export default class Above extends FifoModulator<Tick, { readonly above: number }> {
  override enqueue(event: Tick): void {
    if (event.n === 13) throw new Error("an unlucky tick");
    if (event.n > this.parameters.above) super.enqueue(event);
  }
}
