import { connect, type Session } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { CHANNELS, Status } from "../../src/types.ts";
import { StatusFeed } from "../../viewer/src/status-feed.ts";

const STATUS: Status = {
  step: 0,
  time: 0,
  madeAt: 0,
  month: 0,
  speed: 1,
  paused: false,
  layers: 37,
  rows: 73,
  columns: 144,
  bytesPerStep: 1000,
  viewers: 0,
  sources: 0,
  notice: "",
};

/** A simulation that says of each of these steps that it was made. */
async function simulate(session: Session, feed: StatusFeed, steps: readonly number[]): Promise<void> {
  const status = await session.channel(CHANNELS.status, Status).produce();
  await expect.poll(() => status.demand.total).toBe(1);
  for (const step of steps) {
    status.publish({ ...STATUS, step });
    await expect.poll(() => feed.current.simulation?.step).toBe(step);
  }
  await status.close();
}

test("a simulation that counts from the beginning began anew: when is known, and bytes are counted on", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address, { place: "here" });
  const feed = new StatusFeed(session, "", undefined);
  try {
    await simulate(session, feed, [40, 41, 43]);
    expect(feed.current).toMatchObject({ restartedAt: 0, producedBytes: 3000 });
    const before = Date.now();
    await simulate(session, feed, [2, 3]);
    expect(feed.current.restartedAt).toBeGreaterThanOrEqual(before);
    expect(feed.current.producedBytes).toBe(6000);
  } finally {
    feed.close();
  }
});
