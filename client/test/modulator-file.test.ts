import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type JechoError, modulatorFromFile } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

const FILE = new URL("./above.modulator.ts", import.meta.url);

test("a modulator from a file in TypeScript; what it throws arrives at its consumer with the file's line and column", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("test/file", Tick).produce();
  const got = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("test/file", Tick)
    .subscribe(({ n }) => got.put(n), {
      modulator: await modulatorFromFile(FILE, { parameters: { above: 2 } }),
    });
  for (const n of [1, 2, 3, 4]) await producer.publishSync({ n, note: "" });
  expect(got.all).toEqual([3, 4]);
  const lost = new Promise<JechoError>(resolve => {
    consumer.onStatus(({ error }) => error && resolve(error));
  });
  producer.publish({ n: 13, note: "" });
  expect(await lost).toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringMatching(
      /^a modulator of test\/file: an unlucky tick \(line 10, column \d+ of its source\)$/,
    ),
  });
});

test("a file that is not there is named", async () => {
  await expect(modulatorFromFile(new URL("./nowhere.js", import.meta.url))).rejects.toMatchObject({
    code: "MODULATOR_INVALID",
    message: expect.stringContaining("nowhere.js"),
  });
});

test.each([
  ["what is no TypeScript", "export default class {\n  enqueue(event: { n number }) {}\n}\n", 2, 22],
  ["what takes more than leaving types out", "export default 5;\n  enum Kind { hot }\n", 2, 3],
])("%s in a file is named with its place", async (_, text, line, column) => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  try {
    const file = join(folder, "wrong.modulator.ts");
    await writeFile(file, text);
    await expect(modulatorFromFile(pathToFileURL(file))).rejects.toMatchObject({
      code: "MODULATOR_INVALID",
      message: expect.stringMatching(
        new RegExp(`wrong.modulator.ts .* \\(line ${line}, column ${column} of its source\\)$`),
      ),
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});
