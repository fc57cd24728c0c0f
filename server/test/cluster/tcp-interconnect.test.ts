import { once } from "node:events";
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import { Joined, listed, SECRET } from "./joined.ts";

test("who does not know the secret is not let in, and the operator hears of it", async () => {
  const options = await listed(2, [SECRET, "another secret altogether"]);
  const all = await Promise.all(options.map(one => Joined.open(one)));
  await expect.poll(() => all.flatMap(({ lines }) => lines).length).toBeGreaterThan(0);
  expect(all.flatMap(({ lines }) => lines)[0]).toContain("does not belong to this cluster");
  for (const { members, opened, accepted } of all)
    expect([members.size, opened.size, accepted.length]).toEqual([0, 0, 0]);
});

test("CLU-10: gateways join where all of them keep histories in files, or none of them does", async () => {
  const options = await listed(3);
  const all = await Promise.all(options.map((one, i) => Joined.open(one as typeof one & object, i < 2)));
  await expect.poll(() => all.map(({ members }) => members.size)).toEqual([1, 1, 0]);
  await expect.poll(() => all[2]?.lines.length).toBeGreaterThan(0);
  expect(all.map(({ interconnect }) => interconnect.homes)).toEqual([3, 3, undefined]);
});

test("a stranger who says what is no greeting, or too long a one, is cut off", async () => {
  const [options] = await listed(2);
  await Joined.open(options as typeof options & object);
  const port = Number(options?.self.split(":")[1]);
  for (const words of [Buffer.from("\x05\0\0\0hello"), Buffer.from([0xff, 0xff, 0xff, 0x0f])]) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    const closed = once(socket, "close");
    socket.resume();
    socket.write(words);
    await closed;
  }
});

test("CLU-6: a gateway that comes knows at once who is there, and is known there: nobody waits until he looks for it again", async () => {
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const first = await Joined.open(one);
  expect(first.members.size).toBe(0);
  const second = await Joined.open(other);
  expect([...second.members]).toEqual([first.self]);
  await expect.poll(() => [...first.members]).toEqual([second.self]);
});
