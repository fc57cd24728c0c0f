import { once } from "node:events";
import { type AddressInfo, createServer, type Server } from "node:net";
import {
  type ConsumerOptions,
  connect,
  type Json,
  type Modulator,
  modulatorFrom,
  modulatorFromFile,
  type ProduceOptions,
  type SubscribeOptions,
  sample,
} from "@jecho/client";
import { expect, inject, test } from "vitest";
import { frameOf, greeting } from "./platform/bare-server.ts";
import { Inbox, numbersOf, startRig, Tick } from "./rig.ts";

/** As a program without types may call it. */
const untyped = <T>(value: unknown) => value as T;

test("what is no handler, no modulator, no place and no policy is refused where it is given, and what would be right is said", async () => {
  await using rig = await startRig();
  const channel = rig.session().channel("a", Tick);
  const subscribe = (options: unknown) => channel.subscribe(() => {}, untyped<SubscribeOptions>(options));
  const produce = (options: unknown) => channel.produce(untyped<ProduceOptions>(options));
  await expect(channel.subscribe(untyped<() => void>({ modulator: undefined }))).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("function"),
  });
  for (const modulator of [() => true, "event => true", {}])
    await expect(subscribe({ modulator })).rejects.toMatchObject({
      code: "MODULATOR_INVALID",
      message: expect.stringContaining("modulatorFrom"),
    });
  await expect(subscribe({ as: "hot" })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("modulator"),
  });
  await expect(subscribe({ from: "yesterday" })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining('"last"'),
  });
  await expect(subscribe({ queue: { whenFull: "error" } })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("latest"),
  });
  await expect(produce({ queue: { whenFull: "latest" } })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("drop-oldest"),
  });
  await expect(produce({ key: "nota" })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: 'key is "nota", which is no field of Tick with a number or a text; did you mean "note"?',
  });
});

test("a modulator's file that is no URL is refused, saying how it would be one", async () => {
  await expect(modulatorFromFile(untyped<URL>("./a.ts"))).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: 'modulatorFromFile() takes a URL: new URL("./a.ts", import.meta.url)',
  });
});

test("what is no address, no place, no type and no name is refused where it is given", async () => {
  for (const address of [
    "",
    "localhost:99999",
    "localhost:http",
    "jecho://localhost:8080/a",
    "https://",
    "a b",
    undefined,
  ])
    expect(() => connect(untyped(address))).toThrow(/not the address of a gateway/);
  expect(() => connect("localhost:1", { place: untyped("there") })).toThrow(
    'place is "there"; "here", "worker" or "shared" is wanted',
  );
  expect(() => connect("localhost:1", { queue: { whenFull: untyped("latest") } })).toThrow("drop-oldest");
  for (const name of ["others", "neighbours"])
    expect(() => connect("localhost:1", { [name]: "localhost:2" })).toThrow(
      `${name} is "localhost:2"; a list is wanted`,
    );
  await using rig = await startRig();
  const session = rig.session();
  expect(() => session.channel("a", untyped<typeof Tick>({ n: "uint32" }))).toThrow(
    expect.objectContaining({
      code: "ARGUMENT_INVALID",
      message: expect.stringContaining("type(name, fields)"),
    }),
  );
  expect(() => session.channel(untyped(undefined))).toThrow("a channel's name is a string");
  for (const state of [5, [1], new Map()])
    expect(() => session.share(untyped<object>(state))).toThrow(
      expect.objectContaining({ code: "OBJECT_INVALID" }),
    );
  const object = session.share({ n: 1 });
  expect(() => object.update(untyped(5))).toThrow(expect.objectContaining({ code: "OBJECT_INVALID" }));
  const modulator = untyped<Modulator>(sample(2));
  await expect(session.channel("a", Tick).subscribe(() => {}, { modulator })).rejects.toMatchObject({
    code: "MODULATOR_INVALID",
    message: expect.stringContaining("pair"),
  });
});

