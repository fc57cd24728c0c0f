import { createGateway } from "@jecho/server";
import { encodeControl, joinFrames, type Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const MANY = 50_000;

const shares: Outgoing = { kind: "OpenObject", request: 1, object: "o", version: 1, state: "{}" };
const attaches: Outgoing = { kind: "OpenObject", request: 1, object: "o" };

/** Has one client share an object, and another one attach to it. @returns number of the other one's copy */
async function attached(master: RawClient, other: RawClient): Promise<number> {
  master.say(shares);
  await master.next("CopyUpdate");
  other.say(attaches);
  return (await other.next("CopyUpdate")).copy;
}

/** Most versions, or writes, that may have been handed on by the time of the call: 1,000 at once, and as many in each second. */
function startPace(): () => number {
  const beganMs = performance.now();
  return () => 1010 + performance.now() - beganMs;
}

test("OBJ-1, OBJ-12: of an object that changes all the time, others get the newest versions only, and no older one after a newer", async () => {
  await using gateway = await createGateway();
  using master = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  master.say(shares);
  await master.next("CopyUpdate");
  other.say(attaches);
  expect(await other.next("CopyUpdate")).toMatchObject({ version: 1, master: false });
  const update = (i: number): Uint8Array =>
    encodeControl({ kind: "ObjectUpdate", object: "o", version: i + 2, state: `{"n":${i}}` });
  const most = startPace();
  master.send(joinFrames(Array.from({ length: MANY }, (_, i) => update(i))));
  const versions = (): number[] =>
    other.frames.flatMap(frame => (frame.kind === "CopyUpdate" ? [frame.version] : []));
  await expect.poll(() => versions().at(-1)).toBe(MANY + 1);
  expect(versions().length).toBeLessThan(most());
  expect(versions()).toEqual(versions().toSorted((a, b) => a - b));
});

test("OBJ-12: writes that come all the time reach the master as few, with nothing left out", async () => {
  await using gateway = await createGateway();
  using master = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  const copy = await attached(master, other);
  const write = (i: number): Uint8Array =>
    encodeControl({ kind: "ObjectWrite", copy, write: i + 1, patch: `{"f${i % 50}":${i}}` });
  const most = startPace();
  other.send(joinFrames(Array.from({ length: MANY }, (_, i) => write(i))));
  const writes = () => master.frames.filter(frame => frame.kind === "ObjectWrite");
  await expect.poll(() => writes().at(-1)?.write).toBe(MANY);
  expect(writes().length).toBeLessThan(most());
  const state = Object.assign({}, ...writes().map(({ patch }) => JSON.parse(patch))) as object;
  expect(state).toEqual(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`f${i}`, MANY - 50 + i])));
});

test.each([
  ["is no JSON", "{", 4540],
  ["is no object", "[1]", 4540],
  ["is too large", `{"x":"${"x".repeat(65_536)}"}`, 4540],
  ["has a number that is none", `{"x":1e999}`, 4540],
  ["has a number that is none somewhere inside", `{"x":[{"y":-1e999}]}`, 4540],
  ["is too deep", `{"x":${"[".repeat(30_000)}${"]".repeat(30_000)}}`, 4540],
])("OBJ-7: a write that %s is refused at who sent it", async (_, patch, code) => {
  await using gateway = await createGateway();
  using master = await RawClient.connect(gateway);
  master.say(shares);
  await master.next("CopyUpdate");
  using other = await RawClient.connect(gateway);
  other.say(attaches);
  const { copy } = await other.next("CopyUpdate");
  other.say({ kind: "ObjectWrite", copy, write: 1, patch });
  expect(await other.next("Fault")).toMatchObject({ code });
  await master.isAlive();
  expect(master.frames.filter(({ kind }) => kind === "ObjectWrite")).toEqual([]);
});

