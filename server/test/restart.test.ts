import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { SUBPROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";

const COMMAND = fileURLToPath(import.meta.resolve("@jecho/server/command"));

async function start(port: string): Promise<{ child: ChildProcess; port: string }> {
  const child = fork(COMMAND, ["gateway", "--port", port], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const failed = once(child, "exit").then(() => {
    throw new Error("the gateway ended");
  });
  const [{ address }] = (await Promise.race([once(child, "message"), failed])) as [{ address: string }];
  failed.catch(() => {});
  return { child, port: address.slice(address.lastIndexOf(":") + 1) };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, "exit");
  child.kill(signal);
  return (await exited)[0] as number | null;
}

test("F1: a gateway that was killed with connections open is back at its port at once", async () => {
  const first = await start("0");
  const socket = new WebSocket(`ws://127.0.0.1:${first.port}/`, SUBPROTOCOL);
  await once(socket, "open");
  const closed = once(socket, "close");
  await end(first.child, "SIGKILL");
  await closed;
  const second = await start(first.port);
  expect(second.port).toBe(first.port);
  await end(second.child, "SIGTERM");
});

test("F11: SIGTERM ends the command in an orderly way, telling its clients", async () => {
  const { child, port } = await start("0");
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, SUBPROTOCOL);
  await once(socket, "open");
  const closed = once(socket, "close");
  expect(await end(child, "SIGTERM")).toBe(0);
  const [event] = (await closed) as [CloseEvent];
  expect(event.code).toBe(4000);
});
