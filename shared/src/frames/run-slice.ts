import { EventsFrame, FLAG_PART } from "./events.ts";
import { encodeStretches } from "./run-bytes.ts";

/** Most events of a run that a gateway takes: what is done for each of them takes its time all at once. */
export const MOST_RUN_EVENTS = 4096;

/** The runs, those in pieces that have more events than a gateway takes in one. */
export function inPieces(runs: readonly EventsFrame[]): readonly EventsFrame[] {
  if (runs.every(({ count }) => count <= MOST_RUN_EVENTS)) return runs;
  return runs.flatMap(run =>
    Array.from({ length: Math.ceil(run.count / MOST_RUN_EVENTS) }, (_, i) =>
      sliceRun(run, i * MOST_RUN_EVENTS, Math.min(run.count, (i + 1) * MOST_RUN_EVENTS)),
    ),
  );
}

/** The run's events from `first` on, up to but without `end`, as a run of its own in memory of its own. */
export function sliceRun(run: EventsFrame, first: number, end = run.count): EventsFrame {
  const { channel, producer, raised, token, parameters, epoch, seq, after, through } = run;
  const versions = run.versionsAt === 0 ? undefined : run.versions;
  // What the run accounts for is accounted for when the last of its events is there.
  const flags = end < run.count && through > 0 ? run.flags | FLAG_PART : run.flags;
  const header = {
    channel,
    producer,
    raised: raised + first,
    token,
    parameters,
    flags,
    versions,
    after,
    through,
  };
  const slice = EventsFrame.at(encodeStretches(header, [run.stretch(first, end)]));
  slice.stamp(epoch, seq + first);
  return slice;
}