test("an option that a call does not have is refused, naming the nearest that it has, and so are options that are none", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const channel = session.channel("a", Tick);
  const consumer = await channel.subscribe(() => {});
  const producer = await channel.produce();
  const url = new URL("./above.modulator.ts", import.meta.url);
  const calls: Readonly<Record<string, (options: never) => unknown>> = {
    connect: options => connect("localhost:1", options),
    produce: options => channel.produce(options),
    subscribe: options => channel.subscribe(() => {}, options),
    reset: options => consumer.reset(options),
    publishSync: options => producer.publishSync({ n: 1, note: "" }, options),
    publishWhenReady: options => producer.publishWhenReady({ n: 1, note: "" }, options),
    share: options => session.share({}, options),
    attach: options => session.attach("id", options),
    modulatorFrom: options => modulatorFrom(() => true, options),
    modulatorFromFile: options => modulatorFromFile(url, options),
  };
  /** Whether it is thrown or rejected. */
  const message = async (call: string, options: unknown): Promise<string> => {
    try {
      await calls[call]?.(untyped<never>(options));
    } catch (error) {
      expect(error).toMatchObject({ code: "ARGUMENT_INVALID" });
      return (error as Error).message;
    }
    throw new Error(`${call}() took them`);
  };
  for (const [call, options, wrong, right] of [
    ["connect", { plce: "here" }, "plce", "place"],
    [
      "connect",
      { modulators: { limits: { callMS: 5 } } },
      "modulators.limits.callMS",
      "modulators.limits.callMs",
    ],
    ["connect", { backoff: { fistMs: 5 } }, "backoff.fistMs", "backoff.firstMs"],
    ["produce", { histry: {} }, "histry", "history"],
    ["produce", { delegate: { control: {} } }, "delegate.control", "delegate.controls"],
    ["subscribe", { whenful: "latest" }, "whenful", "queue.whenFull"],
    ["subscribe", { queue: { limitbytes: 5 } }, "queue.limitbytes", "queue.limitBytes"],
    ["reset", { modulater: sample(2).modulator }, "modulater", "modulator"],
    ["publishSync", { timeoutMS: 5 }, "timeoutMS", "timeoutMs"],
    ["publishWhenReady", { singal: undefined }, "singal", "signal"],
    ["share", { ids: "a" }, "ids", "id"],
    ["attach", { polcy: "lazy" }, "polcy", "policy"],
    ["modulatorFrom", { parametrs: {} }, "parametrs", "parameters"],
    ["modulatorFromFile", { object: {} }, "object", "objects"],
  ] as const)
    expect(await message(call, options)).toBe(`${call}() has no option "${wrong}"; did you mean "${right}"?`);
  expect(await message("attach", { colour: 1 })).toBe(
    'attach() has no option "colour"; there are policy, signal',
  );
  expect(await message("publishSync", { timeoutMs: Number.NaN })).toBe(
    "publishSync(): timeoutMs is NaN, which is no time",
  );
  for (const call of Object.keys(calls)) {
    expect(await message(call, null)).toBe(`${call}(): options is null; an object is wanted`);
    expect(await message(call, 5)).toBe(`${call}(): options is 5; an object is wanted`);
  }
  expect(await message("produce", { history: null })).toBe("produce(): history is null; an object is wanted");
  // An object of the application's own may have what it likes beside.
  class Model {
    readonly temperature = 281;
    readonly context = { temperature: () => this.temperature };
  }
  await channel.produce({ delegate: new Model() });
});

