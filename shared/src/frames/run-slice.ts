import { EventsFrame, FLAG_PART } from "./events.ts";
import { encodeStretches } from "./run-bytes.ts";

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
