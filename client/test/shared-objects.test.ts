import { connect, type SharedObject, type View, viewFilter } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick, whenState } from "./rig.ts";

interface Linked {
  x: number;
  y: number;
  by: string;
}
const START: Linked = { x: 0, y: 0, by: "" };

const ABOVE = `import { FifoModulator } from "jecho:moe";
  export default class extends FifoModulator {
    enqueue(event) { if (event.n >= this.objects.limit.x) super.enqueue(event); }
  }`;

test("OBJ-6: two sessions link their views: each shows its own change at once, and the other's soon", async () => {
  await using rig = await startRig();
  const master = rig.session().share<Linked>(START);
  await master.ready();
  const second = await rig.session().attach<Linked>(master.id);
  expect(second.state).toEqual(START);
  expect([master.isMaster, second.isMaster]).toEqual([true, false]);
  master.update({ x: 1 });
  await expect.poll(() => second.state).toEqual({ x: 1, y: 0, by: "" });
  second.update({ y: 2 });
  expect(second.state).toEqual({ x: 1, y: 2, by: "" });
  await expect.poll(() => master.state).toEqual({ x: 1, y: 2, by: "" });
  await expect.poll(() => second.version).toBe(master.version);
});

test("OBJ-7: writers of different fields keep theirs; of one field the last that reaches the master wins, everywhere", async () => {
  await using rig = await startRig();
  const master = rig.session().share<Linked>(START);
  await master.ready();
  const copies = await Promise.all([1, 2, 3].map(() => rig.session().attach<Linked>(master.id)));
  const all = [master, ...copies];
  for (let round = 1; round <= 50; round++) {
    for (const [i, copy] of all.entries()) copy.update({ by: `${i} in ${round}` });
    copies[0]?.update({ x: round });
    copies[1]?.update({ y: round });
    await Promise.resolve();
  }
  await expect.poll(() => [master.state.x, master.state.y]).toEqual([50, 50]);
  await expect.poll(() => master.version).toBeGreaterThan(3);
  // Once nothing is under way, every copy shows what the master has: somebody's last word.
  const shown = (): Set<string> => new Set(all.map(({ version, state }) => JSON.stringify([version, state])));
  await expect.poll(() => shown().size).toBe(1);
  expect(master.state.by).toMatch(/^\d in 50$/);
});

test("whoever listens to a copy hears of its own updates at once, and of others'", async () => {
  await using rig = await startRig();
  const master = rig.session().share<Linked>(START);
  await master.ready();
  const second = await rig.session().attach<Linked>(master.id);
  const heard = new Map([master, second].map(copy => [copy, [] as Readonly<Linked>[]]));
  for (const [copy, states] of heard) copy.onChange(({ state }) => states.push(state));
  second.update({ x: 7 });
  expect(heard.get(second)).toEqual([second.state]);
  await expect.poll(() => heard.get(master)).toEqual([second.state]);
  master.update({ y: 8 });
  master.update({ y: 8 });
  expect(heard.get(master)?.slice(1)).toEqual([master.state]);
  await expect.poll(() => second.state).toEqual(master.state);
  expect(heard.get(second)?.at(-1)).toEqual(master.state);
});

test("OBJ-7: a write that the master does not take is corrected where it was made", async () => {
  await using rig = await startRig();
  const master = rig.session().share<Linked>(START);
  await master.ready();
  const second = await rig.session().attach<Linked & { more?: string }>(master.id);
  const shown: (string | undefined)[] = [];
  second.onChange(({ state }) => shown.push(state.more));
  // Each for itself is small enough; the master's own comes first.
  second.update({ more: "b".repeat(40_000) });
  master.update({ by: "a".repeat(40_000) });
  expect(second.state.more).toHaveLength(40_000);
  await expect.poll(() => second.state.more).toBeUndefined();
  expect(shown.at(-1)).toBeUndefined();
  expect([second.state.by.length, second.version]).toEqual([40_000, master.version]);
});

