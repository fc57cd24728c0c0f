import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { startRig } from "./rig.ts";

test("CON-3, CON-4: a client that hears nothing any more gives the connection up, and is live again when it is heard", async () => {
  await using rig = await startRig({ heartbeatMs: 200 });
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, {
    place: inject("place"),
    backoff: { firstMs: 20, mostMs: 100 },
  });
  const told = new Set<string | undefined>();
  session.onStatus(({ error }) => told.add(error?.code));
  await session.ready();
  // From here on the gateway hears nothing, and nothing says that the connection is broken.
  way.hold();
  await expect.poll(() => told).toContain("HEARTBEAT_MISSED");
  way.release();
  await expect.poll(() => session.status.state).toBe("live");
});

test("CON-3: a process that computes for several heartbeats keeps its connection: it did not listen meanwhile", async () => {
  await using rig = await startRig({ heartbeatMs: 200 });
  await using session = rig.session({ place: "here" });
  const told = new Set<string>();
  session.onStatus(({ state }) => told.add(state));
  await session.ready();
  for (let i = 0; i < 3; i++) {
    const until = performance.now() + 700;
    while (performance.now() < until);
    // Heartbeats that are due are looked at now.
    await new Promise(resolve => setTimeout(resolve));
  }
  expect([...told]).toEqual(["live"]);
});

test("CON-3: a clock that is set an hour forward or back ends no connection, and hides no silence", async () => {
  await using rig = await startRig({ heartbeatMs: 200 });
  await using way = await startCutter(rig.gateway.address);
  const backoff = { firstMs: 20, mostMs: 100 };
  await using steady = rig.session({ place: "here" });
  await using silent = connect(way.address, { place: "here", backoff });
  const states: string[] = [];
  let missed = 0;
  silent.onStatus(({ error }) => {
    if (error?.code === "HEARTBEAT_MISSED") missed++;
  });
  await steady.ready();
  steady.onStatus(({ state }) => states.push(state));
  const systemNow = Date.now;
  const clock = vi.spyOn(Date, "now");
  onTestFinished(() => clock.mockRestore());
  for (const hours of [1, -1]) {
    await expect.poll(() => silent.status.state).toBe("live");
    clock.mockImplementation(() => systemNow() + hours * 3_600_000);
    const before = missed;
    way.hold();
    // By then heartbeats have come and gone for the other one.
    await expect.poll(() => missed).toBeGreaterThan(before);
    way.release();
  }
  expect(states.filter(state => state !== "live")).toEqual([]);
});
