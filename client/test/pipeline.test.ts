import { type } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig } from "./rig.ts";

const Block = type("Block", { n: "uint32", payload: "uint8[]" });
const PAYLOAD = new Uint8Array(16 * 1024);
/** More than the queues and sockets' buffers between source and end can hold: a buffer may grow to 32 MiB. */
const MOST_EVENTS = 40_000;
const QUEUE_BYTES = 1 << 20;

test("SLOW-1: back-pressure travels up a pipeline: its slowest end holds the source back, and nothing is lost or reordered", async () => {
  await using rig = await startRig();
  const queue = { whenFull: "block", limitBytes: QUEUE_BYTES } as const;
  const raising = { queue: { bytes: QUEUE_BYTES, whenFull: "block" } } as const;
  // The end takes events one by one, and none before it is let.
  let open = (): void => {};
  const gate = new Promise<void>(resolve => {
    open = resolve;
  });
  const seen = new Inbox<number>();
  await rig
    .session()
    .channel("third", Block)
    .subscribe(
      async ({ n }) => {
        await gate;
        seen.put(n);
      },
      { queue, inboxEvents: 16 },
    );
  // Two stages: each consumes one channel and produces the next.
  for (const [from, to] of [
    ["second", "third"],
    ["first", "second"],
  ] as const) {
    const session = rig.session();
    const out = await session.channel(to, Block).produce(raising);
    await session
      .channel(from, Block)
      .subscribe(event => out.publishWhenReady({ n: event.n, payload: event.payload }), {
        queue,
        inboxEvents: 16,
      });
  }
  const source = await rig.session().channel("first", Block).produce(raising);
  await expect.poll(() => source.demand.total).toBe(1);
  let raised = 0;
  let isHeld = false;
  const all = (async () => {
    while (!isHeld && raised < MOST_EVENTS) {
      await source.publishWhenReady({ n: raised, payload: PAYLOAD });
      raised++;
    }
  })();
  // The source comes to a stand: what is between source and end is bounded.
  let before = -1;
  await expect
    .poll(
      () => {
        const isStill = raised === before && raised > 0;
        before = raised;
        return isStill;
      },
      { interval: 500 },
    )
    .toBe(true);
  expect(raised).toBeLessThan(MOST_EVENTS);
  isHeld = true;
  open();
  await all;
  expect(await seen.take(raised)).toEqual(Array.from({ length: raised }, (_, n) => n));
});
