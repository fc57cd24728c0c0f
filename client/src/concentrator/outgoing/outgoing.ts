import {
  FLAG_SYNC,
  FLAG_URGENT,
  measureRun,
  type Room,
  type RunHeader,
  type Stretch,
  writeRun,
} from "@jecho/shared/internal";
import type { RingRecord } from "../../queues/ring.ts";
import type { PortEnd, ProducerEndpoint } from "../endpoints/endpoint.ts";
import type { Lane } from "./lane.ts";

/** Bytes of a run besides its events. */
const RUN_BYTES = measureRun([]) + 8;
/** Most bytes of a run per event besides the event itself: its end offset, and padding to 8. */
const EVENT_BYTES = 12;
const SINGLE_BYTES = RUN_BYTES + EVENT_BYTES;

/** Consecutive events of one lane, and the bytes that hold exactly these. */
export interface RaisedRun extends Stretch {
  readonly producer: ProducerEndpoint;
  readonly lane: Lane;
  readonly sync: boolean;
  /** Count of the first event. */
  readonly raised: number;
  /** Count of the newest event before it that was not dropped. */
  readonly behind: number;
  /** Offset of the run's frame in its message. */
  start: number;
}

/** A run to which more events may be added. Bounds behind its own events belong to others. */
interface OpenRun extends RaisedRun {
  readonly bounds: number[];
  end: number;
}

/** Frames that are sent by one write, of one channel or of many. */
export interface OutgoingMessage {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly runs: readonly RaisedRun[];
}

/** The reader's side of a session's queue of events. */
export interface RaisedQueue {
  readonly port: PortEnd;
  /** Whether its events are urgent: sent first and counted separately. */
  readonly isUrgent: boolean;
}

/**
 * Takes the first of the offered records of a queue, and returns their number; the others are offered again.
 * Records in a ring are valid until it returns.
 */
export type TakeRecords = (records: readonly RingRecord[], queue: RaisedQueue) => number;

/** Events that were raised and wait to be sent. */
export interface RaisedEvents {
  /** Whether there are none. */
  isEmpty(): boolean;
  /** Offers all records, queue by queue, each producer's in order. */
  drain(take: TakeRecords): void;
  /** Has the concentrator drain them at the end of the turn. */
  drainSoon(): void;
}

/** Takes runs in each producer's order. Their events are valid until the call returns. */
export interface RunTaker {
  /** Size of the largest message that the gateway takes. */
  readonly mostBytes: number;
  /** Whether more may be sent. */
  hasRoom(): boolean;
  /** Memory for messages. */
  readonly room: Room;
  /** Sends runs that remote consumers want. */
  send(message: OutgoingMessage): void;
  /** Keeps a run in this process that no remote consumer wants. */
  keep(run: RaisedRun): void;
  /** This event is too large for the gateway. */
  refuse(producer: ProducerEndpoint, lane: Lane, event: RingRecord): void;
  /** The lane's events up to this one that did not come were dropped. */
  skip(producer: ProducerEndpoint, lane: Lane, raised: number): void;
}

/** Size at which a message is closed; a single event may be larger. */
export const MESSAGE_BYTES = 256 * 1024;
/** Most events and bytes of a run for this process only: a modulator's output is limited per run. */
const QUIET_BYTES = 4 << 20;
const QUIET_EVENTS = 32_768;

/**
 * Gathers raised events into runs, one for each lane while a message is open, and runs that are wanted elsewhere into messages. Each
 * lane's events keep their order and counts: behind a gap, where events were dropped, a new run begins. A synchronous event is a run
 * of its own.
 *
 * @returns how many were taken, as long as there is room
 */
