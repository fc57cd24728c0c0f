import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { newConsumer } from "../src/concentrator/entry.ts";
import { Lanes } from "../src/concentrator/lane.ts";
import { Reception } from "../src/concentrator/reception.ts";
import type { SynchronousEvents } from "../src/concentrator/synchronous.ts";

const MEBIBYTE = 1 << 20;
const never = () => expect.unreachable();

test("HIST-2: what is raised here while a consumer is sent the past waits within a bound, however unequal the runs are", () => {
  const received: number[] = [];
  let missing = 0;
  const reception = new Reception(
    {
      receive: (_, frame) => received.push(frame.end - frame.start),
      notify: notice => {
        if (notice.is === "missing") missing += notice.events;
      },
    },
    {} as SynchronousEvents,
    { onTaken: never, onMissing: never, onHandled: never },
  );
  const entry = newConsumer({
    endpoint: 1,
    channel: "a",
    schema: new Uint8Array(0),
    modulator: undefined,
    queue: { whenFull: 0, limitBytes: 0 },
    label: "",
    as: "",
    from: undefined,
  });
  entry.channelNumber = 3;
  entry.replay = 4;
  reception.enter(entry);
  const lane = new Lanes().usual;
  entry.tracker.place(lane.source, 0);
  const sizes = [...Array(100).fill(1000), ...Array(40).fill(MEBIBYTE)];
  for (const [i, size] of sizes.entries()) {
    const header = { channel: 3, producer: 1, raised: i + 1, token: 0n, parameters: 0, flags: 0 };
    const event = { bytes: new Uint8Array(size), start: 0, end: size };
    reception.raised(EventsFrame.at(encodeRun(header, [event])), lane);
  }
  reception.replayed(entry);
  expect(received.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(16 * MEBIBYTE);
  expect(received).toHaveLength(15);
  expect(missing).toBe(sizes.length - 15);
});