test("OBJ-9: a write without a copy is refused", async () => {
  await using gateway = await createGateway();
  using master = await RawClient.connect(gateway);
  master.say(shares);
  const { copy } = await master.next("CopyUpdate");
  using stranger = await RawClient.connect(gateway);
  stranger.say({ kind: "ObjectWrite", copy, write: 1, patch: "{}" });
  expect(await stranger.next("Fault")).toMatchObject({ code: 4512 });
  stranger.say({ kind: "PullObject", copy });
  expect(await stranger.next("Fault")).toMatchObject({ code: 4512 });
});

test("OBJ-12: a connection has a bounded number of copies, and what is closed is forgotten", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway);
  const open = (request: number): Uint8Array =>
    encodeControl({ ...shares, request, object: `o${request}` } as Outgoing);
  client.send(joinFrames(Array.from({ length: 1025 }, (_, i) => open(i + 1))));
  expect(await client.next("Refused")).toMatchObject({ request: 1025, code: 4007 });
  const { copy } = await client.next("CopyUpdate");
  client.say({ kind: "CloseEndpoint", endpoint: copy });
  client.say({ ...attaches, request: 2000, object: "o1" } as Outgoing);
  expect(await client.next("Refused")).toMatchObject({ request: 2000, code: 4549 });
});

test.each([
  ["is no JSON", '{"x":'],
  ["is no object", "1"],
  ["is too large", `{"x":"${"x".repeat(65_536)}"}`],
])("OBJ-4: a state that %s is refused at who sent it, and reaches nobody", async (_, state) => {
  await using gateway = await createGateway();
  using master = await RawClient.connect(gateway);
  master.say({ ...shares, object: "p", state } as Outgoing);
  expect(await master.next("Refused")).toMatchObject({ request: 1, code: 4540 });
  master.say(shares);
  await master.next("CopyUpdate");
  using other = await RawClient.connect(gateway);
  other.say(attaches);
  await other.next("CopyUpdate");
  master.say({ kind: "ObjectUpdate", object: "o", version: 2, state });
  expect(await master.next("Fault")).toMatchObject({ code: 4540 });
  master.say({ kind: "ObjectUpdate", object: "o", version: 3, state: '{"y":1}' });
  expect(await other.next("CopyUpdate")).toMatchObject({ version: 3, state: '{"y":1}' });
});

test("OBJ-4: a number too large to be one is refused where it is sent: no copy could hold it", async () => {
  await using gateway = await createGateway();
  using master = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  const endless = '{"n":1e999}';
  master.say({ ...shares, object: "p", state: endless });
  expect(await master.next("Refused")).toMatchObject({ message: '"n" is Infinity, which is not plain data' });
  const copy = await attached(master, other);
  master.say({ kind: "ObjectUpdate", object: "o", version: 2, state: endless });
  expect(await master.next("Fault")).toMatchObject({ message: '"n" is Infinity, which is not plain data' });
  other.say({ kind: "ObjectWrite", copy, writer: 0, write: 1, patch: endless });
  expect(await other.next("Fault")).toMatchObject({ message: '"n" is Infinity, which is not plain data' });
});

test("OBJ-1: who runs modulators gets an update as its master wrote it; one that names a modulator is for all of them as well", async () => {
  await using gateway = await createGateway();
  using producer = await RawClient.connect(gateway);
  const schema = new Uint8Array(0);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true });
  await producer.next("ProducerOpened");
  using master = await RawClient.connect(gateway);
  const objects = [{ name: "wanted", object: "o", version: 1, state: "{}", lazy: false }];
  const modulator = { source: "", parameters: "", key: "", objects, capabilities: [], compares: false };
  master.say({ kind: "OpenConsumer", request: 1, channel: "a", schema, modulator });
  const { request, derived } = await producer.next("Install");
  producer.say({ kind: "Installed", request, derived, schema, needs: [], reads: schema });
  await master.next("ConsumerOpened");
  for (const [version, named] of [
    [2, 0],
    [3, derived],
  ] as const) {
    const update = { kind: "ObjectUpdate", object: "o", version, state: `{"é":${version}}` } as const;
    master.say({ ...update, derived: named });
    expect(await producer.next("ObjectUpdate")).toEqual({ ...update, derived: 0 });
  }
});

