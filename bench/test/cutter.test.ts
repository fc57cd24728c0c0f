import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { Cutter } from "../src/chaos/cutter.ts";

/** A cutter before a server, and a connection through it: `near` is the client's end, `far` the server's. */
async function through() {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cutter = await Cutter.start((server.address() as AddressInfo).port);
  const open = async (): Promise<{
    near: Socket;
    far: Socket;
    atNear: () => string;
    atFar: () => string;
  }> => {
    const accepted = once(server, "connection");
    const near = connect({ port: cutter.port, host: "127.0.0.1", allowHalfOpen: true });
    const [far] = (await accepted) as [Socket];
    for (const socket of [near, far]) socket.on("error", () => {});
    return { near, far, atNear: textOf(near), atFar: textOf(far) };
  };
  return {
    cutter,
    open,
    ...(await open()),
    async [Symbol.asyncDispose]() {
      cutter.close();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** However it was closed. */
function closed(socket: Socket): Promise<unknown> {
  return new Promise(resolve => socket.once("close", resolve));
}

function textOf(socket: Socket): () => string {
  let text = "";
  socket.on("data", bytes => {
    text += bytes.toString("latin1");
  });
  return () => text;
}

test("what is sent passes, and so does the end", async () => {
  await using it = await through();
  it.near.end("asked");
  await once(it.far, "end");
  expect(it.atFar()).toBe("asked");
  it.far.end("answered");
  await once(it.near, "end");
  expect(it.atNear()).toBe("answered");
});

test("a cut is told to both sides", async () => {
  await using it = await through();
  const gone = Promise.all([it.near, it.far].map(socket => closed(socket)));
  it.cutter.cut();
  await gone;
});

test("of a silent cut nobody hears, and new connections pass", async () => {
  await using it = await through();
  it.cutter.silence();
  it.near.write("lost");
  it.far.write("lost");
  const second = await it.open();
  second.near.write("asked");
  await expect.poll(() => second.atFar()).toBe("asked");
  expect([it.atNear(), it.atFar(), it.near.destroyed, it.far.destroyed]).toEqual(["", "", false, false]);
  // One that gives up is not heard of, either.
  it.near.destroy();
  second.near.write(" again");
  await expect.poll(() => second.atFar()).toBe("asked again");
  expect(it.far.destroyed).toBe(false);
});

test.for(["near", "far"] as const)(
  "of a cut that only the %s side is told the other one does not hear",
  async side => {
    await using it = await through();
    const told = closed(it[side]);
    it.cutter.halve(side);
    await told;
    expect(it[side === "near" ? "far" : "near"].destroyed).toBe(false);
  },
);

test("what passes is delayed, in its order, until that is over", async () => {
  await using it = await through();
  it.cutter.delayMs = 100;
  const begin = performance.now();
  it.near.write("slow");
  await expect.poll(() => it.atFar()).toBe("slow");
  expect(performance.now() - begin).toBeGreaterThan(99);
  it.cutter.heal();
  it.near.write("fast");
  await expect.poll(() => it.atFar()).toBe("slowfast");
});

test("what passes trickles", async () => {
  await using it = await through();
  it.cutter.trickleBytes = 10;
  it.near.write("a".repeat(100));
  await expect.poll(() => it.atFar().length).toBeGreaterThan(0);
  expect(it.atFar().length).toBeLessThan(100);
  await expect.poll(() => it.atFar()).toBe("a".repeat(100));
});

test("one bit of what passes is flipped", async () => {
  await using it = await through();
  it.cutter.flip("far", 0);
  it.near.write("a");
  await expect.poll(() => it.atFar()).toBe("`");
  it.near.write("a");
  await expect.poll(() => it.atFar()).toBe("`a");
});

test("what a client sends is held from a word of the gateway on", async () => {
  await using it = await through();
  const reached = it.cutter.holdAt("the word");
  const second = await it.open();
  second.near.write("before");
  await expect.poll(() => second.atFar()).toBe("before");
  second.far.write("this is the ");
  second.far.write("word");
  await reached;
  second.near.write(" behind");
  await expect.poll(() => second.atNear()).toBe("this is the word");
  expect(second.atFar()).toBe("before");
  it.cutter.heal();
  await expect.poll(() => second.atFar()).toBe("before behind");
});

test("while it refuses connections they are broken", async () => {
  await using it = await through();
  it.cutter.refuses = true;
  const near = connect({ port: it.cutter.port, host: "127.0.0.1" });
  near.on("error", () => {});
  await closed(near);
});