test("an option of a wrong kind is refused where it is given, and no other session of the process notices", async () => {
  await using rig = await startRig();
  const [session, other] = [rig.session({ place: "worker" }), rig.session({ place: "worker" })];
  await Promise.all([session.ready(), other.ready()]);
  const channel = session.channel("a", Tick);
  const modulator = { ...sample(2).modulator, objects: { limits: { id: 5, version: 1, state: {} } } };
  const wrong: Record<string, () => unknown> = {
    "connect(): name is 5; a string is wanted": () => connect("localhost:1", untyped({ name: 5 })),
    'connect(): connectTimeoutMs is "10s"; a number of at least 0 is wanted': () =>
      connect("localhost:1", untyped({ connectTimeoutMs: "10s" })),
    "connect(): backoff.random is 0.5; a function is wanted": () =>
      connect("localhost:1", untyped({ backoff: { random: 0.5 } })),
    'connect(): modulators.engine is "v8"; "isolated-vm" or "quickjs" is wanted': () =>
      connect("localhost:1", untyped({ modulators: { engine: "v8" } })),
    "connect(): modulating is true; a string is wanted": () =>
      connect("localhost:1", untyped({ modulating: true })),
    "connect(): modulators.limits.callMs is function; a number of at least 0 is wanted": () =>
      connect("localhost:1", untyped({ modulators: { limits: { callMs: () => 50 } } })),
    "produce(): key is 5; a string is wanted": () => channel.produce(untyped({ key: 5 })),
    "produce(): history.events is 1099511627776; a whole number from 0 to 4294967295 is wanted": () =>
      channel.produce({ history: { events: 2 ** 40 } }),
    'produce(): history.latest is "yes"; a boolean is wanted': () =>
      channel.produce({ history: untyped({ latest: "yes" }) }),
    "subscribe(): queue.limitBytes is -5; a whole number from 0 to 4294967295 is wanted": () =>
      channel.subscribe(() => {}, { queue: { limitBytes: -5 } }),
    "subscribe(): queue.limitBytes is Infinity; a whole number from 0 to 4294967295 is wanted": () =>
      channel.subscribe(() => {}, { queue: { limitBytes: Number.POSITIVE_INFINITY } }),
    "subscribe(): as is 5; a string is wanted": () => channel.subscribe(() => {}, untyped({ as: 5 })),
    "label is null; a string is wanted": () => channel.subscribe(() => {}, untyped({ label: null })),
    'from.epoch is "x"; a whole number from 0 to 4294967295 is wanted': () =>
      channel.subscribe(() => {}, { from: untyped({ epoch: "x", seq: 1 }) }),
    "objects.limits.id is 5; a string is wanted": () =>
      channel.subscribe(() => {}, { modulator: untyped(modulator) }),
    "an object's id is 5; a string is wanted": () => session.attach(untyped(5)),
    "an object's id is object; a string is wanted": () => session.attach(untyped(session.share({}))),
    "subject is 5; a string is wanted": () => session.kick(untyped(5)),
    "pattern is 5; a string is wanted": () => session.overview(untyped(5)),
    "token is 5; a bigint is wanted": () => session.type(untyped(5)),
  };
  for (const [message, act] of Object.entries(wrong))
    await expect(async () => act()).rejects.toMatchObject({ code: "ARGUMENT_INVALID", message });
  // What was refused has not reached the thread that both share.
  await Promise.all([session.flush(), other.flush()]);
  expect([session.status.state, other.status.state]).toEqual(["live", "live"]);
});

test("an event whose reading closes its producer is refused, as it goes nowhere", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const channel = session.channel("a", Tick);
  const seen = await numbersOf(rig, "a", Tick);
  const closing = (producer: { close(): unknown }) => ({
    n: 1,
    get note() {
      void producer.close();
      return "";
    },
  });
  const closed = { code: "CLOSED" };
  for (const raise of ["publish", "publishUrgent"] as const) {
    const producer = await channel.produce();
    expect(() => producer[raise](closing(producer))).toThrow(expect.objectContaining(closed));
  }
  for (const raise of ["publishSync", "publishWhenReady"] as const) {
    const producer = await channel.produce({ queue: {} });
    await expect(producer[raise](closing(producer))).rejects.toMatchObject(closed);
  }
  const producer = await channel.produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 2, note: "" });
  expect(await seen.take(1)).toEqual([2]);
});

test("what a handler throws is told as its failure", async () => {
  await using rig = await startRig();
  const channel = rig.session().channel("a", Tick);
  const told: { code: string; message: string }[] = [];
  const fail = () => {
    throw new Error("a mistake");
  };
  await channel.subscribe(fail, { onError: error => told.push(error) });
  (await channel.produce()).publish({ n: 1, note: "" });
  await expect.poll(() => told).toMatchObject([{ code: "HANDLER_FAILED", message: "a mistake" }]);
});

