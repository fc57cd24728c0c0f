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
  sources: [],
  notice: "",
  noticeBy: "",
  noticeTime: 0,
  firstStep: 0,
  watchers: [],
};

/** A simulation that says of each of these steps that it was made. */
async function simulate(
  session: Session,
  feed: StatusFeed,
  steps: readonly number[],
  firstStep = 0,
): Promise<void> {
  const status = await session.channel(CHANNELS.status, Status).produce();
  await expect.poll(() => status.demand.total).toBe(1);
  for (const step of steps) {
    status.publish({ ...STATUS, step, firstStep });
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

test("of a simulation that goes on from a checkpoint those steps count that it has made since", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address, { place: "here" });
  const feed = new StatusFeed(session, "", undefined);
  try {
    await simulate(session, feed, [40, 41, 43]);
    await simulate(session, feed, [42, 43], 41);
    expect(feed.current.restartedAt).toBeGreaterThan(0);
    expect(feed.current.producedBytes).toBe(5000);
  } finally {
    feed.close();
  }
});

test("steps that were made before somebody listened are not counted, though the last word from then was kept", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address, { place: "here" });
  const status = await session.channel(CHANNELS.status, Status).produce({ history: { latest: true } });
  status.publish({ ...STATUS, step: 10, madeAt: 1000 });
  await session.flush();
  const feed = new StatusFeed(session, "", undefined);
  try {
    await expect.poll(() => feed.current.simulation?.step).toBe(10);
    status.publish({ ...STATUS, step: 5010, madeAt: 1000 + 1e12 });
    await expect.poll(() => feed.current.simulation?.step).toBe(5010);
    expect(feed.current.producedBytes).toBe(0);
    status.publish({ ...STATUS, step: 5012, madeAt: 1000 + 1e12 });
    await expect.poll(() => feed.current.simulation?.step).toBe(5012);
    expect(feed.current.producedBytes).toBe(2000);
  } finally {
    feed.close();
  }
});
