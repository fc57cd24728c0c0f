import {
  type EventBytes,
  EventsFrame,
  FLAG_SYNC,
  FLAG_URGENT,
  measureRun,
  writeRun,
} from "@jecho/shared/internal";
import type { ProducerEntry } from "./entries.ts";
import type { Lane } from "./lane.ts";
import type { RingRecord } from "./ring.ts";

/** Frames that go out together: one write for many events, of one channel or of many. */
export interface OutgoingMessage {
  readonly bytes: Uint8Array;
  readonly runs: readonly {
    readonly producer: ProducerEntry;
    readonly lane: Lane;
    readonly frame: EventsFrame;
  }[];
  /** Does somebody elsewhere listen to the channels themselves? */
  readonly wanted: boolean;
}

/** A message is closed when it has grown to this size; a single event may be larger. */
const MESSAGE_BYTES = 256 * 1024;

interface Run {
  readonly producer: ProducerEntry;
  readonly lane: Lane;
  readonly sync: boolean;
  /** Count of the first event; those of the others follow it. */
  readonly raised: number;
  readonly events: EventBytes[];
}

/**
 * Gathers what was raised into runs, one for each producer as long as a message is open, and runs into messages.
 * Each producer's events keep their order and their counts: after a gap, where events were dropped, begins a new run.
 * A synchronous event is a run of its own. Runs that only this process wants are in messages of their own.
 */
export function* outgoingRuns(
  records: readonly RingRecord[],
  producerOf: (endpoint: number) => ProducerEntry | undefined,
): Generator<OutgoingMessage> {
  for (const wanted of [true, false]) {
    let runs: Run[] = [];
    let newest = new Map<Lane, Run>();
    let bytes = 0;
    for (const record of records) {
      const { sync, raised, start, end } = record;
      const producer = producerOf(record.endpoint);
      if (producer === undefined || producer.elsewhere > 0 !== wanted) continue;
      const lane = producer.lanes.of(record.urgent ?? false);
      let run = newest.get(lane);
      if (run === undefined || run.sync || sync || raised !== run.raised + run.events.length) {
        run = { producer, lane, sync, raised, events: [] };
        newest.set(lane, run);
        runs.push(run);
      }
      run.events.push(record);
      bytes += end - start;
      if (bytes >= MESSAGE_BYTES) {
        yield closeMessage(runs, wanted);
        runs = [];
        newest = new Map();
        bytes = 0;
      }
    }
    if (runs.length > 0) yield closeMessage(runs, wanted);
  }
}

function closeMessage(runs: readonly Run[], wanted: boolean): OutgoingMessage {
  let size = 0;
  for (const { events } of runs) size += measureRun(events);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const made = runs.map(({ producer, lane, sync, raised, events }) => {
    const { channelNumber, number, token } = producer;
    const start = at;
    const flags = (sync ? FLAG_SYNC : 0) | (lane.urgent ? FLAG_URGENT : 0);
    const header = {
      channel: channelNumber,
      producer: number,
      raised,
      token,
      parameters: 0,
      flags,
    };
    at = writeRun(bytes, view, at, header, events);
    lane.raised = raised + events.length - 1;
    return { producer, lane, frame: EventsFrame.at(bytes, start) };
  });
  return { bytes, runs: made, wanted };
}