test("an event that is no bytes names json() on an untyped channel; a function in a shared object is named", async () => {
  await using rig = await startRig();
  const session = rig.session();
  await session.channel("a").subscribe(() => {});
  const producer = await session.channel("a").produce();
  expect(() => producer.publish(untyped<Uint8Array>({ n: 1 }))).toThrow("json()");
  expect(() => session.share({ wanted: () => 1 })).toThrow('"wanted" is a function');
});

test("a modulator that fails is told to onError where nobody listens to the status, with the place in its text", async () => {
  await using rig = await startRig();
  const channel = rig.session().channel("a", Tick);
  const errors: unknown[] = [];
  const options: ConsumerOptions = { onError: error => errors.push(error) };
  const least = 5;
  const modulator = modulatorFrom((event: typeof Tick.event) => event.n > least);
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator, ...options });
  const producer = await channel.produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 9, note: "" });
  await expect.poll(() => consumer.status.state).toBe("refused");
  await expect.poll(() => errors).toEqual([consumer.status.error]);
  expect(consumer.status.error).toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringMatching(
      /^a modulator of a: '?least'? is not defined \(line 1, column \d+ of its source\): .*parameters/,
    ),
  });
});

test("a modulator that fails is told to the session where its consumer listens to nothing", async () => {
  await using rig = await startRig();
  const errors: unknown[] = [];
  const session = rig.session({ onError: error => errors.push(error) });
  const modulator = modulatorFrom((event: { nothing: { more: boolean } }) => event.nothing.more);
  const consumer = await session.channel("a", Tick).subscribe(() => {}, { modulator });
  const producer = await rig.session().channel("a", Tick).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 9, note: "" });
  await expect.poll(() => consumer.status.error).toMatchObject({ code: "MODULATOR_FAILED" });
  expect(errors).toEqual([consumer.status.error]);
});

const IN_ITSELF: { it?: unknown } = {};
IN_ITSELF.it = IN_ITSELF;

test.each([
  ["a number that is none", { view: { south: Number.NaN } }, "view.south is NaN"],
  ["a list with a hole", { list: [1, undefined] }, "list[1] is undefined"],
  ["a typed array", { values: new Float32Array(2) }, "values is a Float32Array"],
  ["a date", { at: [new Date(0)] }, "at[0] is a Date"],
  ["a map", { by: new Map() }, "by is a Map"],
  ["a BigInt", { n: 5n }, "n is a bigint"],
  ["something in itself", { it: IN_ITSELF }, "in itself"],
])(
  "what JSON would change on the way is refused, in parameters and in shared objects, however deep: %s",
  async (_, data, message) => {
    await using rig = await startRig();
    const session = rig.session();
    const parameters = untyped<Json>(data);
    const source = `export { FifoModulator as default } from "jecho:moe";`;
    await expect(
      session.channel("a", Tick).subscribe(() => {}, { modulator: { source, parameters } }),
    ).rejects.toMatchObject({
      code: "PARAMETERS_INVALID",
      message: expect.stringContaining(message),
    });
    const refused = expect.objectContaining({ code: "OBJECT_INVALID" });
    expect(() => session.share(data)).toThrow(refused);
    const shared = session.share({ n: 1, more: {} });
    expect(() => shared.update({ more: data })).toThrow(refused);
    expect(shared.state).toEqual({ n: 1, more: {} });
    // What is not there is not there.
    expect(session.share({ n: { m: undefined } }).state).toBeDefined();
  },
);

test("a key and capabilities that are none are refused", async () => {
  await using rig = await startRig();
  const modulator = { source: `export { FifoModulator as default } from "jecho:moe";` };
  const channel = rig.session().channel("a", Tick);
  for (const options of [
    { modulator: { ...modulator, key: untyped<string>(5) } },
    { modulator, capabilities: untyped<string[]>("steer") },
  ])
    await expect(channel.subscribe(() => {}, options)).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
});