test("OBJ-4: what is too large, or no object, is refused where it is shared or changed, and nothing of it is kept", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const bad = expect.objectContaining({ code: "OBJECT_INVALID" });
  const big = "x".repeat(65_536);
  for (const state of [{ big }, [1], null, "x"]) expect(() => session.share(state as object)).toThrow(bad);
  const master = session.share<Linked>(START);
  await master.ready();
  const second = await rig.session().attach<Linked>(master.id);
  for (const copy of [master, second]) {
    for (const patch of [{ by: big }, [1], null]) expect(() => copy.update(patch as object)).toThrow(bad);
    expect([copy.version, copy.state]).toEqual([1, START]);
  }
  master.update({ x: 1 });
  await expect.poll(() => [second.version, second.state]).toEqual([2, { ...START, x: 1 }]);
});

test("OBJ-7: what changes an object while a change of it is read is not lost, and what is changed in a value later is no part of it", async () => {
  await using rig = await startRig();
  const master = rig.session().share({ list: [0], inner: { x: 0 }, y: 0 });
  await master.ready();
  const second = await rig.session().attach<typeof master.state>(master.id);
  for (const [i, copy] of [master, second].entries()) {
    let reads = 0;
    const inner = {
      get x() {
        if (++reads === 1) copy.update({ y: i + 1 });
        return i + 1;
      },
    };
    copy.update({ inner });
    const list = [i + 1];
    copy.update({ list });
    list.push(7);
    const state = { list: [i + 1], inner: { x: i + 1 }, y: i + 1 };
    expect(copy.state).toEqual(state);
    await expect.poll(() => [master.state, second.state]).toEqual([state, state]);
    await expect.poll(() => second.version).toBe(master.version);
  }
});

test("OBJ-8: a lazy copy hears of newer versions, and has the state when it pulls", async () => {
  await using rig = await startRig();
  const master = rig.session().share<Linked>(START);
  await master.ready();
  const lazy = await rig.session().attach<Linked>(master.id, { policy: "lazy" });
  master.update({ x: 7 });
  await expect.poll(() => lazy.newestVersion).toBe(2);
  expect([lazy.version, lazy.state.x]).toEqual([1, 0]);
  await lazy.pull();
  expect([lazy.version, lazy.state.x]).toEqual([2, 7]);
  // What it writes itself it shows at once all the same.
  lazy.update({ y: 3 });
  expect(lazy.state).toEqual({ x: 7, y: 3, by: "" });
  await expect.poll(() => master.state.y).toBe(3);
});

test("OBJ-3: the writes of another session's copy reach modulators, whose events say the version", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const viewer = rig.session();
  const limit = viewer.share<Linked>(START);
  await limit.ready();
  const inbox = new Inbox<{ n: number; version: number }>();
  await viewer
    .channel("a", Tick)
    .subscribe(({ n }, { parameters }) => inbox.put({ n, version: parameters }), {
      modulator: { source: ABOVE, objects: { limit } },
    });
  const other = await rig.session().attach<Linked>(limit.id);
  other.update({ x: 10 });
  await expect.poll(() => producer.demand.derived[0]?.objects.limit).toMatchObject({ x: 10 });
  for (const n of [9, 10]) producer.publish({ n, note: "" });
  expect(await inbox.take(1)).toEqual([{ n: 10, version: limit.version }]);
  await expect.poll(() => other.version).toBe(limit.version);
});

test("OBJ-6: a modulator may read an object whose master copy is in another session", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const master = rig.session().share<Linked>({ ...START, x: 2 });
  await master.ready();
  const viewer = rig.session();
  const limit = await viewer.attach<Linked>(master.id);
  const inbox = new Inbox<number>();
  await viewer
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: { source: ABOVE, objects: { limit } } });
  for (const n of [1, 2]) producer.publish({ n, note: "" });
  expect(await inbox.take(1)).toEqual([2]);
  master.update({ x: 5 });
  await expect.poll(() => producer.demand.derived[0]?.objects.limit).toMatchObject({ x: 5 });
  for (const n of [4, 5]) producer.publish({ n, note: "" });
  expect(await inbox.take(2)).toEqual([2, 5]);
});

test("OBJ-9: who does not know the id cannot have a copy", async () => {
  await using rig = await startRig();
  const master = rig.session().share<Linked>(START);
  await master.ready();
  await rig.session().attach(master.id);
  const refused = rig.session().attach(master.id.replace(/./g, "0"));
  await expect(refused).rejects.toMatchObject({ code: "OBJECT_UNKNOWN" });
  await expect(rig.session().attach("x".repeat(65))).rejects.toMatchObject({ code: "OBJECT_INVALID" });
});

