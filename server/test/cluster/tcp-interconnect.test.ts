import { createHmac } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { inStream } from "../../src/cluster/message-stream.ts";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import { FINISH_MS } from "../../src/cluster/trunk-carrier.ts";
import { Joined, listed, SECRET } from "./joined.ts";

type Listed = GatewayClusterOptions & { readonly self: string; readonly members: readonly string[] };

function portOf({ self }: Listed): number {
  return Number(self.split(":")[1]);
}

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

test("CLU-6: a gateway comes though another one of its list takes connections, and says nothing", async () => {
  const [one, other] = (await listed(2)) as [Listed, Listed];
  const silent = createServer().listen(portOf(other), "127.0.0.1");
  onTestFinished(() => void silent.close());
  await once(silent, "listening");
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const opening = Joined.open(one);
  await once(silent, "connection");
  vi.advanceTimersByTime(3000);
  expect((await opening).members.size).toBe(0);
});

test.for<[what: string, greeting: unknown]>([
  ["is nothing", null],
  ["has no proof", { version: 4, index: 1, nonce: "" }],
  ["has a length for a proof", { version: 4, index: 1, nonce: "", proof: { length: 100_000_000 } }],
  ["has a nonce that is none", { version: 4, index: 1, nonce: ["x"], proof: "" }],
  ["has a line of a log for an index", { version: 4, index: "x\n\u001b[31mERROR", nonce: "", proof: "" }],
])("a greeting that %s ends the connection, and nothing of it is logged", async ([, greeting]) => {
  const [one] = (await listed(2)) as [Listed, Listed];
  const { lines } = await Joined.open(one);
  const { socket } = await attach(one);
  const ended = once(socket, "end");
  socket.resume();
  socket.write(inStream([Buffer.from(JSON.stringify(greeting))]));
  await ended;
  expect(lines).toEqual([]);
});

test("CLU-7: gateways that stood still themselves do not take each other for dead", async () => {
  const options = await listed(2);
  const [one, other] = (await Promise.all(options.map(each => Joined.open(each)))) as [Joined, Joined];
  const { near, far } = await one.wayTo(other);
  // Longer than a silence may last.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3500);
  near.carrier.send([Uint8Array.of(1)]);
  await expect.poll(() => far.messages.length).toBe(1);
  expect([near.hasEnded, far.hasEnded]).toEqual([false, false]);
});

test("strangers fill nobody's log by proofs that are none", async () => {
  const [one] = (await listed(2)) as [Listed, Listed];
  const { lines } = await Joined.open(one);
  for (let i = 0; i < 20; i++) {
    const { socket } = await attach(one);
    const ended = once(socket, "end");
    socket.resume();
    const index = i % 2 === 0 ? 1 : 1000 + i;
    socket.write(inStream([Buffer.from(JSON.stringify({ version: 4, index, nonce: "", proof: "" }))]));
    await ended;
  }
  expect(lines).toHaveLength(2);
});

/** Connects as whoever does not close when the other side does. */
async function attach(to: Listed): Promise<{ socket: Socket; nonce: string }> {
  const socket = connect({ port: portOf(to), host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  const [greeting] = (await once(socket, "data")) as [Buffer];
  return { socket, nonce: (JSON.parse(greeting.subarray(4).toString()) as { nonce: string }).nonce };
}

test("CLU-7: a gateway stops at once though a stranger is there who says nothing", async () => {
  const [one] = (await listed(2)) as [Listed, Listed];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const joined = await Joined.open(one);
  await attach(one);
  await joined.interconnect.stop();
});

test("CLU-7: a gateway stops though another one lives, and takes nothing", async () => {
  const [one] = (await listed(2)) as [Listed, Listed];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const joined = await Joined.open(one);
  const { socket, nonce } = await attach(one);
  const proof = createHmac("sha256", SECRET)
    .update(JSON.stringify(["opens", nonce, "mine", 1, 0, one.members, undefined]))
    .digest("hex");
  const greeting = { version: 4, index: 1, nonce: "mine", proof };
  socket.write(inStream([Buffer.from(JSON.stringify(greeting))]));
  await expect.poll(() => joined.accepted.length).toBe(1);
  const beating = setInterval(() => socket.write(Buffer.alloc(4)), 100);
  onTestFinished(() => clearInterval(beating));
  socket.pause();
  joined.accepted[0]?.carrier.send([new Uint8Array(16 << 20)]);
  const stopped = joined.interconnect.stop();
  vi.advanceTimersByTime(FINISH_MS);
  await stopped;
});

test("a proof is for the gateway that it was given to: whoever sits at a member's address cannot use it at another one", async () => {
  const [one, other, third] = (await listed(3)) as [Listed, Listed, Listed];
  const victim = await Joined.open(other);
  // Hands what the victim says on to whoever opens a carrier here, and that one's proof to the victim.
  const relay = createServer(async from => {
    from.on("error", () => {});
    const { socket, nonce } = await attach(other);
    from.once("data", (proof: Buffer) => {
      socket.write(proof);
      from.destroy();
    });
    from.write(inStream([Buffer.from(JSON.stringify({ version: 4, index: 2, nonce, proof: "" }))]));
  }).listen(portOf(third), "127.0.0.1");
  onTestFinished(() => void relay.close());
  await once(relay, "listening");
  const member = await Joined.open(one);
  await expect
    .poll(() => victim.lines.join())
    .toContain(`the gateway ${one.self} does not belong to this cluster`);
  await member.wayTo(victim);
  expect(victim.accepted).toHaveLength(1);
});
