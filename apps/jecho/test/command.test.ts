import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, modulatorFrom, type Producer } from "@jecho/client";
import { typeFromFbs } from "@jecho/client/fbs";
import { createGateway } from "@jecho/server";
import { afterAll, beforeAll, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

const Station = typeFromFbs<Record<string, unknown>>(`
  enum Sky : byte { Clear, Cloudy, Rain }
  table Place { latitude: double; name: string; }
  table Station { id: uint; big: ulong; sky: Sky; place: Place; celsius: [float]; notes: [string]; }
  root_type Station;`);
const EVENT = {
  id: 7,
  big: 2n ** 60n,
  sky: 2,
  place: { latitude: 47.123456789, name: "Zürich\u009b31m" },
  celsius: Float32Array.from({ length: 24 }, (_, i) => i / 2),
  notes: ["dry"],
};

let gateway: Awaited<ReturnType<typeof createGateway>>;
let session: ReturnType<typeof connect>;
let producer: Producer<Record<string, unknown>>;

beforeAll(async () => {
  gateway = await createGateway();
  // Deadlines that no busy machine makes a modulator miss.
  session = connect(gateway.address, { modulators: { limits: { callMs: 5000, installMs: 5000 } } });
  producer = await session.channel("weather/stations", Station).produce();
});

afterAll(async () => {
  await session.close();
  await gateway.close();
});

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * @param during is given what it has said so far on its error output
 * @param from whose events it is to print; nobody listens to these any more when it begins
 */
async function run(
  args: readonly string[],
  during?: (said: () => string) => Promise<void>,
  from: Producer<Record<string, unknown>> = producer,
): Promise<Ended> {
  await expect.poll(() => from.demand.total).toBe(0);
  const child = spawn(process.execPath, ["--no-warnings", MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout.on("data", chunk => (out += chunk));
  child.stderr.on("data", chunk => (err += chunk));
  const closed = once(child, "close");
  await during?.(() => err);
  const [code] = (await closed) as [number | null];
  return { code, out, err };
}

/** Publishes once somebody listens. */
async function raise(count: number): Promise<void> {
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 0; n < count; n++) producer.publish({ ...EVENT, id: 7 + n });
}

test("sub prints the events of a channel whose type it never saw, for people", async () => {
  const { code, out, err } = await run(
    ["sub", `jecho://${gateway.address}/weather/stations`, "--count", "2"],
    () => raise(2),
  );
  expect(err).toContain(
    "# Station: id uint32, big uint64, sky Sky, place Place, celsius [float32], notes [string]",
  );
  const lines = out.trimEnd().split("\n");
  expect(lines).toHaveLength(2);
  expect(lines[0]).toContain(
    'id 7  big 1152921504606846976  sky Rain  place {latitude 47.12, name "Zürich\\u009b31m"}',
  );
  expect(lines[0]).toContain('celsius 24 × 0 … 11.5, mean 5.75  notes ["dry"]');
  expect(lines[1]).toContain("id 8");
  expect(code).toBe(0);
});

test("sub --json prints everything, --field only what is asked for", async () => {
  const args = ["sub", "weather/stations", "--gateway", gateway.address, "--count", "1", "--json"];
  const whole = await run(args, () => raise(1));
  expect(JSON.parse(whole.out)).toMatchObject({
    seq: expect.any(Number),
    event: { ...EVENT, big: String(EVENT.big), celsius: Array.from(EVENT.celsius) },
  });
  const some = await run([...args, "--field", "place.latitude", "--field", "sky"], () => raise(1));
  expect(JSON.parse(some.out).event).toEqual({ "place.latitude": EVENT.place.latitude, sky: 2 });
});

test("MOE-20: sub --where has events chosen where they are raised, and says where that is", async () => {
  const args = ["sub", "weather/stations", "--gateway", gateway.address, "--count", "1", "--json"];
  const here = await run([...args, "--where", "event.id > 8"], () => raise(3));
  expect(JSON.parse(here.out).event.id).toBe(9);
  expect(here.err).toContain("# the modulator runs with the producer, compiled\n");
  await using refusing = connect(gateway.address, { modulators: { most: 0 } });
  const other = await refusing.channel("weather/refused", Station).produce();
  const [command, , ...rest] = args;
  const elsewhere = await run(
    [command as string, "weather/refused", ...rest, "--where", "event.id > 8"],
    async said => {
      // Its modulator is fed before its consumer is open.
      await expect.poll(said).toContain("# the modulator runs here");
      for (const id of [7, 8, 9]) other.publish({ ...EVENT, id });
    },
  );
  expect(JSON.parse(elsewhere.out).event.id).toBe(9);
  expect(elsewhere.err).toContain(
    "# the modulator runs here, with the consumer (the producer runs no modulators)",
  );
});

test.for([
  ["event.id > FACTOR", "FACTOR is not defined (column 12 of the expression)"],
  ["event.id > 8 &&\n  event.place.nothing.more", "(line 2, column 23 of the expression)"],
])("sub --where says of a mistake where in the expression it is: %j", async ([expression, place]) => {
  const args = ["sub", "weather/stations", "--gateway", gateway.address, "--count", "1"];
  const { code, err } = await run([...args, "--where", expression as string], () => raise(3));
  expect(err).toContain(place);
  expect(code).toBe(1);
});

test("sub --where says of an expression that has no end that its end is wrong", async () => {
  const { code, err } = await run([
    ...["sub", "weather/stations", "--gateway", gateway.address],
    ...["--where", "event.id >"],
  ]);
  expect(err).toContain("(at the end of the expression)");
  expect(code).toBe(1);
});

test("sub --where refuses what is no expression where nobody produces yet, too", async () => {
  const { code, err } = await run([
    ...["sub", "weather/nobody", "--gateway", gateway.address],
    ...["--where", "event.id >"],
  ]);
  expect(err).toContain("--where takes an expression of JavaScript: Unexpected token");
  expect(code).toBe(2);
});

test("sub --modulator takes what a file makes of the events", async () => {
  const file = fileURLToPath(new URL("warmest.modulator.js", import.meta.url));
  const args = ["sub", "weather/stations", "--gateway", gateway.address, "--count", "1"];
  const { out, err } = await run([...args, "--modulator", file], () => raise(1));
  expect(err).toContain("# Warmest: id uint32, celsius float32");
  expect(out).toContain("id 7  celsius 11.5");
  const both = await run([...args, "--modulator", file, "--where", "true"]);
  expect(both).toMatchObject({ code: 2, err: expect.stringContaining("--where and --modulator") });
  const none = await run([...args, "--modulator", "nowhere.js"]);
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining("MODULATOR_INVALID: ") });
});

