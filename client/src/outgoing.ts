import { type EventBytes, type EventsFrame, measureRun, parseFrame, writeRun } from "@jecho/shared/internal";
import type { ProducerEntry } from "./entries.ts";
import type { Ring, RingRecord } from "./ring.ts";

/** Frames that go out together: one write for many events, of one channel or of many. */
export interface OutgoingMessage {
  readonly bytes: Uint8Array;
  readonly runs: readonly { readonly producer: ProducerEntry; readonly frame: EventsFrame }[];
  /** Does somebody elsewhere listen to the channels themselves? */
  readonly wanted: boolean;
}

/** A message is closed when it has grown to this size; a single event may be larger. */
const MESSAGE_BYTES = 256 * 1024;

interface Run {
  readonly producer: ProducerEntry;
  readonly events: EventBytes[];
  bytes: number;
}

/**
 * Gathers what was raised into runs, one for each producer as long as a message is open, and runs into messages.
 * Each producer's events keep their order. Runs that only this process wants travel in messages of their own.
 */
export function* outgoingRuns(
  ring: Ring,
  records: readonly RingRecord[],
  producerOf: (endpoint: number) => ProducerEntry | undefined,
): Generator<OutgoingMessage> {
  for (const wanted of [true, false]) {
    let open = new Map<ProducerEntry, Run>();
    let bytes = 0;
    for (const { endpoint, start, end } of records) {
      const producer = producerOf(endpoint);
      if (producer === undefined || producer.elsewhere > 0 !== wanted) continue;
      let run = open.get(producer);
      if (run === undefined) {
        run = { producer, events: [], bytes: 0 };
        open.set(producer, run);
      }
      run.events.push({ bytes: ring.bytes, start, end });
      bytes += end - start;
      if (bytes >= MESSAGE_BYTES) {
        yield closeMessage([...open.values()], wanted);
        open = new Map();
        bytes = 0;
      }
    }
    if (open.size > 0) yield closeMessage([...open.values()], wanted);
  }
}

function closeMessage(runs: readonly Run[], wanted: boolean): OutgoingMessage {
  let size = 0;
  for (const run of runs) {
    run.bytes = measureRun(run.events);
    size += run.bytes;
  }
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const made = runs.map(({ producer, events }) => {
    const { channelNumber, number, raised, token } = producer;
    const start = at;
    at = writeRun(
      bytes,
      view,
      at,
      { channel: channelNumber, producer: number, raised, token, parameters: 0, flags: 0 },
      events,
    );
    producer.raised += events.length;
    const frame = parseFrame(view, bytes, start, at);
    return { producer, frame: frame as EventsFrame };
  });
  return { bytes, runs: made, wanted };
}
