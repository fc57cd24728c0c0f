import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { startRig, Tick } from "./rig.ts";

interface Program extends Disposable {
  readonly child: ChildProcess;
  said(): string;
}

/** @param heard address of the gateway whose session has a status listener @param unheard address of the one whose session has none */
function start(heard: string, unheard: string): Program {
  const program = fileURLToPath(new URL("unheard.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", program, heard, unheard], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", chunk => (said += chunk));
  return { child, said: () => said, [Symbol.dispose]: () => void child.kill() };
}

/* Side by side: two of them wait for the 5 s after which a program says that no gateway has answered. */

test.concurrent("a program that waits for a gateway which is not there says so, unless it listens to its session's status", async ({
  expect,
}) => {
  // Port 1 is nobody's. One that was just given up may be the next gateway's.
  const address = "127.0.0.1:1";
  using program = start(`${address}/heard`, `${address}/unheard`);
  await expect.poll(program.said).toMatch(
    // On a busy machine the first attempt may still be under way.
    new RegExp(
      `JEcho: no gateway has answered at ${address}/unheard for 5 s; the session keeps trying( \\(no connection .*\\))?\n$`,
    ),
  );
  expect(program.said().trimEnd()).not.toContain("\n");
});

test.concurrent("a program whose gateway goes and stays away says so once", async ({ expect }) => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const { address } = rig.gateway;
  using program = start(address, address);
  await expect.poll(() => producer.demand.total).toBe(1);
  await rig.gateway.close();
  await expect.poll(program.said).toMatch(`JEcho: no gateway has answered at ${address} for 5 s`);
  expect(program.said().trimEnd()).not.toContain("\n");
});

test.concurrent("a program that listens for no errors is told in words what ended its consumer, and goes on", async ({
  expect,
}) => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const { address } = rig.gateway;
  using program = start(address, address);
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 9, note: "" });
  await expect
    .poll(program.said)
    .toMatch(
      /(^|\n)JEcho: MODULATOR_FAILED: a modulator of a: '?least'? is not defined \(line 1, column \d+ of its source\): [^\n]*\n$/,
    );
  await expect.poll(() => producer.demand.total).toBe(0);
  expect(program.child.exitCode).toBeNull();
});