test("sub reads tables within tables and in vectors, of types it never saw, and one field of them by its path", async () => {
  const Network = typeFromFbs<Record<string, unknown>>(`
    struct Place { latitude: float; longitude: float; }
    table Sensor { place: Place; unit: string; values: [double]; }
    table Site { name: string; chief: Sensor; sensors: [Sensor]; corners: [Place]; }
    table Network { site: Site; }
    root_type Network;`);
  const place = { latitude: 1.5, longitude: -2 };
  const sensor = { place, unit: "K", values: Float64Array.of(270.25, 271) };
  const event = {
    site: {
      name: "Uto",
      chief: sensor,
      sensors: [sensor, { ...sensor, unit: "Pa" }],
      corners: [place, place],
    },
  };
  const network = await session.channel("weather/network", Network).produce();
  const raised = async (): Promise<void> => {
    await expect.poll(() => network.demand.total).toBe(1);
    network.publish(event);
  };
  const args = ["sub", "weather/network", "--gateway", gateway.address, "--count", "1"];
  const people = await run(args, raised, network);
  expect(people.out).toContain(
    'site {name "Uto", chief {place {latitude 1.5, longitude -2}, unit "K", values [270.3, 271]}, sensors [{',
  );
  expect(people.out).toContain("corners [{latitude 1.5, longitude -2}, {latitude 1.5, longitude -2}]");
  const whole = await run([...args, "--json"], raised, network);
  expect(JSON.parse(whole.out).event).toEqual(
    JSON.parse(
      JSON.stringify(event, (_, one) => (ArrayBuffer.isView(one) ? Array.from(one as Float64Array) : one)),
    ),
  );
  const some = await run(
    [...args, "--json", "--field", "site.sensors.1.unit", "--field", "site.chief.place.latitude"],
    raised,
    network,
  );
  expect(JSON.parse(some.out).event).toEqual({
    "site.sensors.1.unit": "Pa",
    "site.chief.place.latitude": 1.5,
  });
  await network.close();
});

