import { modulatorFrom } from "@jecho/client";
import { FifoModulator } from "@jecho/client/moe";
import type { Example } from "./example.ts";
import { type BBox, FilterModulator } from "./filter-modulator.ts";
import { GridData, raiseStep } from "./grid.ts";

const DIFF_THRESHOLD = 0.5;

/** Runs in each producer: lets through the cells that differ from what was last sent of them by more than a threshold. */
class DiffModulator extends FifoModulator {
  sent = new Map<string, number>();

  override enqueue(event: GridData): void {
    const { layer, latitude, longitude, ozone } = event;
    const { threshold } = this.parameters as { threshold: number };
    const cell = `${layer} ${latitude} ${longitude}`;
    const last = this.sent.get(cell);
    if (last !== undefined && Math.abs(ozone - last) <= threshold) return;
    this.sent.set(cell, ozone);
    super.enqueue(event);
  }
}

/** Appendix B of the JECho paper: a viewer in action changes its modulator. */
export const changingHandlers: Example = {
  about: "JECho, appendix B: a viewer changes from filter mode to diff mode at run time",
  async run(producing, consuming, print) {
    const producer = await producing.channel("examples/modes", GridData).produce();
    const consumerView = consuming.share<BBox>({
      startLayer: 0,
      endLayer: 0,
      startLat: -90,
      endLat: 90,
      startLong: 0,
      endLong: 359,
    });
    let seen = 0;
    const viewer = await consuming.channel("examples/modes", GridData).subscribe(() => seen++, {
      modulator: modulatorFrom(FilterModulator, { objects: { consumerView } }),
    });
    const raise = async (step: number): Promise<number> => {
      seen = 0;
      await raiseStep(producer, step);
      return seen;
    };
    print(`filter mode: ${await raise(1)} cells`);

    // The mode changed to diff mode: a new modulator, and no demodulator. From here on no event of the old one comes.
    await viewer.reset({
      modulator: modulatorFrom(DiffModulator, { parameters: { threshold: DIFF_THRESHOLD } }),
    });
    print(`diff mode, the first time: ${await raise(2)} cells`);
    print(`diff mode, what changed: ${await raise(3)} cells`);
  },
};
