import {
  type EventBytes,
  EventsFrame,
  FLAG_SYNC,
  FLAG_URGENT,
  measureRun,
  type RunHeader,
  writeRun,
} from "@jecho/shared/internal";
import type { ProducerEntry } from "./entry.ts";
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
}

/** A message is closed when it has grown to this size; a single event may be larger. */
export const MESSAGE_BYTES = 256 * 1024;
/** What only this process wants is taken in such pieces: what a modulator may make is limited for each. */
const QUIET_BYTES = 4 << 20;
const QUIET_EVENTS = 32_768;

/** Events of one lane whose counts follow one another, where they lie. */
export interface RaisedRun {
  readonly producer: ProducerEntry;
  readonly lane: Lane;
  readonly sync: boolean;
  /** Count of the first event; those of the others follow it. */
  readonly raised: number;
  readonly events: EventBytes[];
}

/**
 * Gathers what was raised and somebody elsewhere wants into runs, one for each producer as long as a message is open, and
 * runs into messages. Each producer's events keep their order and their counts: after a gap, where events were dropped, begins a new run.
 * A synchronous event is a run of its own.
 */
export function* outgoingRuns(
  records: readonly RingRecord[],
  producerOf: (endpoint: number) => ProducerEntry | undefined,
): Generator<OutgoingMessage> {
  for (const runs of gather(records, producerOf, true, MESSAGE_BYTES, Number.POSITIVE_INFINITY))
    yield closeMessage(runs);
}

/** Gathers what nobody elsewhere wants as `outgoingRuns` does, but leaves it where it lies. */
export function* quietRuns(
  records: readonly RingRecord[],
  producerOf: (endpoint: number) => ProducerEntry | undefined,
): Generator<RaisedRun> {
  for (const runs of gather(records, producerOf, false, QUIET_BYTES, QUIET_EVENTS)) {
    for (const run of runs) {
      run.lane.raised = run.raised + run.events.length - 1;
      yield run;
    }
  }
}

function* gather(
  records: readonly RingRecord[],
  producerOf: (endpoint: number) => ProducerEntry | undefined,
  wanted: boolean,
  limitBytes: number,
  limitEvents: number,
): Generator<RaisedRun[]> {
  let runs: RaisedRun[] = [];
  let newest = new Map<Lane, RaisedRun>();
  let bytes = 0;
  let events = 0;
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
    if (bytes >= limitBytes || ++events === limitEvents) {
      yield runs;
      runs = [];
      newest = new Map();
      bytes = 0;
      events = 0;
    }
  }
  if (runs.length > 0) yield runs;
}

/** The header of a run, under the numbers of the present connection. */
export function headerOf({ producer, lane, sync, raised }: RaisedRun): RunHeader {
  const { channelNumber, number, token } = producer;
  const flags = (sync ? FLAG_SYNC : 0) | (lane.urgent ? FLAG_URGENT : 0);
  return { channel: channelNumber, producer: number, raised, token, parameters: 0, flags };
}

function closeMessage(runs: readonly RaisedRun[]): OutgoingMessage {
  let size = 0;
  for (const { events } of runs) size += measureRun(events);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const made = runs.map(run => {
    const { producer, lane, raised, events } = run;
    const start = at;
    at = writeRun(bytes, view, at, headerOf(run), events);
    lane.raised = raised + events.length - 1;
    return { producer, lane, frame: EventsFrame.at(bytes, start, view) };
  });
  return { bytes, runs: made };
}
