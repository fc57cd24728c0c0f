import { type Modulator, type } from "@jecho/client";

/** What is raised while everything is being killed: which producer, its how-manieth life, and its count in that life. */
export const ChaosEvent = type("ChaosEvent", { producer: "uint32", life: "uint32", n: "uint32" });
export const CHANNEL = "chaos/counts";

/** Lets every event with an even count through. */
export const EVEN: Modulator = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }
}`,
};

/** What a consumer saw, in its order: [producer, life, n], or [MISSED, events, 0] for what it was told. */
export type Seen = readonly [number, number, number];
export const MISSED = 0;
