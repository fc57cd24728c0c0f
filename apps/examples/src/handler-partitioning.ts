import { modulatorFrom } from "@jecho/client";
import type { Example } from "./example.ts";
import { type BBox, FilterModulator } from "./filter-modulator.ts";
import { GridData, raiseStep } from "./grid.ts";
import { viewKnown } from "./view-known.ts";

const WHOLE: BBox = { startLayer: 0, endLayer: 1, startLat: -90, endLat: 90, startLong: 0, endLong: 359 };

/** Appendix A of the JECho paper: a grid viewer shares its current view with its modulator. */
export const handlerPartitioning: Example = {
  about: "JECho, appendix A: a viewer's view is a shared object that its modulator filters by",
  async run(producing, consuming, print) {
    const producer = await producing.channel("examples/MyChannel", GridData).produce();

    const currentView = consuming.share<BBox>({ ...WHOLE });
    const modulator = modulatorFrom(FilterModulator, { objects: { consumerView: currentView } });
    let seen = 0;
    await consuming.channel("examples/MyChannel", GridData).subscribe(() => seen++, {
      modulator,
    });

    await raiseStep(producer, 1);
    print(`the whole view: ${seen} cells`);

    // The GUI's view changed: modify the current view, and the modulators see the change, too.
    seen = 0;
    currentView.update({ startLayer: 1, startLat: 0, startLong: 90, endLong: 180 });
    await viewKnown(producer, "consumerView", currentView.state);
    await raiseStep(producer, 2);
    print(`a part of it: ${seen} cells`);
  },
};
