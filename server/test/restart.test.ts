import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { createGateway } from "@jecho/server";
import { SUBPROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";

const COMMAND = fileURLToPath(import.meta.resolve("@jecho/server/command"));

async function start(port: string, ...more: string[]): Promise<{ child: ChildProcess; port: string }> {
  const child = fork(COMMAND, ["gateway", "--port", port, ...more], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
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

test("SIGHUP ends no gateway, which says what is read again without it", async () => {
  const child = fork(COMMAND, ["gateway", "--port", "0"], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const said = once(createInterface(child.stderr as Readable), "line");
  await once(child, "message");
  child.kill("SIGHUP");
  expect((await said)[0]).toContain("SIGHUP changes nothing: certificate and keys are read again");
  expect(await end(child, "SIGTERM")).toBe(0);
});

test("HIST-5, F28: of two gateways on one history file the second refuses to start, until the first has been killed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  try {
    const first = await start("0", "--history", historyFile);
    const second = fork(COMMAND, ["gateway", "--port", "0", "--history", historyFile], { silent: true });
    const [said, [code]] = await Promise.all([text(second.stderr as Readable), once(second, "exit")]);
    expect(code).toBe(1);
    expect(said).toContain(`jecho: HISTORY_IN_USE: another gateway keeps its history in ${historyFile}`);
    expect(said).toContain("end that one, or give this one a file of its own");
    await expect(createGateway({ historyFile })).rejects.toMatchObject({
      code: "HISTORY_IN_USE",
      retry: true,
    });
    await end(first.child, "SIGKILL");
    await using third = await createGateway({ historyFile });
    await expect(createGateway({ historyFile })).rejects.toMatchObject({ code: "HISTORY_IN_USE" });
    expect(third.port).toBeGreaterThan(0);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("HIST-5: nobody but its user may read a history, what lay there before included, and the command says nothing of SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  try {
    await writeFile(historyFile, "", { mode: 0o644 });
    const child = fork(COMMAND, ["gateway", "--port", "0", "--history", historyFile], { silent: true });
    const said = text(child.stderr as Readable);
    await once(child, "message");
    for (const file of await readdir(folder))
      expect([file, (await stat(join(folder, file))).mode & 0o777]).toEqual([file, 0o600]);
    await end(child, "SIGTERM");
    expect(await said).toBe("");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("HIST-5: a gateway that cannot listen leaves its history file to the next one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  try {
    await using other = await createGateway();
    await expect(createGateway({ historyFile, port: other.port })).rejects.toThrow("has this port");
    await using _ = await createGateway({ historyFile });
  } finally {
    await rm(folder, { recursive: true });
  }
});
