import { whyNoNats } from "@jecho/e2e/nats";
import { describe, expect, test } from "vitest";
import { MOST_WAITING_BYTES } from "../../src/cluster/trunk-carrier.ts";
import { byNats, type ClusterMaker, Joined, LIMIT_BYTES, listed } from "./joined.ts";

const withoutNats = await whyNoNats();

describe.each<[string, ClusterMaker, string | undefined]>([
  ["TCP", listed, undefined],
  ["NATS", byNats, withoutNats],
])("%s", (_, options, whyNot) => {
  async function start(count: number): Promise<Joined[]> {
    return Promise.all((await options(count)).map(one => Joined.open(one)));
  }

  test.skipIf(whyNot)("CLU-6: members hear of one another, each by an index of its own", async () => {
    const all = await start(3);
    for (const one of all) {
      const others = all.filter(other => other !== one).map(({ self }) => self);
      await expect.poll(() => [...one.members].sort()).toEqual(others.sort());
      expect(one.interconnect.identity).toBe(all[0]?.interconnect.identity);
      expect(one.interconnect.isMember).toBe(true);
    }
    const [gone, ...rest] = all as [Joined, Joined, Joined];
    await gone.interconnect.stop();
    for (const one of rest) await expect.poll(() => one.members.has(gone.self)).toBe(false);
    for (const one of rest) expect(one.members.size).toBe(1);
  });

  test.skipIf(whyNot)(
    "CLU-7: messages of all sizes come whole and in order, and begin at a multiple of 8",
    async () => {
      const [one, other] = (await start(2)) as [Joined, Joined];
      const { near, far } = await one.wayTo(other);
      const sizes = [1, 8, 100, 70_000, 3, LIMIT_BYTES, 5, 65_532, 65_536];
      for (const [i, size] of sizes.entries()) {
        const part = new Uint8Array(size).fill(i + 1);
        near.carrier.send([part.subarray(0, size >> 1), part.subarray(size >> 1)]);
        part.fill(0);
      }
      await expect.poll(() => far.messages.length).toBe(sizes.length);
      for (const [i, message] of far.messages.entries()) {
        expect(message.byteLength).toBe(sizes[i]);
        expect(message.byteOffset % 8).toBe(0);
        expect(message.every(byte => byte === i + 1)).toBe(true);
      }
      far.carrier.send([Uint8Array.of(7)]);
      await expect.poll(() => near.messages.map(message => [...message])).toEqual([[7]]);
    },
  );

  test.skipIf(whyNot)("CLU-7: when one side ends it, both hear of that, and it is opened again", async () => {
    const [one, other] = (await start(2)) as [Joined, Joined];
    const { near, far } = await one.wayTo(other);
    far.carrier.end();
    await expect.poll(() => near.hasEnded && far.hasEnded).toBe(true);
    const again = await one.wayTo(other);
    again.near.carrier.send([Uint8Array.of(1)]);
    await expect.poll(() => again.far.messages.length).toBe(1);
  });

  test.skipIf(whyNot)(
    "CLU-7: what is sent faster than it goes out waits, and whoever sends it hears when that has gone",
    async () => {
      const [one, other] = (await start(2)) as [Joined, Joined];
      const { near, far } = await one.wayTo(other);
      const message = new Uint8Array(LIMIT_BYTES);
      for (let i = 0; i < 8; i++) near.carrier.send([message]);
      expect(near.carrier.waitingBytes).toBeGreaterThan(LIMIT_BYTES);
      await expect.poll(() => near.drained).toBeGreaterThan(0);
      expect(near.carrier.waitingBytes).toBe(0);
      await expect.poll(() => far.messages.length).toBe(8);
    },
  );

  test.skipIf(whyNot)("CLU-7: what was sent before a gateway stops comes all the same", async () => {
    const [one, other] = (await start(2)) as [Joined, Joined];
    const { near, far } = await one.wayTo(other);
    const message = new Uint8Array(LIMIT_BYTES);
    for (let i = 0; i < 4; i++) near.carrier.send([message]);
    // A message that comes meanwhile is in nobody's way.
    far.carrier.send([message]);
    await one.interconnect.stop();
    await expect.poll(() => far.hasEnded).toBe(true);
    expect(far.messages.length).toBe(4);
  });

  test.skipIf(whyNot)("CLU-7: where more waits than may, the carrier ends", async () => {
    const [one, other] = (await start(2)) as [Joined, Joined];
    const { near, far } = await one.wayTo(other);
    const message = new Uint8Array(LIMIT_BYTES);
    for (let i = 0; i <= MOST_WAITING_BYTES / LIMIT_BYTES + 1; i++) near.carrier.send([message]);
    await expect.poll(() => near.hasEnded && far.hasEnded).toBe(true);
    await one.wayTo(other);
  });
});
