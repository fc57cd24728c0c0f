import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, modulatorFrom } from "@jecho/client";
import { createToken, createTokenKeys } from "@jecho/server";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

interface Logged {
  readonly level: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

test("F18: the log says who did what on which channel, as lines of JSON, and has no token, key or secret in it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "jecho-"));
  const { signing, checking } = await createTokenKeys("HS256");
  const keys = join(folder, "keys.json");
  const auditFile = join(folder, "audit.log");
  writeFileSync(keys, JSON.stringify(checking));
  const args = ["gateway", "--port", "0", "--keys", keys, "--audit", auditFile];
  const child = spawn(
    process.execPath,
    ["--no-warnings", MAIN, ...args, "--log-format", "json", "--log-level", "debug"],
    { stdio: ["ignore", "pipe", "pipe", "ipc"] },
  );
  let out = "";
  let err = "";
  child.stdout?.on("data", chunk => (out += chunk));
  child.stderr?.on("data", chunk => (err += chunk));
  const closed = once(child, "close");
  const [{ address }] = (await once(child, "message")) as [{ address: string }];
  const token = await createToken(signing, {
    subject: "ana",
    can: ["publish:weather/**", "*:weather/mine", "share:*"],
  });
  const wrong = await createToken((await createTokenKeys()).signing, { subject: "eve", can: ["*:**"] });
  const ana = connect(address, { token, name: "log test" });
  const producer = await ana.channel("weather/mine").produce();
  const shared = ana.share({ secret: "state of an object" });
  await ana.channel("weather/mine").subscribe(() => {}, {
    modulator: modulatorFrom(() => true, { parameters: { secret: "parameter" }, objects: { shared } }),
    capabilities: ["secret capability"],
  });
  producer.publish(new TextEncoder().encode("content of an event"));
  const { token: handover } = await ana.handover();
  await expect(ana.channel("weather/theirs").subscribe(() => {})).rejects.toMatchObject({
    code: "RIGHT_MISSING",
  });
  const eve = connect(address, { token: wrong, name: "log test, too" });
  await expect(eve.ready()).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  await Promise.all([ana.close(), eve.close()]);
  child.kill("SIGTERM");
  expect(await closed).toEqual([0, null]);
  const lines = err
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line) as Logged);
  const about = (msg: string) => lines.filter(line => line.msg === msg);
  expect(out).toBe("");
  expect(about("listening")).toMatchObject([{ level: "info", address, server: expect.any(String) }]);
  expect(about("connected")).toMatchObject([
    { level: "debug", connection: 1, subject: "ana", program: "log test" },
  ]);
  expect(about("refused")).toMatchObject([
    { level: "info", connection: 1, subject: "ana", channel: "weather/theirs", code: "RIGHT_MISSING" },
    { level: "info", code: "TOKEN_INVALID" },
  ]);
  const done = about("done").map(({ frame, channel, subject }) => ({ frame, channel, subject }));
  expect(done).toContainEqual({ frame: "OpenProducer", channel: "weather/mine", subject: "ana" });
  expect(about("ended")).not.toEqual([]);
  const secrets = [
    token,
    wrong,
    handover,
    shared.id,
    "state of an object",
    "secret capability",
    "parameter",
    "content of an event",
  ];
  for (const text of [err, readFileSync(auditFile, "utf8")])
    for (const secret of [...secrets, ...checking.keys.map(({ k }) => k as string)])
      expect(text.includes(secret), secret).toBe(false);
  expect(err).not.toContain(token.split(".")[2] as string);
});