test("a session that reaches no gateway says where it looks for one", async () => {
  const other = createServer(socket => socket.destroy()).listen(0, "127.0.0.1");
  try {
    await once(other, "listening");
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    await using session = connect(address, { place: inject("place") });
    await expect.poll(() => session.status.error?.message).toContain(address);
    expect(session.status).toMatchObject({ state: "connecting", error: { code: "CONNECTION_LOST" } });
  } finally {
    other.close();
  }
});

/** A gateway of a later version: it greets, and ends the connection by a code. */
function laterGateway(code: number, reason: string): Server {
  return createServer(socket => {
    socket.on("error", () => {});
    socket.once("data", head => {
      const [, key = ""] = /Sec-WebSocket-Key: (.*)\r\n/.exec(`${head}`) ?? [];
      const [, protocol] = /Sec-WebSocket-Protocol: ([^,\r]*)/.exec(`${head}`) ?? [];
      const closing = Buffer.concat([Uint8Array.of(code >> 8, code & 255), Buffer.from(reason)]);
      socket.write(greeting(key, protocol));
      socket.end(frameOf(8, closing));
    });
  }).listen(0, "127.0.0.1");
}

test("WIRE-6: a code of a later version that says 'do not try again' ends a session as INTERNAL, in that gateway's words; another one has it come back", async () => {
  for (const [code, state, error] of [
    [4998, "refused", { code: "INTERNAL", message: "the moon is full" }],
    [4498, "connecting", { code: "CONNECTION_LOST", message: expect.stringContaining("4498") }],
  ] as const) {
    const later = laterGateway(code, "MOON_FULL: the moon is full");
    try {
      await once(later, "listening");
      const address = `127.0.0.1:${(later.address() as AddressInfo).port}`;
      await using session = connect(address, { place: inject("place") });
      await expect.poll(() => session.status).toMatchObject({ state, error });
    } finally {
      later.close();
    }
  }
});

test("an event that raises another one while it is read is refused, and so is one that is not the same when it is read again", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const seen = new Inbox<string>();
  for (const name of ["a", "b"])
    await rig
      .session()
      .channel(name, Tick)
      .subscribe(({ n, note }) => seen.put(`${name}${n} ${note}`));
  const [a, b] = await Promise.all(["a", "b"].map(name => session.channel(name, Tick).produce()));
  if (a === undefined || b === undefined) throw new Error("no producers");
  await expect.poll(() => [a.demand.total, b.demand.total]).toEqual([1, 1]);
  const bad = { code: "EVENT_INVALID" };
  for (const inner of [() => a.publish({ n: 8, note: "inner" }), () => b.publish({ n: 9, note: "inner" })]) {
    const event = {
      n: 1,
      get note() {
        inner();
        return "outer";
      },
    };
    expect(() => a.publish(event)).toThrow(expect.objectContaining(bad));
    await expect(a.publishSync(event)).rejects.toMatchObject(bad);
  }
  // What the other one is refused with is its own affair, and this one is whole.
  const refusals: unknown[] = [];
  const noted = {
    n: 2,
    get note() {
      void b.publishSync({ n: 9, note: "inner" }).catch(error => refusals.push(error.code));
      return "whole";
    },
  };
  a.publish(noted);
  // It would reach into the events behind it.
  let reads = 0;
  const growing = {
    n: 3,
    get note() {
      return "x".repeat(reads++ === 0 ? 1 : 100_000);
    },
  };
  expect(() => a.publish(growing)).toThrow(expect.objectContaining(bad));
  a.publish({ n: 4, note: "next" });
  b.publish({ n: 5, note: "next" });
  expect((await seen.take(3)).toSorted()).toEqual(["a2 whole", "a4 next", "b5 next"]);
  expect(new Set(refusals)).toEqual(new Set(["EVENT_INVALID"]));
  expect(a.stats.events).toBe(2);
});
