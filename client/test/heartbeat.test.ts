import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, inject, test } from "vitest";
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
