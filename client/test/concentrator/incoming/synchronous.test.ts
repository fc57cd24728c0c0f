import type { EventsFrame } from "@jecho/shared/internal";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { ConsumerEndpoint } from "../../../src/concentrator/endpoints/endpoint.ts";
import { SynchronousEvents } from "../../../src/concentrator/incoming/synchronous.ts";

const OLD = 5;
const PRODUCER = 1;
const RAISED = 7;
const DONE = { consumers: 1, failed: 0, message: "", missing: 0 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Two consumers of a channel are at an event, and the first one has another modulator from now on. */
function startLeaving() {
  const [leaves, stays] = [{ id: 2 }, { id: 3 }] as [ConsumerEndpoint, ConsumerEndpoint];
  const handled = vi.fn();
  const left = vi.fn();
  const synchronous = new SynchronousEvents();
  const frame = { channel: OLD, producer: PRODUCER, raised: RAISED, count: 1 } as EventsFrame;
  synchronous.deliver(frame, [leaves, stays], handled);
  synchronous.whenDone(leaves, OLD, left);
  const end = (consumer: ConsumerEndpoint) => synchronous.handled(consumer, OLD, PRODUCER, RAISED, DONE);
  return { synchronous, leaves, stays, handled, left, end };
}

test("SYNC-3: a handler of the old pair that does not end keeps its modulator for 30 s, and is not waited for then", () => {
  const { leaves, stays, handled, left, end } = startLeaving();
  vi.advanceTimersByTime(29_999);
  expect(left).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(left).toHaveBeenCalledOnce();
  // The one beside it is waited for; what the other still comes to is nothing to anybody.
  expect(handled).not.toHaveBeenCalled();
  end(leaves);
  end(stays);
  expect(handled).toHaveBeenCalledExactlyOnceWith(DONE, 0);
  expect(left).toHaveBeenCalledOnce();
});

test.each(["ends", "is closed", "loses its connection"])(
  "SYNC-3: nothing is left to wait for where the old pair's consumer %s",
  how => {
    const { synchronous, leaves, left, end } = startLeaving();
    if (how === "ends") end(leaves);
    else if (how === "is closed") synchronous.left(leaves);
    else synchronous.clear();
    expect(vi.getTimerCount()).toBe(0);
    expect(left).toHaveBeenCalledTimes(how === "loses its connection" ? 0 : 1);
  },
);
