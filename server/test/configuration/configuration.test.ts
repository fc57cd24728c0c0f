import { mkdtempSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import {
  describeSettings,
  optionsOf,
  readConfiguration,
  settingsJson,
} from "../../src/configuration/configuration.ts";
import { variableOf } from "../../src/configuration/environment.ts";
import {
  putSetting,
  SETTING_NAMES,
  SETTINGS,
  type Setting,
  type SettingName,
} from "../../src/configuration/settings.ts";

/** A folder with these files, and an environment, as a process has them. */
function placeWith(files: Record<string, string> = {}, env: NodeJS.ProcessEnv = {}) {
  const folder = mkdtempSync(join(tmpdir(), "jecho-"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return { env, folder, cwd: () => folder };
}

const JSON_FILE = "jecho.config.json";

/** A value of a setting, as its text and as `createGateway` takes it. */
function sampleOf({ kind, choices, bounds = [0, 0] }: Setting): { text: string; value: unknown } {
  const choice = choices?.at(-1);
  if (choice !== undefined) return { text: choice, value: choice };
  switch (kind) {
    case "number":
      return { text: String(bounds[0] + 1), value: bounds[0] + 1 };
    case "switch":
      return { text: "true", value: true };
    case "list":
      return { text: "http://a.example", value: ["http://a.example"] };
    case "pairs":
      return { text: "a/**=b", value: { "a/**": "b" } };
    default:
      return { text: "/there", value: "/there" };
  }
}

/** The flag for a setting, and what stands beside it, so that both belong together. */
function flagOf(name: SettingName, text: string): string[] {
  const { flag, kind } = SETTINGS[name];
  if (flag === undefined) return ["--limit", `${name}=${text}`];
  return kind === "switch" ? [`--${flag}`] : [`--${flag}`, text];
}

/** Settings that are wanted together. */
const PARTNERS: { readonly [Name in SettingName]?: readonly SettingName[] } = {
  "tls.keyFile": ["tls.certFile"],
  "tls.certFile": ["tls.keyFile"],
  "tokens.issuer": ["tokens.keys"],
  "tokens.audience": ["tokens.keys"],
  "tokens.clockSkewMs": ["tokens.keys"],
  "operations.host": ["operations.port"],
  "cluster.members": ["cluster.self", "cluster.secretFile"],
  "cluster.self": ["cluster.members", "cluster.secretFile"],
  "cluster.secretFile": ["cluster.members", "cluster.self"],
};

test.each(SETTING_NAMES)("%s can be said by flag, environment and file, with one meaning", async name => {
  const { text, value } = sampleOf(SETTINGS[name]);
  const servers: readonly SettingName[] = name === "cluster.nats.servers" ? [] : ["cluster.nats.servers"];
  const partners = name.startsWith("cluster.nats.") ? servers : (PARTNERS[name] ?? []);
  const beside = partners.flatMap(other => flagOf(other, sampleOf(SETTINGS[other]).text));
  const settingsOfFile = {};
  putSetting(settingsOfFile, name, value);
  const file = JSON.stringify(settingsOfFile);
  const ways = [
    { place: placeWith(), args: flagOf(name, text), from: flagOf(name, text)[0] },
    { place: placeWith({}, { [variableOf(name)]: text }), args: [], from: variableOf(name) },
    { place: placeWith({ [JSON_FILE]: file }), args: [], from: JSON_FILE },
  ];
  for (const { place, args, from } of ways) {
    const { settings } = await readConfiguration([...args, ...beside], place);
    expect(settings.get(name)).toEqual({ value, from });
  }
});

test("a flag counts more than the environment, that more than the file, and that more than what is usual", async () => {
  const place = placeWith(
    { [JSON_FILE]: '{ "port": 1, "drainMs": 1, "heartbeatMs": 1, "open": true }' },
    {
      JECHO_OPTION_PORT: "2",
      JECHO_OPTION_DRAIN_MS: "2",
    },
  );
  const { settings } = await readConfiguration(["--port", "3", "--no-open"], place);
  expect(optionsOf(settings)).toMatchObject({
    port: 3,
    drainMs: 2,
    heartbeatMs: 1,
    handoverMs: 120_000,
    open: false,
  });
});

test("a module in TypeScript may be the file, and paths in it start at its folder", async () => {
  const place = placeWith({
    "jecho.config.ts": `interface Mine { historyFile: string }
      export default { historyFile: "./history.db", tokens: { keys: "https://a.example/keys" } } satisfies Mine & object;`,
  });
  const { settings } = await readConfiguration([], place);
  expect(optionsOf(settings)).toMatchObject({
    historyFile: join(place.folder, "history.db"),
    tokens: { keys: "https://a.example/keys" },
  });
  await expect(
    readConfiguration([], placeWith({ "jecho.config.ts": "export default {}", [JSON_FILE]: "{}" })),
  ).rejects.toThrow(`there are ${JSON_FILE} and jecho.config.ts: keep one`);
});

test.each<[what: string, file: string, env: NodeJS.ProcessEnv, args: string[], message: string]>([
  ["a key", '{ "prot": 1 }', {}, [], `${JSON_FILE} has no option "prot"; did you mean "port"?`],
  ["a key inside", '{ "tls": { "key": "a" } }', {}, [], 'has no option "tls.key"'],
  ["a function's name", '{ "log": true }', {}, [], 'has no option "log"'],
  ["a type", '{ "port": "8080" }', {}, [], `${JSON_FILE}: port is 8080; a whole number from 0 to 65535`],
  ["a switch", '{ "open": "yes" }', {}, [], "open is yes; true or false is wanted"],
  ["JSON", "{", {}, [], `${JSON_FILE} cannot be read: `],
  ["an object", "[]", {}, [], "has no object with settings"],
  ["a variable", "{}", { JECHO_OPTION_PRT: "1" }, [], 'did you mean "JECHO_OPTION_PORT"?'],
  [
    "a variable's value",
    "{}",
    { JECHO_OPTION_OPEN: "1" },
    [],
    'JECHO_OPTION_OPEN takes true or false, not "1"',
  ],
  ["a flag", "{}", {}, ["--orign", "a"], 'no option --orign; did you mean "--origin"?'],
  ["an empty number", "{}", {}, ["--port", ""], "--port takes a whole number"],
  ["a word for a number", "{}", {}, ["--drain", "soon"], "--drain takes a whole number"],
  ["a limit", "{}", {}, ["--limit", "connexions=5"], "--limit takes the name of a limit"],
  ["a limit's value", "{}", {}, ["--limit", "connections=few"], "--limit connections takes a whole number"],
  ["an argument", "{}", {}, ["twice"], 'options alone, not "twice"'],
  ["an issuer without keys", "{}", {}, ["--issuer", "us"], "which are wanted with --keys alone"],
  ["half of TLS", '{ "tls": { "keyFile": "a" } }', {}, [], "--tls-cert and --tls-key are wanted together"],
])("%s that cannot be is refused, and said where it stands", async (_, file, env, args, message) => {
  await expect(readConfiguration(args, placeWith({ [JSON_FILE]: file }, env))).rejects.toThrow(message);
});

test("variables that Kubernetes sets for a service called jecho are not taken for settings", async () => {
  const place = placeWith({}, { JECHO_PORT: "tcp://10.0.0.1:8080", JECHO_SERVICE_HOST: "10.0.0.1" });
  const { settings } = await readConfiguration([], place);
  expect(settings.get("port")).toEqual({ value: 8080, from: "" });
});

test("what is printed of the settings has no secret in it, and as JSON is a file with the same meaning", async () => {
  const secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA";
  const keys = { keys: [{ kty: "oct", k: secret }] };
  const own = await readConfiguration([], placeWith({ [JSON_FILE]: JSON.stringify({ tokens: { keys } }) }));
  const address = await readConfiguration(["--keys", `https://user:${secret}@a.example/keys`], placeWith());
  for (const { settings } of [own, address])
    expect(describeSettings(settings) + settingsJson(settings)).not.toContain(secret);
  const said = await readConfiguration(["--port", "1", "--owner", "a/**=b", "--keys", "/k"], placeWith());
  const again = await readConfiguration([], placeWith({ [JSON_FILE]: settingsJson(said.settings) }));
  expect(optionsOf(again.settings)).toEqual(optionsOf(said.settings));
});

test("what the settings say is usual, a gateway has where nothing is said", async () => {
  const { settings } = await readConfiguration([], placeWith());
  const { workers, modulators, logLevel, logFormat, port, ...options } = optionsOf(settings);
  expect([workers, modulators, logLevel, logFormat, port]).toEqual([1, false, "info", "text", 8080]);
  await using gateway = await createGateway(options);
  expect(gateway.host).toBe("127.0.0.1");
});

test("what the container's environment says are settings, and it does not run as root", async () => {
  const file = await readFile(new URL("../../../deploy/Dockerfile", import.meta.url), "utf8");
  const said = [...file.matchAll(/(JECHO_OPTION_\w+)=(\S+)/g)].map(([, name = "", value]) => [name, value]);
  const { settings } = await readConfiguration([], placeWith({}, Object.fromEntries(said)));
  expect([...settings.values()].filter(({ from }) => from.startsWith("JECHO_OPTION_"))).toHaveLength(
    said.length,
  );
  expect(said.length).toBeGreaterThan(3);
  expect(file).toMatch(/^USER node$/m);
});
