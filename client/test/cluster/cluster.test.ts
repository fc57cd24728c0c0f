import { connect, type Session } from "@jecho/client";
import type { Gateway } from "@jecho/server";
import { expect, inject, onTestFinished, test } from "vitest";
import { Inbox, PATIENT, Tick } from "../rig.ts";
import { startCluster } from "./rig.ts";

const QUICK = { place: inject("place"), backoff: { firstMs: 10, mostMs: 50 } };

function session(gateway: Gateway, name: string): Session {
  const opened = connect(gateway.address, {
    ...QUICK,
    name,
    modulators: { limits: PATIENT.limits },
  });
  onTestFinished(() => opened.close());
  return opened;
}

/** Names of channels: some of them have their homes at each of a few gateways. */
const NAMES = Array.from({ length: 12 }, (_, i) => `sim/${i}`);

test("CLU-1: whichever gateways producers and consumers are connected to, each event comes once and in order", async () => {
  const gateways = await startCluster(3);
  const producing = gateways.map((gateway, i) => session(gateway, `producing ${i}`));
  const consuming = gateways.map((gateway, i) => session(gateway, `consuming ${i}`));
  await Promise.all(
    NAMES.map(async (name, i) => {
      const producer = await (producing[i % 3] as Session).channel(name, Tick).produce();
      const inboxes = await Promise.all(
        consuming.map(async one => {
          const inbox = new Inbox<number>();
          await one.channel(name, Tick).subscribe(({ n }) => inbox.put(n));
          return inbox;
        }),
      );
      await expect.poll(() => producer.demand.total).toBe(3);
      for (let n = 1; n <= 500; n++) await producer.publishWhenReady({ n, note: name });
      const all = Array.from({ length: 500 }, (_, n) => n + 1);
      for (const inbox of inboxes) expect(await inbox.take(500)).toEqual(all);
    }),
  );
  await Promise.all(producing.map(one => one.flush()));
});