test("TYPE-8: types prints what a channel's producers write, as text that gives the same type", async () => {
  const { code, out } = await run(["types", "weather/stations", "--gateway", gateway.address]);
  expect(typeFromFbs(out).token).toBe(Station.token);
  expect(code).toBe(0);
  const written = await run(["types", "weather/stations", "--gateway", gateway.address, "--typescript"]);
  expect(written.out).toContain(
    "export interface Station {\n  readonly id: number;\n  readonly big: bigint;",
  );
  const none = await run(["types", "nobody/here", "--gateway", gateway.address]);
  expect(none).toMatchObject({ code: 0, out: "", err: expect.stringContaining("nobody produces there") });
});

test("CHAN-11: a channel's name leads the command to its gateway, also from another one", async () => {
  const plain = await run(["types", "weather/stations", "--gateway", gateway.address]);
  const { url } = session.channel("weather/stations");
  await using another = await createGateway();
  expect(await run(["types", url])).toEqual(plain);
  expect(await run(["types", url, "--gateway", another.address])).toEqual(plain);
});

test("untyped events are shown as bytes", async () => {
  const raw = await session.channel("raw").produce();
  const { out } = await run(["sub", "raw", "--gateway", gateway.address, "--count", "1"], async () => {
    await expect.poll(() => raw.demand.total).toBe(1);
    raw.publish(Uint8Array.of(1, 2, 255));
  });
  expect(out).toContain("bytes 3: 01 02 ff");
});

test.each([
  [[], "Usage: jecho", 2],
  [["fly"], "unknown command 'fly'", 2],
  [["sup"], "Did you mean sub?", 2],
  [["sub"], "missing required argument 'channel'", 2],
  [["types", "a", "b"], "too many arguments for 'types'", 2],
  [["sub", "a", "--colour"], "--colour", 2],
  [
    ["sub", "a", "--count", "none"],
    "'--count <N>' argument 'none' is invalid. It takes a number from 1 upwards.",
    2,
  ],
  [["sub", "a", "--token", "/there/is/none"], "the token cannot be read: ENOENT", 2],
  [["reload", "4194305"], "there is no process 4194305", 2],
  [["doctor", "--origin", "localhost:5173"], "An origin is like http://localhost:5173.", 2],
  [["gateway", "--keys", "/there/is/none"], "the keys for tokens cannot be read", 2],
  [["gateway", "--prot", "1"], 'there is no option --prot; did you mean "--port"?', 2],
  [["config", "--limit", "chanels=5"], 'did you mean "channels"?', 2],
  [["config", "--config", "/there/is/none.json"], "none.json cannot be read", 2],
])("what it does not know it says, with what helps: %j", async (args, message, exit) => {
  const { code, err } = await run(args);
  expect(err).toContain(message);
  expect(err).toContain("jecho");
  expect(code).toBe(exit);
});

test("gateway says what is wrong with its host where it can be read", async () => {
  const { code, err } = await run(["gateway", "--host", "192.0.2.1", "--open"]);
  expect(err).toBe(
    "jecho: this machine has no address 192.0.2.1: a gateway listens at one of its own, or at 0.0.0.0 for all of them\n" +
      "(jecho gateway --help lists the options)\n",
  );
  expect(code).toBe(2);
});

test("gateway says it as a line of JSON, too, where its log is such lines", async () => {
  const args = ["gateway", "--host", "192.0.2.1", "--open", "--log-format", "json"];
  const { code, out, err } = await run(args);
  expect(JSON.parse(err)).toMatchObject({
    level: "error",
    code: "ARGUMENT_INVALID",
    msg: expect.stringContaining("no address 192.0.2.1"),
  });
  expect([code, out]).toEqual([2, ""]);
});

