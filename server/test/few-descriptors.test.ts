import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Gateway } from "@jecho/server";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const COMMAND = fileURLToPath(import.meta.resolve("@jecho/server/command"));
const PRLIMIT = "/usr/bin/prlimit";
const FILES = 128;

test.runIf(existsSync(PRLIMIT)).for(["uWebSockets.js", "ws"])(
  "a gateway on %s whose file descriptors are used up refuses new connections, keeps old ones, and takes new ones again",
  async server => {
    const command = [process.execPath, ...process.execArgv, COMMAND];
    const child = spawn(
      PRLIMIT,
      [`--nofile=${FILES}:${FILES}`, ...command, "gateway", "--port", "0", "--server", server],
      { stdio: ["ignore", "ignore", "ignore", "ipc"] },
    );
    const clients: RawClient[] = [];
    try {
      const [gateway] = (await once(child, "message")) as [Gateway];
      const open = async (): Promise<boolean> => {
        try {
          clients.push(await RawClient.connect(gateway));
          return true;
        } catch {
          return false;
        }
      };
      while (await open());
      // Nor is another one left without an answer.
      for (let i = 0; i < 20; i++) expect(await open()).toBe(false);
      expect(clients.length).toBeGreaterThan(FILES / 4);
      expect(clients.length).toBeLessThan(FILES);
      for (const client of clients) await client.isAlive();
      for (const client of clients.splice(0)) client[Symbol.dispose]();
      await expect.poll(open).toBe(true);
    } finally {
      for (const client of clients) client[Symbol.dispose]();
      child.kill("SIGKILL");
    }
  },
);
