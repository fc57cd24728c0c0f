import { once } from "node:events";
import { type AddressInfo, connect as connectTo, createServer } from "node:net";
import { Transform } from "node:stream";
import { connect, type QueueOptions, type } from "@jecho/client";
import { expect, test } from "vitest";
import { startRig } from "./rig.ts";

const Block = type("Block", { n: "uint32", raisedAt: "float64", payload: "uint8[]" });
const PAYLOAD = new Uint8Array(32 * 1024);
/** Of one event every so often there is ten times as much as the network takes. */
const EVERY_MS = 10;
const BYTES_PER_SECOND = (PAYLOAD.byteLength * 1000) / EVERY_MS / 10;
const SLICE_MS = 50;

/** A way to a gateway by which so much comes back in a second, and no more. */
async function startSlowWay(target: string) {
  const [host, port] = target.split(":") as [string, string];
  const sliceBytes = (BYTES_PER_SECOND * SLICE_MS) / 1000;
  const server = createServer(near => {
    const far = connectTo(Number(port), host);
    const slow = new Transform({
      transform(chunk: Buffer, _, done) {
        const pass = (at: number): void => {
          if (at >= chunk.length) return done();
          this.push(chunk.subarray(at, at + sliceBytes));
          setTimeout(() => pass(at + sliceBytes), SLICE_MS);
        };
        pass(0);
      },
    });
    near.pipe(far);
    far.pipe(slow).pipe(near);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      socket.on("error", () => {});
      socket.on("close", () => other.destroy());
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

test("SLOW-5: over a network that is slower than they come, the newest events are new, and what goes for them is told", async () => {
  await using rig = await startRig();
  await using way = await startSlowWay(rig.gateway.address);
  await using slow = connect(way.address);
  const seen: number[] = [];
  let lateMs = 0;
  let missed = 0;
  const queue: QueueOptions = { whenFull: "latest" };
  const see = ({ n, raisedAt }: { n: number; raisedAt: number }): void => {
    seen.push(n);
    lateMs = performance.now() - raisedAt;
  };
  const onMissed = ({ events }: { events: number }): void => {
    missed += events;
  };
  await slow.channel("a", Block).subscribe(see, { queue, onMissed });
  const producer = await rig.session().channel("a", Block).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  let n = 0;
  const raising = setInterval(() => {
    producer.publish({ n: n++, raisedAt: performance.now(), payload: PAYLOAD });
  }, EVERY_MS);
  try {
    await expect.poll(() => lateMs).toBeGreaterThan(1500);
    // What queued up meanwhile in the sockets on the way comes first; nothing does from then on.
    await expect.poll(() => lateMs).toBeLessThan(1000);
    const { length } = seen;
    await expect.poll(() => seen.length).toBeGreaterThan(length + 20);
    await expect.poll(() => lateMs).toBeLessThan(1000);
  } finally {
    clearInterval(raising);
  }
  await expect.poll(() => seen.at(-1)).toBe(n - 1);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen.length + missed).toBe(n);
});