test("OBJ-10: who shares an id that is shared has a further copy of that", async () => {
  await using rig = await startRig();
  const [one, two] = [rig.session(), rig.session()];
  const first = one.share<Linked>({ ...START, x: 1 }, { id: "lab/view" });
  await first.ready();
  const second = two.share<Linked>({ ...START, x: 2 }, { id: "lab/view" });
  await expect.poll(() => second.isMaster).toBe(false);
  expect(second.state.x).toBe(1);
  second.update({ y: 4 });
  await expect.poll(() => first.state).toEqual({ x: 1, y: 4, by: "" });
});

test("OBJ-4, OBJ-10: a change before its copy hears that another one is the master counts, and is no fault", async () => {
  const errors: unknown[] = [];
  await using rig = await startRig();
  const first = rig.session().share<Linked>({ ...START, x: 1 }, { id: "lab/view" });
  await first.ready();
  const session = rig.session({ place: "worker", onError: error => errors.push(error) });
  await session.ready();
  const second = session.share<Linked>(START, { id: "lab/view" });
  second.update({ y: 4 });
  expect(second.isMaster).toBe(true);
  await expect.poll(() => first.state).toEqual({ x: 1, y: 4, by: "" });
  // A fault would have come before the answer.
  await session.overview();
  expect(errors).toEqual([]);
});

test("OBJ-11: where the master's session ends, the copy that was attached first goes on as the master", async () => {
  await using rig = await startRig();
  const owner = rig.session();
  const shared = owner.share<Linked>({ ...START, x: 1 });
  await shared.ready();
  const { id } = shared;
  const heir = await rig.session().attach<Linked>(id);
  const third = await rig.session().attach<Linked>(id);
  await owner.close();
  third.update({ y: 5 });
  await expect.poll(() => heir.isMaster).toBe(true);
  await expect.poll(() => heir.state).toEqual({ x: 1, y: 5, by: "" });
  heir.update({ x: 6 });
  await expect.poll(() => third.state).toEqual({ x: 6, y: 5, by: "" });
  expect(third.isMaster).toBe(false);
});

test("OBJ-11: a master that comes back finds another one, and what it changed meanwhile is a write", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const session = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const first = session.share<Linked>(START);
  await first.ready();
  const heir = await rig.session().attach<Linked>(first.id);
  const apart = whenState(session, "reconnecting");
  way.cut();
  await apart;
  first.update({ x: 1 });
  heir.update({ y: 2 });
  await whenState(session, "live");
  await expect.poll(() => heir.state).toEqual({ x: 1, y: 2, by: "" });
  await expect.poll(() => first.state).toEqual(heir.state);
  expect([first.isMaster, heir.isMaster]).toEqual([false, true]);
  await session.close();
});

test("OBJ-11: after a restart of the gateway the newest copy is there again, and its master", async () => {
  await using rig = await startRig();
  const { port } = rig.gateway;
  const [one, two] = [rig.session(), rig.session()];
  const first = one.share<Linked>(START);
  await first.ready();
  const second = await two.attach<Linked>(first.id);
  const interrupted = Promise.all([whenState(one, "reconnecting"), whenState(two, "reconnecting")]);
  await rig.gateway.close();
  await interrupted;
  second.update({ y: 3 });
  first.update({ x: 8 });
  await using _again = await startRig({ port });
  await expect.poll(() => first.state).toEqual({ x: 8, y: 3, by: "" });
  await expect.poll(() => second.state).toEqual({ x: 8, y: 3, by: "" });
  expect([first, second].filter(({ isMaster }) => isMaster)).toHaveLength(1);
  first.update({ x: 9 });
  await expect.poll(() => second.state.x).toBe(9);
  second.update({ x: 10 });
  await expect.poll(() => first.state.x).toBe(10);
});

