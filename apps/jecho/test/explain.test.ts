import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "@jecho/client";
import { schemaFromFbs, typeFromFbs } from "@jecho/client/fbs";
import { createGateway } from "@jecho/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "./run-command.ts";

const FBS =
  "table Reading { station: uint; celsius: float; all: [float]; place: string; } root_type Reading;";

let folder: string;
const path = (name: string): string => join(folder, name);

const modulatorOf = (test: string): string => `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    if (${test}) super.enqueue(event);
  }
}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "jecho-explain-"));
  await writeFile(path("reading.fbs"), FBS);
  await writeFile(path("reading.bfbs"), schemaFromFbs(FBS));
  await writeFile(path("warm.modulator.js"), modulatorOf("event.celsius > this.parameters.above"));
  await writeFile(path("place.modulator.js"), modulatorOf("event.place.length > 6"));
});
afterAll(() => rm(folder, { recursive: true }));

test("explain says of a modulator that compiles what it costs, reads and weighs", async () => {
  const { code, out } = await runCommand([
    "explain",
    path("warm.modulator.js"),
    ...["--type", path("reading.fbs"), "--parameters", '{"above":24}'],
  ]);
  expect(out).toMatch(
    /^Reading: compiled\n {2}cost {3}at most \d+(\.\d)? steps .*\n {2}reads {2}celsius\n {2}size {3}\d+ bytes/,
  );
  expect(code).toBe(0);
});

test("explain says why one is hosted, with line and column, also as JSON and of a binary schema", async () => {
  const args = ["explain", path("place.modulator.js"), "--type", path("reading.bfbs")];
  expect((await runCommand(args)).out).toBe(
    'Reading: hosted\n  why    "length" of a text is not compiled (line 4, column 9)\n',
  );
  expect(JSON.parse((await runCommand([...args, "--json"])).out)).toMatchObject({
    type: "Reading",
    isCompiled: false,
    line: 4,
    column: 9,
  });
});

test("explain takes the types of a channel from its producers, and says where there are none", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address);
  await session.channel("readings", typeFromFbs(FBS)).produce();
  const explain = (channel: string) =>
    runCommand([
      "explain",
      path("place.modulator.js"),
      ...["--channel", channel, "--gateway", gateway.address],
    ]);
  expect((await explain("readings")).out).toContain("Reading: hosted");
  expect(await explain("nowhere")).toMatchObject({
    code: 1,
    err: expect.stringContaining("TYPE_UNKNOWN: nowhere has no type"),
  });
});

test.each([
  ["neither a channel nor a type", [], "either --channel or --type"],
  ["parameters that are no JSON", ["--type", "x.fbs", "--parameters", "{"], "the parameters are no JSON"],
])("explain refuses %s", async (_, args, message) => {
  const { code, err } = await runCommand(["explain", path("warm.modulator.js"), ...args]);
  expect(err).toContain(message);
  expect(code).toBe(2);
});