test("sub says that it waits where nobody produces yet", async () => {
  let late: Producer<Uint8Array> | undefined;
  const { out } = await run(["sub", "late", "--gateway", gateway.address, "--count", "1"], async said => {
    await expect.poll(said).toContain("# nobody produces at ");
    late = await session.channel("late").produce();
    await expect.poll(() => late?.demand.total).toBe(1);
    late.publish(Uint8Array.of(7));
  });
  await late?.close();
  expect(out).toContain("bytes 1: 07");
});

test("sub --json prints every event, however long its line", async () => {
  const Field = typeFromFbs<Record<string, unknown>>(
    "table Field { n: uint; values: [double]; } root_type Field;",
  );
  const field = await session.channel("weather/field", Field).produce();
  const args = ["sub", "weather/field", "--gateway", gateway.address, "--json", "--count", "30"];
  const { out, err } = await run(
    args,
    async () => {
      await expect.poll(() => field.demand.total).toBe(1);
      const values = Float64Array.from({ length: 5000 }, Math.sqrt);
      field.batch(() => {
        for (let n = 0; n < 30; n++) field.publish({ n, values });
      });
    },
    field,
  );
  const lines = out.trimEnd().split("\n");
  expect(lines.map(line => JSON.parse(line).event.n)).toEqual(Array.from({ length: 30 }, (_, n) => n));
  expect(err).not.toContain("missing");
  await field.close();
});

test("errors are told by their code", async () => {
  const { code, err } = await run(["types", "not a name", "--gateway", gateway.address]);
  expect(err).toContain("jecho: CHANNEL_NAME_INVALID: ");
  expect(code).toBe(1);
  await using another = await createGateway();
  const elsewhere = await run(["types", `jecho://${another.identity}/a`, "--gateway", gateway.address]);
  expect(elsewhere).toMatchObject({ code: 1, err: expect.stringContaining("jecho: CHANNEL_ELSEWHERE: ") });
  const misspelt = await run([
    "sub",
    "weather/stations",
    "--gateway",
    gateway.address,
    "--where",
    "event.idd > 7",
  ]);
  expect(misspelt).toMatchObject({
    code: 2,
    err: expect.stringContaining('no field "idd"; they have id, big, sky, place, celsius, notes'),
  });
  const unknown = await run(
    ["sub", "weather/stations", "--gateway", gateway.address, "--field", "wind"],
    () => raise(1),
  );
  expect(unknown).toMatchObject({ code: 2, err: expect.stringContaining('no field "wind"') });
});

