import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@jecho/client";
import { startModulating } from "@jecho/client/modulating";
import { createGateway, type Gateway } from "@jecho/server";
import { afterEach, beforeEach, expect, inject, test, vi } from "vitest";
import { numbered } from "./placement-rig.ts";
import { Inbox, PATIENT, startRig, Tick } from "./rig.ts";

const { execPath } = process;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "jecho-"));
});
afterEach(async () => {
  process.execPath = execPath;
  await rm(folder, { recursive: true });
});

/** A gateway whose process for modulators fails as often as wanted before it runs. */
async function modulatesAfter(failing: () => Promise<void>): Promise<void> {
  // More than a pipe takes in before somebody reads: what is sent to one that has ended fails.
  const trusted = ["x".repeat(1 << 20)];
  await using rig = await startRig({
    modulating: (address, token, say) => startModulating(address, token, say, { ...PATIENT, trusted }),
  });
  await failing();
  process.execPath = execPath;
  const producer = await rig
    .session({ modulators: { most: 0 } })
    .channel("a", Tick)
    .produce();
  const session = rig.session();
  let tries = 0;
  // A modulator stays where it is: whoever brings another one when the process is there has that beside the gateway.
  const seen = await vi.waitFor(
    async () => {
      const inbox = new Inbox<number>();
      const modulator = { source: `${numbered.source}// ${++tries}` };
      const consumer = await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n), { modulator });
      const places = consumer.placements.map(({ at }) => at);
      if (places[0] !== "gateway") await consumer.close();
      expect(places).toEqual(["gateway"]);
      return inbox;
    },
    { timeout: 60_000, interval: 100 },
  );
  producer.publish({ n: 2, note: "" });
  expect(await seen.take(1)).toEqual([2]);
}

test("MOE-18: a process for modulators that ends at once, time after time, is started again and takes nobody along", async () => {
  const [program, starts] = [join(folder, "node"), join(folder, "starts")];
  await writeFile(program, `#!/bin/sh\necho start >> ${starts}\n`);
  await chmod(program, 0o700);
  process.execPath = program;
  const started = async () => (await readFile(starts, "utf8").catch(() => "")).split("\n").length - 1;
  await modulatesAfter(() => expect.poll(started).toBeGreaterThanOrEqual(3));
});

test("MOE-18: one that cannot be started is tried again, and the gateway runs meanwhile", async () => {
  process.execPath = join(folder, "nothing");
  await modulatesAfter(() => Promise.resolve());
});

test("MOE-18: what the process for modulators says goes into the gateway's log", async () => {
  const lines: string[] = [];
  const ignore = (): void => {};
  await using _ = await startRig({
    log: { debug: ignore, info: ignore, warn: (_, line) => lines.push(line), error: ignore },
    modulating: (address, _, say) => startModulating(address, "a token of no gateway's", say),
  });
  expect(lines).toContainEqual(expect.stringContaining("modulators: modulators are not run: "));
});

test("MOE-18: a gateway closes while its process for modulators is waited for", async () => {
  process.execPath = join(folder, "nothing");
  await using _ = await startRig({ modulating: startModulating });
});

test("MOE-18: where gateways share a port, each leads its process for modulators to itself", async () => {
  const addresses: string[] = [];
  const start = (port: number): Promise<Gateway> =>
    createGateway({
      port,
      sharePort: true,
      modulating: address => {
        addresses.push(address);
        return { ready: Promise.resolve(), close: () => Promise.resolve() };
      },
    });
  await using first = await start(0);
  await using second = await start(first.port);
  expect(second.port).toBe(first.port);
  // At the shared port some of these would find the other one.
  for (const [i, { identity }] of [first, second].entries()) {
    for (let n = 0; n < 8; n++) {
      await using session = connect(addresses[i] as string, { place: inject("place"), name: `${n}` });
      await session.ready();
      expect(session.gateway).toBe(identity);
    }
  }
});
