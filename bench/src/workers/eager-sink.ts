// A consumer for the filters of ECho's paper.
import { connect } from "@jecho/client";
import { averageFilter, averageOf, Record, rangeFilter, Winds } from "../echo-filters.ts";
import { serve } from "../worker.ts";

let events = 0;
let sum = 0;

serve({
  /** @param filter percent that a modulator rejects; undefined: no modulator */
  async records({ port, scenario, filter }: { port: number; scenario: string; filter: number | undefined }) {
    const channel = connect(`127.0.0.1:${port}`).channel(`eager/${scenario}`, Record);
    await channel.subscribe(
      ({ price }) => {
        events++;
        sum += price;
      },
      filter === undefined ? {} : rangeFilter(filter),
    );
  },
  async arrays({ port, scenario, isEager }: { port: number; scenario: string; isEager: boolean }) {
    const channel = connect(`127.0.0.1:${port}`).channel(`eager/${scenario}`, Winds);
    await channel.subscribe(
      ({ velocity }) => {
        events++;
        // With the modulator the array has become a number on its way.
        sum += isEager ? (velocity as unknown as number) : averageOf(velocity);
      },
      isEager ? averageFilter() : {},
    );
  },
  count: () => ({ events, sum }),
});
