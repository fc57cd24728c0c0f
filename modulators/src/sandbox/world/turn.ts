import { OUTBOX, PROCEED, soundPeriod } from "../sandbox.ts";
import { type Chunk, closeChunk, eventOf, type Located, locateOutput, passed } from "./events.ts";
import { describe, refusePromise } from "./failing.ts";
import type { Memory } from "./memory.ts";
import {
  DOOR,
  endTurn,
  expect,
  isFirstOut,
  isFull,
  isUrgent,
  keepPassed,
  type Modulator,
  trim,
  waitingOf,
  waitingSince,
  world,
} from "./moe.ts";
import { present } from "./objects.ts";
import { emptyOutbox, outWords, putHeld, putOrHold } from "./outbox.ts";
import { Words } from "./primordials.ts";
import { counts, waitingCalls } from "./services.ts";

/*
 * One turn of the modulator: it is given a run's events one by one, and its output goes to the outbox.
 */

/** Views to write a float64 as two words. */
const rate = new Float64Array(1);
const rateWords = new Words(rate.buffer);

const blank = () => ({
  modulator: undefined as unknown as Modulator,
  /** The present run. */
  chunk: undefined as Chunk | undefined,
});
let { modulator, chunk } = blank();

export { modulator };

export const turnMemory: Memory<ReturnType<typeof blank>> = {
  blank,
  leave: () => ({ modulator, chunk }),
  enter: memory => {
    ({ modulator, chunk } = memory);
  },
};

export function setModulator(made: Modulator): void {
  modulator = made;
}

/** @param run undefined for no events */
export function begin(run: Chunk | undefined): void {
  chunk = run;
  if (run === undefined) return;
  const { bounds } = run.at;
  expect(run.count, (bounds[2 * run.count - 1] as number) - (bounds[0] as number));
}

/** Goes on until all events were given, or the outbox is full. */
export function proceed(ready: boolean): number | string {
  try {
    emptyOutbox();
    const isAsked = ready || world.isAsked;
    const done = advance(isAsked);
    if (done) {
      endTurn(isAsked);
      trim(waitingOf(modulator));
    }
    outWords[OUTBOX.dropped] = world.dropped;
    counts.dropped += world.dropped;
    world.dropped = 0;
    if (!done) return PROCEED.more;
    closeChunk();
    chunk = undefined;
    finish();
    return PROCEED.done;
  } catch (thrown) {
    return describe("MODULATOR_FAILED", thrown);
  }
}

/** Writes the words that the host reads after each call. */
export function finish(): void {
  outWords[OUTBOX.periodMs] = periodOf(modulator);
  rate[0] = rateOf(modulator);
  outWords[OUTBOX.mostPerSecond] = rateWords[0] as number;
  outWords[OUTBOX.mostPerSecond + 1] = rateWords[1] as number;
  outWords[OUTBOX.calls] = waitingCalls();
  outWords[OUTBOX.waiting] = waitingSince(modulator);
}

function periodOf({ periodMs = 0 }: Modulator): number {
  if (typeof periodMs !== "number" || !(periodMs >= 0)) {
    throw new TypeError("periodMs is a number of milliseconds from 0");
  }
  return soundPeriod(periodMs);
}

/** @returns 0 for every event */
function rateOf({ mostPerSecond = 0 }: Modulator): number {
  if (typeof mostPerSecond !== "number" || !(mostPerSecond >= 0)) {
    throw new TypeError("mostPerSecond is a number of events a second from 0, which stands for every event");
  }
  return mostPerSecond < Infinity ? mostPerSecond : 0;
}

/** @param ready whether the modulator is asked for its output. @returns false where the outbox is full */
function advance(ready: boolean): boolean {
  if (ready && !drain()) return false;
  if (chunk !== undefined) {
    const its = chunk;
    const isDone = give(its, modulator, ready);
    const given = its.at.index + 1;
    counts.enqueued += given - its.counted;
    its.counted = given;
    if (!isDone || (its.leaving !== its.count && !leave(its, its.count))) return false;
  }
  // One call may have made more than may wait.
  if (ready || !isFull(waitingOf(modulator))) return true;
  world.isAsked = true;
  return drain();
}

/**
 * Gives the modulator its events. What is done once per run is elsewhere: engines inline calls into a loop up to some size, and reading fields
 * is inlined last.
 *
 * @returns false where the outbox is full
 */
function give(its: Chunk, own: Modulator, ready: boolean): boolean {
  const { count } = its;
  const waiting = waitingOf(own);
  /** Whether an event that is let through may leave at once: not where the modulator takes from another queue than its own. */
  let mayPass = waiting !== undefined && ready && isFirstOut(own);
  for (let i = its.counted; i < count; i++) {
    const event = eventOf(its, i);
    // Set for each event: a rejected one leaves it unchanged.
    if (waiting !== undefined) waiting.door = mayPass ? DOOR.open : DOOR.shut;
    const result = own.enqueue(event) as unknown;
    if (result !== undefined) refusePromise(result, "enqueue");
    if (!ready) continue;
    // The modulator's `dequeue` may be another one now.
    const isPlain = waiting !== undefined && isFirstOut(own);
    if (isPlain && waiting.door === DOOR.passed && !world.hasUrgent) {
      waiting.door = DOOR.shut;
      if (its.leaving > i) its.leaving = i;
      continue;
    }
    if (its.leaving < i && !leave(its, i)) return false;
    if (isPlain && waiting.door === DOOR.open) continue;
    if (waiting !== undefined) keepPassed(waiting);
    if (!drain()) return false;
    mayPass = waiting !== undefined && isFirstOut(own) && waiting.first === waiting.next;
  }
  return true;
}

/** Has the events before `end` that were let through leave unchanged. @returns false where the outbox is full */
function leave(its: Chunk, end: number): boolean {
  const { bytes, bounds, type } = its.at;
  const index = its.leaving;
  counts.dequeued += end - index;
  its.leaving = its.count;
  return putOrHold({ bytes, bounds, index, type }, end, present.versions, false);
}

/** @returns false where the outbox is full */
function drain(): boolean {
  if (!putHeld()) return false;
  for (;;) {
    world.dequeuedVersions = present.versions;
    const event = modulator.dequeue();
    if (event === undefined) return true;
    const at = passed(event) ?? locateDequeued(event);
    counts.dequeued++;
    if (!putOrHold(at, at.index + 1, world.dequeuedVersions, isUrgent(event))) return false;
  }
}

function locateDequeued(event: unknown): Located {
  if (typeof event !== "object" || event === null)
    throw new TypeError("dequeue returns an event or undefined");
  refusePromise(event, "dequeue");
  return locateOutput(event);
}
