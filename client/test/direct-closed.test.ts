import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { EVEN, Inbox, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { backoff: { firstMs: 20, mostMs: 100 }, onError() {} };

test("DEL-12, CHAN-9: what a closed producer published while nobody derived the channel is told to its consumers when they are back", async () => {
  await using rig = await startRig();
  const { port, address } = rig.gateway;
  await using way = await startCutter(address);
  const viewer = connect(way.address, QUICK);
  const [seen, behind] = [new Inbox<number>(), new Inbox<number>()];
  await rig.session().channel("a", Tick).produce();
  const evens = await viewer
    .channel("a", Tick)
    .subscribe(({ n }) => seen.put(n), { modulator: EVEN, as: "evens" });
  const twice = await viewer
    .channel("a#evens", Tick)
    .subscribe(({ n }) => behind.put(n), { modulator: EVEN });
  const session = rig.session();
  const direct = await session.channel("a#evens", Tick).produce();
  direct.publish({ n: 2, note: "" });
  expect([await seen.take(1), await behind.take(1)]).toEqual([[2], [2]]);
  const away = Promise.all([viewer, session].map(one => whenState(one, "reconnecting")));
  way.part();
  await rig.gateway.close();
  await away;
  await using _again = await startRig({ port });
  await whenState(session, "live");
  for (const n of [4, 6, 8]) direct.publish({ n, note: "" });
  await direct.close();
  await session.flush();
  way.join();
  await Promise.all([evens, twice].map(one => whenState(one, "live")));
  await expect.poll(() => [evens.stats.missed, twice.stats.missed]).toEqual([3, 3]);
  await viewer.close();
});
