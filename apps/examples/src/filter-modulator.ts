import { FifoModulator } from "@jecho/client/moe";
import type { GridData } from "./grid.ts";

/** The consumer's view. Whole degrees; both ends are in it. */
export interface BBox {
  readonly startLayer: number;
  readonly endLayer: number;
  readonly startLat: number;
  readonly endLat: number;
  readonly startLong: number;
  readonly endLong: number;
}

/** Runs in each producer: lets through what is inside the consumer's view. */
export class FilterModulator extends FifoModulator {
  /** Overrides the intercept "enqueue". */
  override enqueue(event: GridData): void {
    const view = this.objects["consumerView"] as BBox;

    // Discard the event if its layer is not inside the consumer's view.
    const { layer } = event;
    if (layer < view.startLayer || layer > view.endLayer) return;

    // Discard the event if its latitude is not.
    const { latitude } = event;
    if (latitude < view.startLat || latitude > view.endLat) return;

    // Discard the event if its longitude is not.
    const { longitude } = event;
    if (longitude < view.startLong || longitude > view.endLong) return;

    super.enqueue(event);
  }
}
