import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { EXAMPLES } from "../src/mod.ts";

const SAYS: Readonly<Record<string, readonly string[]>> = {
  "handler-partitioning": ["the whole view: 24 cells", "a part of it: 4 cells"],
  "changing-handlers": [
    "filter mode: 12 cells",
    "diff mode, the first time: 24 cells",
    "diff mode, what changed: 6 cells",
  ],
  "range-filter": ["GT at 74", "GT at 79", "GT at 90"],
  "derived-mean": [
    "step 1: 1.5 m/s",
    "step 2: 2.5 m/s",
    "step 3: 3.5 m/s",
    "step 4: 9.0 m/s",
    "less than a hundredth of the bytes",
  ],
  "parameterized-filter": ["outside of 75.5 to 78.5: 74, 79, 90", "outside of 60 to 80: 90"],
};

test("every sample program has its test", () => {
  expect(Object.keys(SAYS)).toEqual(Object.keys(EXAMPLES));
});

// As their users run them: what a class's text is depends on who runs it.
test.each(Object.entries(SAYS))("%s", async (name, expected) => {
  await using gateway = await createGateway();
  const start = fileURLToPath(new URL("../src/start.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", start, name, gateway.address], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", text => {
    said += text;
  });
  const code = await new Promise(resolve => child.once("close", resolve));
  expect(said.trim().split("\n").slice(1)).toEqual(expected);
  expect(code).toBe(0);
});

test("where no gateway answers, that is said, and tried again", async () => {
  const gone = await createGateway();
  const { address, port } = gone;
  await gone.close();
  const start = fileURLToPath(new URL("../src/start.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", start, "range-filter", address], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", text => {
    said += text;
  });
  const ended = new Promise(resolve => child.once("close", resolve));
  await expect
    .poll(() => said)
    .toContain(`no gateway has answered at ${address} for 5 s; the session keeps trying`);
  await using _ = await createGateway({ port });
  expect(await ended).toBe(0);
});