test("that no gateway answers is said at once, and who comes within a while is found", async () => {
  const { address } = await (async () => {
    await using gone = await createGateway();
    return gone;
  })();
  let late: Awaited<ReturnType<typeof createGateway>> | undefined;
  const { code, err } = await run(["types", "nobody/here", "--gateway", address], async said => {
    await expect
      .poll(said)
      .toMatch(/^# no connection to a gateway at .* could be made: .*; trying for 10 s\n$/);
    late = await createGateway({ port: Number(address.split(":").at(-1)) });
  });
  await late?.close();
  expect(err).toContain("has no type at present");
  expect(code).toBe(0);
});

test("each command has its help", async () => {
  const commands = [
    "sub",
    "pub",
    "types",
    "ls",
    "top",
    "gateway",
    "config",
    "key",
    "token",
    "kick",
    "completion",
  ];
  for (const args of [["--help"], ...commands.map(command => [command, "-h"])])
    expect(await run(args)).toMatchObject({ code: 0, out: expect.stringContaining("jecho") });
  expect((await run(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

test("gateway --modulators: they run beside it for a producer that runs none, and finish when it is told to end", async () => {
  const args = ["--no-warnings", MAIN, "gateway", "--port", "0", "--modulators", "--drain", "60000"];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const ended = once(child, "exit");
  const [{ address }] = (await once(child, "message")) as [{ address: string }];
  await using producing = connect(address, { modulators: { most: 0 } });
  const producer = await producing.channel("weather/stations", Station).produce();
  await using consuming = connect(address);
  const modulator = modulatorFrom(event => event.id > 3);
  const seen: number[] = [];
  const consumer = await consuming
    .channel("weather/stations", Station)
    .subscribe(({ id }) => seen.push(id as number), { modulator });
  expect(consumer.placements).toMatchObject([{ at: "gateway", code: "MODULATORS_NOT_SERVED" }]);
  for (let id = 0; id < 100; id++) producer.publish({ ...EVENT, id });
  await producing.flush();
  child.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
  await expect.poll(() => seen.length).toBe(96);
});

test("gateway --history: an operator hears nothing of what Node thinks of its SQLite", async () => {
  const file = join(await mkdtemp(join(tmpdir(), "jecho-")), "history.db");
  const child = spawn(process.execPath, [MAIN, "gateway", "--port", "0", "--history", file], {
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  let said = "";
  child.stderr?.on("data", chunk => (said += chunk));
  const closed = once(child, "close");
  await once(child, "message");
  expect((await stat(file)).size).toBeGreaterThan(0);
  child.kill("SIGTERM");
  await closed;
  expect(said).not.toMatch(/sqlite/i);
});

test("F11: SIGTERM to npx ends the gateway that it started", async () => {
  const command = ["--no-install", "jecho", "gateway", "--port", "0"];
  const npx = spawn("npx", command, {
    cwd: fileURLToPath(new URL("../../..", import.meta.url)),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(npx.stdout, "data")) as [Buffer];
  const [, port] = /:(\d+)\s/.exec(line.toString()) ?? [];
  const socket = new WebSocket(`ws://127.0.0.1:${port}/`, "jecho.1");
  await once(socket, "open");
  const closed = once(socket, "close");
  npx.kill("SIGTERM");
  expect((await closed)[0]).toMatchObject({ code: 4000 });
});

test("key, token and kick: a gateway with keys takes those alone who bring a token", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const key = join(folder, "jecho.key");
  const tokenOf = async (sub: string, can: string): Promise<string> => {
    const { code, out } = await run(["token", "--key", key, "--sub", sub, "--can", can]);
    expect(code).toBe(0);
    const file = join(folder, `${sub}.token`);
    await writeFile(file, out);
    return file;
  };
  expect(await run(["key", key])).toMatchObject({
    code: 0,
    out: expect.stringContaining(`--keys ${key}.pub`),
  });
  expect((await stat(key)).mode & 0o777).toBe(0o600);
  // Tokens that were handed out are not to become worthless by mistake.
  expect(await run(["key", key])).toMatchObject({ code: 1 });
  await using guarded = await createGateway({ tokens: { keys: `${key}.pub` } });
  const [viewer, operator] = [await tokenOf("ana", "subscribe:weather/**"), await tokenOf("root", "*:**")];
  await using owner = connect(guarded.address, { token: (await readFile(operator, "utf8")).trim() });
  const stations = await owner.channel("weather/stations", Station).produce();
  const args = ["weather/stations", "--gateway", guarded.address];
  expect(await run(["types", ...args])).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^jecho: TOKEN_INVALID: /),
  });
  expect(await run(["types", ...args, "--token", viewer])).toMatchObject({ code: 0 });
  expect(await run(["sub", ...args, "--token", viewer, "--where", "true"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("RIGHT_MISSING: ana lacks the right modulate:weather/stations"),
  });
  const seen = await run(
    ["sub", ...args, "--token", viewer, "--json", "--count", "1"],
    async () => {
      await expect.poll(() => stations.demand.total).toBe(1);
      stations.publish(EVENT);
    },
    stations,
  );
  expect(JSON.parse(seen.out)).toMatchObject({ by: "root", event: { id: 7 } });
  const kick = ["kick", "ana", "--gateway", guarded.address, "--token"];
  expect(await run([...kick, viewer])).toMatchObject({ code: 1, err: expect.stringContaining("kick:ana") });
  const watching = await run(
    ["sub", ...args, "--token", viewer],
    async () => {
      await expect.poll(() => stations.demand.total).toBe(1);
      expect(await owner.kick("ana")).toBe(1);
    },
    stations,
  );
  expect(watching).toMatchObject({ code: 1, err: expect.stringContaining("KICKED") });
  expect(await run([...kick, operator])).toMatchObject({ code: 0, out: "0 connections of ana ended\n" });
  const wrong = await run(["token", "--key", key, "--sub", "eve", "--can", "fly:**"]);
  expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('"fly:**" is no right') });
});