test("OBJ-11: what a master changed while nothing of it reached the gateway is a write when it comes back", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const first = session.share<Linked>(START);
  await first.ready();
  first.update({ by: "first" });
  const heir = await rig.session().attach<Linked>(first.id);
  await expect.poll(() => heir.state.by).toBe("first");
  // As far as it knows it is connected, and the master.
  way.hold();
  first.update({ x: 1 });
  first.update({ x: 2, by: "again" });
  await expect.poll(() => way.heldBytes).toBeGreaterThan(0);
  const back = whenState(session, "reconnecting").then(() => whenState(session, "live"));
  way.part();
  await expect.poll(() => heir.isMaster).toBe(true);
  heir.update({ y: 7, by: "heir" });
  way.release();
  way.join();
  await back;
  await expect.poll(() => heir.state).toEqual({ x: 2, y: 7, by: "again" });
  await expect.poll(() => first.state).toEqual(heir.state);
  expect([first.isMaster, heir.isMaster]).toEqual([false, true]);
});

test("OBJ-11: what the master changes before the answer of the next gateway comes reaches the others, and so does what follows", async () => {
  await using rig = await startRig();
  const { port } = rig.gateway;
  const session = rig.session();
  const object = session.share<Linked>(START);
  await object.ready();
  const interrupted = whenState(session, "reconnecting");
  await rig.gateway.close();
  await interrupted;
  const back = whenState(session, "live");
  await using _again = await startRig({ port });
  await back;
  // The gateway has the opening and these changes before the master hears of either.
  const heard = Promise.withResolvers<void>();
  const stop = object.onChange(() => heard.resolve());
  for (let x = 1; x <= 20; x++) {
    object.update({ x });
    await Promise.resolve();
  }
  await heard.promise;
  stop();
  const second = await rig.session().attach<Linked>(object.id);
  await expect.poll(() => second.state.x).toBe(20);
  object.update({ y: 1 });
  await expect.poll(() => second.state).toEqual({ x: 20, y: 1, by: "" });
});

test("OBJ-11: what two copies changed at two gateways that never knew both is all there at a third one", async () => {
  await using rig = await startRig();
  const { port, address } = rig.gateway;
  const backoff = { firstMs: 20, mostMs: 100 };
  await using oneWay = await startCutter(address);
  await using twoWay = await startCutter(address);
  await using ones = connect(oneWay.address, { backoff });
  await using twos = connect(twoWay.address, { backoff });
  const one = ones.share<Linked>(START);
  await one.ready();
  const two = await twos.attach<Linked>(one.id);
  // Each is alone at a gateway, and the master there: the same term, by its number, with other versions.
  oneWay.part();
  await rig.gateway.close();
  const second = await startRig({ port });
  await expect.poll(() => two.isMaster).toBe(true);
  for (let y = 1; y <= 5; y++) {
    const { version } = two;
    two.update({ y });
    await expect.poll(() => two.version).toBeGreaterThan(version);
  }
  await whenState(twos, "live");
  twoWay.part();
  await second[Symbol.asyncDispose]();
  await using _third = await startRig({ port });
  oneWay.join();
  await whenState(ones, "live");
  one.update({ x: 1 });
  one.update({ by: "one" });
  twoWay.join();
  for (const copy of [one, two]) await expect.poll(() => copy.state).toEqual({ x: 1, y: 5, by: "one" });
  expect([one, two].filter(({ isMaster }) => isMaster)).toHaveLength(1);
});

test("OBJ-11: what the next gateway does not hear of at once is written again by whoever had changed it, and nothing else", async () => {
  await using rig = await startRig();
  const { port, address } = rig.gateway;
  const backoff = { firstMs: 20, mostMs: 100 };
  await using mastersWay = await startCutter(address);
  await using writersWay = await startCutter(address);
  await using way = await startCutter(address);
  await using masters = connect(mastersWay.address, { backoff });
  await using writers = connect(writersWay.address, { backoff });
  await using session = connect(way.address, { backoff });
  const master = masters.share<Linked>(START);
  await master.ready();
  const writer = await writers.attach<Linked>(master.id);
  const behind = await session.attach<Linked>(master.id);
  master.update({ x: 1 });
  writer.update({ by: "writer" });
  await expect.poll(() => behind.state).toEqual({ x: 1, y: 0, by: "writer" });
  // From here on this copy hears of nothing that the master takes.
  way.stall();
  behind.update({ x: 5 });
  master.update({ y: 2 });
  writer.update({ by: "writer, again" });
  for (const copy of [writer, master])
    await expect.poll(() => copy.state).toEqual({ x: 5, y: 2, by: "writer, again" });
  mastersWay.part();
  writersWay.part();
  await rig.gateway.close();
  way.cut();
  way.flow();
  await using _again = await startRig({ port });
  await expect.poll(() => behind.isMaster).toBe(true);
  behind.update({ x: 6 });
  writersWay.join();
  await expect.poll(() => behind.state).toEqual({ x: 6, y: 0, by: "writer, again" });
  mastersWay.join();
  for (const copy of [behind, master, writer])
    await expect.poll(() => copy.state).toEqual({ x: 6, y: 2, by: "writer, again" });
  expect([behind, master, writer].filter(({ isMaster }) => isMaster)).toHaveLength(1);
});

