import { once } from "node:events";
import { connect, createServer } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { TcpCarriers } from "../../src/cluster/tcp-carriers.ts";
import type { TrunkCarrier } from "../../src/cluster/trunk-carrier.ts";

const SECRET = "a secret of the cluster's own";
const LIMIT_BYTES = 1 << 20;

/** One end of a carrier: the messages that came, and whether it has ended. */
class End {
  readonly messages: Uint8Array[] = [];
  hasEnded = false;
  carrier: TrunkCarrier | undefined;

  begin(carrier: TrunkCarrier) {
    this.carrier = carrier;
    return {
      message: (message: Uint8Array) => void this.messages.push(message),
      drained: () => {},
      ended: () => {
        this.hasEnded = true;
      },
    };
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

/** Two gateways; the carrier that the first has opened to the second, at both ends. */
async function startTwo(secrets: readonly [string, string] = [SECRET, SECRET]) {
  const members = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const lines: string[] = [];
  const [near, far] = [new End(), new End()];
  const all = secrets.map(
    (secret, self) =>
      new TcpCarriers({ members, self, secret, limitBytes: LIMIT_BYTES, log: line => lines.push(line) }),
  );
  onTestFinished(async () => void (await Promise.all(all.map(carriers => carriers.stop()))));
  const [first, second] = all as [TcpCarriers, TcpCarriers];
  await second.start(
    (_, carrier) => new End().begin(carrier),
    (index, carrier) => (index === 0 ? far : new End()).begin(carrier),
  );
  await first.start(
    (index, carrier) => (index === 1 ? near : new End()).begin(carrier),
    (_, carrier) => new End().begin(carrier),
  );
  return { near, far, lines, second, address: members[1] as string };
}

test("messages of all sizes come whole and in order, and begin at a multiple of 8", async () => {
  const { near, far } = await startTwo();
  await expect.poll(() => near.carrier !== undefined && far.carrier !== undefined).toBe(true);
  const sizes = [1, 8, 100, 70_000, 3, LIMIT_BYTES, 5];
  for (const [i, size] of sizes.entries()) {
    const part = new Uint8Array(size).fill(i + 1);
    near.carrier?.send([part.subarray(0, size >> 1), part.subarray(size >> 1)]);
    part.fill(0);
  }
  await expect.poll(() => far.messages.length).toBe(sizes.length);
  for (const [i, message] of far.messages.entries()) {
    expect(message.byteLength).toBe(sizes[i]);
    expect(message.byteOffset % 8).toBe(0);
    expect(message.every(byte => byte === i + 1)).toBe(true);
  }
  far.carrier?.send([Uint8Array.of(7)]);
  await expect.poll(() => near.messages.map(message => [...message])).toEqual([[7]]);
});

test("when one side ends it, both hear of that, and it is opened again", async () => {
  const { near, far } = await startTwo();
  await expect.poll(() => near.carrier !== undefined && far.carrier !== undefined).toBe(true);
  const former = near.carrier;
  far.carrier?.end();
  await expect.poll(() => near.hasEnded && far.hasEnded).toBe(true);
  await expect.poll(() => near.carrier !== former).toBe(true);
});

test("who does not know the secret is not let in, and the operator hears of it", async () => {
  const { near, far, lines } = await startTwo([SECRET, "another secret altogether"]);
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  expect(lines[0]).toContain("does not belong to this cluster");
  expect([near.carrier, far.carrier]).toEqual([undefined, undefined]);
});

test("a stranger who says what is no greeting, or too long a one, is cut off", async () => {
  const { address } = await startTwo();
  const port = Number(address.split(":")[1]);
  for (const words of [Buffer.from("\x05\0\0\0hello"), Buffer.from([0xff, 0xff, 0xff, 0x0f])]) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    const closed = once(socket, "close");
    socket.resume();
    socket.write(words);
    await closed;
  }
});