test("OBJ-12: a connection that goes takes no longer where others have many objects", async () => {
  await using gateway = await createGateway({ objectsPerConnection: MANY });
  const comeAndGo = async (): Promise<number> => {
    const clients = await Promise.all(Array.from({ length: 100 }, () => RawClient.connect(gateway)));
    const before = process.cpuUsage();
    await Promise.all(clients.map(client => client.cut()));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await comeAndGo();
  const alone = Math.max(await comeAndGo(), await comeAndGo());
  using keeper = await RawClient.connect(gateway);
  keeper.say(...Array.from({ length: MANY }, (_, i): Outgoing => ({ ...shares, object: `o${i}` })));
  for (let opened = 0; opened < MANY; opened++) await keeper.next("CopyUpdate");
  expect(Math.min(await comeAndGo(), await comeAndGo())).toBeLessThan(3 * alone);
});

test.each([
  ["term", { term: 2 ** 32 - 1, version: 2 }],
  ["version", { term: 1, version: 2 ** 32 - 1 }],
])(
  "OBJ-11: whoever says the last %s that there could be is refused, and the object goes on",
  async (_, counts) => {
    await using gateway = await createGateway();
    using master = await RawClient.connect(gateway);
    using other = await RawClient.connect(gateway);
    using stranger = await RawClient.connect(gateway);
    master.say(shares);
    await master.next("CopyUpdate");
    other.say(attaches);
    await other.next("CopyUpdate");
    stranger.say({ ...shares, ...counts, state: '{"x":1}' } as Outgoing);
    expect(await stranger.next("Refused")).toMatchObject({ code: 4540 });
    await stranger.cut();
    master.say({ kind: "ObjectUpdate", object: "o", version: 2, state: '{"y":1}' });
    expect(await other.next("CopyUpdate")).toMatchObject({ version: 2, state: '{"y":1}' });
  },
);

test("OBJ-11: where a stranger has brought an object near its last term, masters go on taking turns", async () => {
  await using gateway = await createGateway();
  using first = await RawClient.connect(gateway);
  first.say(shares);
  await first.next("CopyUpdate");
  const stranger = await RawClient.connect(gateway);
  stranger.say({ ...shares, term: 2 ** 32 - 2 ** 16, version: 2, state: '{"x":1}' } as Outgoing);
  expect(await stranger.next("CopyUpdate")).toMatchObject({ master: true });
  expect(await first.next("CopyUpdate")).toMatchObject({ master: false, state: '{"x":1}' });
  await stranger.cut();
  while (!(await first.next("CopyUpdate")).master);
  using second = await RawClient.connect(gateway);
  second.say(attaches);
  await second.next("CopyUpdate");
  first.say({ kind: "ObjectUpdate", object: "o", version: 3, state: '{"y":1}' });
  expect(await second.next("CopyUpdate")).toMatchObject({ master: false, version: 3, state: '{"y":1}' });
});

test("OBJ-7: a master that says that it took what nobody wrote is not believed", async () => {
  await using gateway = await createGateway();
  using master = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  const copy = await attached(master, other);
  const take = (write: number, version: number): void =>
    master.say(
      { kind: "ObjectTaken", copy, write },
      { kind: "ObjectUpdate", object: "o", version, state: `{"n":${version}}` },
    );
  take(1, 2);
  expect(await other.next("CopyUpdate")).toMatchObject({ version: 2, write: 0 });
  other.say({ kind: "ObjectWrite", copy, write: 1, patch: '{"x":1}' });
  await master.next("ObjectWrite");
  take(2, 3);
  expect(await other.next("CopyUpdate")).toMatchObject({ version: 3, write: 0 });
  take(1, 4);
  expect(await other.next("CopyUpdate")).toMatchObject({ version: 4, write: 1 });
});