test("OBJ-1, OBJ-5: a modulator that had newer versions than the next gateway goes by that one's", async () => {
  await using rig = await startRig();
  const { port, address } = rig.gateway;
  const backoff = { firstMs: 20, mostMs: 100 };
  await using mastersWay = await startCutter(address);
  await using way = await startCutter(address);
  await using masters = connect(mastersWay.address, { backoff });
  await using session = connect(way.address, { backoff });
  const master = masters.share<Linked>(START);
  await master.ready();
  const limit = await session.attach<Linked>(master.id);
  const producer = await rig.session().channel("readings", Tick).produce();
  const inbox = new Inbox<number>();
  await session.channel("readings", Tick).subscribe(({ n }) => inbox.put(n), {
    modulator: { source: ABOVE, objects: { limit } },
  });
  way.stall();
  for (let x = 1; x <= 9; x++) master.update({ x });
  await expect.poll(() => producer.demand.derived[0]?.objects.limit).toMatchObject({ x: 9 });
  mastersWay.part();
  await rig.gateway.close();
  way.cut();
  way.flow();
  await using _again = await startRig({ port });
  await expect.poll(() => limit.isMaster).toBe(true);
  limit.update({ x: 4 });
  await expect.poll(() => producer.demand.derived[0]?.objects.limit).toMatchObject({ x: 4 });
  for (let n = 1; n <= 6; n++) producer.publish({ n, note: "" });
  expect(await inbox.take(3)).toEqual([4, 5, 6]);
});

test("HAND-1: objects that no modulator reads are handed over, too", async () => {
  await using rig = await startRig();
  const first = rig.session();
  const view: View = { firstLayer: 0, lastLayer: 9, south: -90, north: 90, west: 0, east: 360, stride: 1 };
  const shared = first.share(view);
  expect(viewFilter(shared).modulator).toBeDefined();
  await shared.ready();
  const linked = await rig.session().attach<View>(shared.id);
  const { token } = await first.handover();
  const second = rig.session({ handover: token });
  const { objects } = await second.inheritance();
  const inherited = objects[0] as SharedObject<View>;
  expect(inherited.state).toEqual(view);
  inherited.update({ stride: 3 });
  await expect.poll(() => linked.state.stride).toBe(3);
  linked.update({ south: 0 });
  await expect.poll(() => inherited.state.south).toBe(0);
});

test("OBJ-4: what is shared is what JSON makes of it, read once", async () => {
  await using rig = await startRig();
  const master = rig.session().share<Record<string, unknown>>({ a: -0, b: [-0, null], c: null, d: "\ud800" });
  await master.ready();
  const second = await rig.session().attach<typeof master.state>(master.id);
  let reads = 0;
  const patch = JSON.parse('{"__proto__":{"e":1}}');
  Object.defineProperty(patch, "f", { get: () => (++reads === 1 ? true : undefined), enumerable: true });
  master.update(patch);
  const text = '{"a":0,"b":[0,null],"c":null,"d":"\\ud800","__proto__":{"e":1},"f":true}';
  await expect.poll(() => second.version).toBe(2);
  for (const { state } of [master, second]) {
    expect(JSON.stringify(state)).toBe(text);
    expect(Object.is(state["a"], 0)).toBe(true);
  }
  for (const bad of [Number.NaN, undefined, () => {}, 1n, new Date(0), { inner: Number.POSITIVE_INFINITY }])
    expect(() => master.update({ g: bad })).toThrow(expect.objectContaining({ code: "OBJECT_INVALID" }));
  expect(master.version).toBe(2);
});
