import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startCutter } from "@jecho/e2e/cutter";
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
  await using gateway = await createGateway();
  await using cutter = await startCutter(gateway.address);
  cutter.part();
  const start = fileURLToPath(new URL("../src/start.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", start, "range-filter", cutter.address], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", text => {
    said += text;
    if (said.includes("the session keeps trying")) cutter.join();
  });
  const code = await new Promise(resolve => child.once("close", resolve));
  expect(said).toContain(`no gateway has answered at ${cutter.address} for 5 s; the session keeps trying`);
  expect(code).toBe(0);
});
