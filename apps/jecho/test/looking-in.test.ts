import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { connect, modulatorFrom, type } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "./run-command.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const Reading = type("Reading", { n: "uint32", celsius: "float32[]" });

let gateway: Awaited<ReturnType<typeof createGateway>>;
let session: ReturnType<typeof connect>;
let raising: NodeJS.Timeout;

/** Two channels; one has a modulator, and events all the time. */
beforeAll(async () => {
  gateway = await createGateway();
  session = connect(gateway.address, { modulators: { limits: { callMs: 5000, installMs: 5000 } } });
  const producer = await session.channel("weather/readings", Reading).produce();
  await session.channel("quiet", Reading).produce();
  const consuming = connect(gateway.address);
  await consuming
    .channel("weather/readings", Reading)
    .subscribe(() => {}, { modulator: modulatorFrom(event => /[02468]$/.test(String(event.n))), as: "even" });
  let n = 0;
  raising = setInterval(() => producer.publish({ n: n++, celsius: new Float32Array(8) }), 10);
  afterAll(() => consuming.close());
});

afterAll(async () => {
  clearInterval(raising);
  await session.close();
  await gateway.close();
});

test("ls lists channels, who is there, and where modulators run", async () => {
  const { code, out } = await runCommand(["ls", "--gateway", gateway.address]);
  expect(code).toBe(0);
  const [head, ...rows] = out.trimEnd().split("\n");
  expect(head).toMatch(
    /^CHANNEL +TYPE +PRODUCERS +CONSUMERS +EVENTS +BYTES +DROPPED +KEPT +MODULATOR RUNS AT$/,
  );
  expect(rows).toHaveLength(3);
  expect(rows[0]).toMatch(/^weather\/readings +Reading +1 +0 /);
  expect(rows[1]).toMatch(/^weather\/readings#even .* producer \(hosted\)$/);
  expect(rows[2]).toMatch(/^quiet +Reading +1 +0 +0 /);
  const some = await runCommand(["ls", "weather/*", "--json", "--gateway", gateway.address]);
  const { of } = JSON.parse(some.out);
  expect(of).toMatchObject([{ name: "weather/readings", producers: 1, derived: [{ names: ["even"] }] }]);
  const none = await runCommand(["ls", "no/*", "--gateway", gateway.address]);
  expect(none.out).toBe("# there is no such channel\n");
});

test("top shows rates, drops, tiers and what modulators cost, until it is ended", async () => {
  const args = ["top", "--interval", "0.2", "--gateway", gateway.address];
  const { code, out } = await runCommand(args, {
    during: async (said, end) => {
      await expect.poll(() => said().match(/^CHANNEL/gm)?.length ?? 0).toBeGreaterThan(2);
      end();
    },
  });
  expect(code).toBe(0);
  expect(out).toMatch(
    /^CHANNEL +EVENTS\/S +BYTES\/S +DROPPED\/S +PRODUCERS +CONSUMERS +CPU % +MODULATOR RUNS AT$/m,
  );
  expect(out).toMatch(/^weather\/readings +[\d.]+ /m);
  expect(out).toMatch(/^ {2}weather\/readings#even +[\d.]+k? .* [\d.]+ +producer \(hosted\)$/m);
  const looks = await runCommand([...args, "--json", "--count", "2"]);
  const [first] = looks.out
    .trimEnd()
    .split("\n")
    .map(line => JSON.parse(line));
  expect(looks.out.trimEnd().split("\n")).toHaveLength(2);
  const rates = first.of.find(({ name }: { name: string }) => name === "weather/readings#even");
  expect(rates).toMatchObject({ consumers: 1, dropped: 0, places: [{ at: "producer", tier: "hosted" }] });
  expect(rates.events).toBeGreaterThan(0);
});

test("pub publishes lines of JSON, of the type that is written there, and of a file's", async () => {
  const consuming = connect(gateway.address);
  const seen: number[] = [];
  await consuming.channel("quiet", Reading).subscribe(({ n, celsius }) => seen.push(n, ...celsius));
  const lines = '{"n":1,"celsius":[1.5,2]}\n\n{"n":2}\n';
  const typed = await runCommand(["pub", "quiet", "--gateway", gateway.address], { input: lines });
  expect(typed).toMatchObject({ code: 0, out: "2 events published\n" });
  await expect.poll(() => seen).toEqual([1, 1.5, 2, 2]);
  const wrong = await runCommand(["pub", "quiet", "--gateway", gateway.address], {
    input: '{"n":3}\n{"m":4}\n',
  });
  expect(wrong).toMatchObject({
    code: 1,
    err: 'jecho: EVENT_INVALID: line 2: Reading has no field "m"; it has n, celsius\n',
  });
  const broken = await runCommand(["pub", "quiet", "-", "--gateway", gateway.address], { input: "{" });
  expect(broken).toMatchObject({ code: 1, err: expect.stringMatching(/^jecho: EVENT_INVALID: line 1: /) });
  await consuming.close();
});

test("pub --recorded publishes what sub --json has printed, and --wait begins when somebody listens", async () => {
  const recorded = await runCommand([
    ...["sub", "weather/readings", "--gateway", gateway.address, "--json", "--count", "3"],
  ]);
  const published = runCommand(
    ["pub", "replayed", "--recorded", "--wait", "--json", "--gateway", gateway.address],
    {
      input: recorded.out,
    },
  );
  const heard = await runCommand(["sub", "replayed", "--gateway", gateway.address, "--json", "--count", "3"]);
  const { events } = JSON.parse((await published).out);
  expect(events).toBe(3);
  const eventsOf = (text: string) =>
    text
      .trimEnd()
      .split("\n")
      .map(line => JSON.parse(line).event);
  // Nobody produced there before: the channel has no type, and its events are the text.
  expect(eventsOf(heard.out).map(bytes => JSON.parse(Buffer.from(bytes).toString()))).toEqual(
    eventsOf(recorded.out),
  );
});

test("bash completes a word by the script that the command prints", async ({ skip }) => {
  skip(spawnSync("bash", ["--version"]).status !== 0, "there is no bash");
  const bash = (typed: string) => `
    jecho() { "$NODE" --no-warnings "$MAIN" "$@"; }
    eval "$(jecho completion bash)"
    COMP_WORDS=(${typed}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _jecho; printf '%s\n' "\${COMPREPLY[@]}"`;
  const env = { ...process.env, NODE: process.execPath, MAIN };
  for (const [typed, words] of [
    ["jecho to", "top\ntoken\n"],
    ["jecho gateway --tls", "--tls-cert\n--tls-key\n"],
    ["jecho completion z", "zsh\n"],
  ] as const)
    expect(spawnSync("bash", ["-c", bash(typed)], { encoding: "utf8", env }).stdout).toBe(words);
});

test.each([
  [["complete", "--", "to"], "top\ttoken"],
  [["complete", "--", "sub", "a", "--js"], "--json"],
  [["complete", "--", "key", "f", "--algorithm", "E"], "EdDSA\tES256"],
  [["complete", "--", "completion", "z"], "zsh"],
  [["complete", "--", "gateway", "--tls"], "--tls-cert\t--tls-key"],
  [["complete", "--", "fly", ""], ""],
])("a shell is told what may stand there: %j", async (args, words) => {
  const { code, out } = await runCommand(args);
  expect(code).toBe(0);
  const found = out.split("\n").flatMap(line => (line === "" ? [] : [line.split("\t")[0]]));
  expect(found.sort()).toEqual(
    words
      .split("\t")
      .filter(word => word !== "")
      .sort(),
  );
});