export function gatherRuns(
  records: readonly RingRecord[],
  { port, isUrgent }: RaisedQueue,
  taker: RunTaker,
): number {
  const { mostBytes } = taker;
  const wanted = new OpenRuns();
  const quiet = new OpenRuns();
  // Most events have the same lane as the one before.
  let number = -1;
  let producer: ProducerEndpoint | undefined;
  let taken = 0;
  for (const record of records) {
    taken++;
    if (record.endpoint !== number) {
      number = record.endpoint;
      const found = port.endpoints.get(number);
      producer = found?.is === "producer" ? found : undefined;
    }
    if (producer === undefined) continue;
    if (record.isPosition) {
      send(wanted.close(), taker);
      keep(quiet.close(), taker);
      taker.skip(producer, producer.usual, record.raised);
      continue;
    }
    const lane = isUrgent ? producer.lanes.urgent : producer.usual;
    const size = SINGLE_BYTES + record.end - record.start;
    if (producer.elsewhere > 0 && size <= mostBytes) {
      if (wanted.size + size > mostBytes) send(wanted.close(), taker);
      wanted.add(producer, lane, record);
      if (wanted.bytes < MESSAGE_BYTES) continue;
      send(wanted.close(), taker);
      if (!taker.hasRoom()) break;
    } else if (producer.elsewhere > 0) {
      // A lane's events keep their order.
      send(wanted.close(), taker);
      taker.refuse(producer, lane, record);
    } else {
      quiet.add(producer, lane, record);
      if (quiet.bytes >= QUIET_BYTES || quiet.events === QUIET_EVENTS) keep(quiet.close(), taker);
    }
  }
  send(wanted.close(), taker);
  keep(quiet.close(), taker);
  return taken;
}

function send(runs: readonly OpenRun[], taker: RunTaker): void {
  if (runs.length === 0) return;
  taker.send(messageOf(runs, taker));
  reuse(runs);
}

function keep(runs: readonly OpenRun[], taker: RunTaker): void {
  for (const run of runs) {
    run.lane.raised = run.raised + run.end - 1;
    taker.keep(run);
  }
  reuse(runs);
}

/** Bounds of long runs, for reuse: growing new ones for each run takes as long as gathering it. */
const spare: number[][] = [];
const SPARE_RUNS = 4;
const LONG_EVENTS = 32;

function reuse(runs: readonly OpenRun[]): void {
  for (const { bounds } of runs) {
    if (spare.length === SPARE_RUNS) return;
    if (bounds.length >= 2 * LONG_EVENTS) spare.push(bounds);
  }
}

function boundsOf(start: number, end: number): number[] {
  const bounds = spare.pop();
  if (bounds === undefined) return [start, end];
  bounds[0] = start;
  bounds[1] = end;
  return bounds;
}

let nextGathering = 1;

/** Runs to which more events may be added. */
class OpenRuns {
  bytes = 0;
  events = 0;
  /** Most bytes that they need as a message. */
  size = 0;
  #runs: OpenRun[] = [];
  /** A lane says which run of which gathering is its newest: nothing has to be looked up. */
  #gathering = nextGathering++;

  add(producer: ProducerEndpoint, lane: Lane, record: RingRecord): void {
    const { bytes, sync, raised, start, end } = record;
    const run = lane.gathering === this.#gathering ? this.#runs[lane.newestRun] : undefined;
    const isNext =
      run !== undefined && !sync && !run.sync && raised === run.raised + run.end && bytes === run.bytes;
    if (!isNext) {
      lane.gathering = this.#gathering;
      lane.newestRun = this.#runs.length;
      this.#runs.push({
        producer,
        lane,
        sync,
        raised,
        behind: run === undefined ? lane.raised : run.raised + run.end - 1,
        bytes,
        bounds: boundsOf(start, end),
        first: 0,
        end: 1,
        start: 0,
      });
      this.bytes += RUN_BYTES;
      this.size += RUN_BYTES;
    } else {
      run.bounds[2 * run.end] = start;
      run.bounds[2 * run.end + 1] = end;
      run.end++;
    }
    this.bytes += end - start;
    this.size += EVENT_BYTES + end - start;
    this.events++;
  }

  close(): OpenRun[] {
    const runs = this.#runs;
    if (runs.length === 0) return runs;
    this.#runs = [];
    this.#gathering = nextGathering++;
    this.bytes = 0;
    this.events = 0;
    this.size = 0;
    return runs;
  }
}

/** The header of a run, under the numbers of the present connection. */
export function headerOf({ producer, lane, sync, raised }: RaisedRun): RunHeader {
  const { channelNumber, number, token } = producer;
  const flags = (sync ? FLAG_SYNC : 0) | (lane.urgent ? FLAG_URGENT : 0);
  return { channel: channelNumber, producer: number, raised, token, parameters: 0, flags };
}

function messageOf(runs: readonly RaisedRun[], taker: RunTaker): OutgoingMessage {
  let size = 0;
  for (const run of runs) size += measureRun([run]);
  const bytes = taker.room(size);
  const view = new DataView(bytes.buffer, 0, size);
  let at = 0;
  for (const run of runs) {
    run.start = at;
    at = writeRun(bytes, view, at, headerOf(run), [run]);
    run.lane.raised = run.raised + run.end - 1;
  }
  return { bytes, view, runs };
}
