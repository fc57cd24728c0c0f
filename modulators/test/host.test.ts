import { readdirSync, readFileSync } from "node:fs";
import { fifo, modulatorKey, viewFilter } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { expect, test, vi } from "vitest";
import { BASE, encodeEvents, grid, layerOf, runOf } from "./grid.ts";
import { modulator, Rig, SOURCE, USUAL } from "./rig.ts";

const VIEW = { firstLayer: 0, lastLayer: 0, south: -90, north: 90, west: -180, east: 180, stride: 1 };

function isAlive(pid: number | undefined): boolean {
  try {
    process.kill(pid as number, 0);
    return true;
  } catch {
    return false;
  }
}

test("F3: a host killed in the middle is back with all modulators, and no run is lost or seen twice", async () => {
  await using rig = new Rig();
  const before = performance.now();
  const all = await rig.install(fifo().modulator);
  const startMs = performance.now() - before;
  const one = await rig.install(viewFilter({ id: "v", version: 1, state: VIEW }).modulator);
  let fastestMs = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 20; i++) rig.step();
    await vi.waitUntil(() => rig.received(all).length > 60 * round, { interval: 1, timeout: 60_000 });
    const then = performance.now();
    process.kill(rig.host.stats.pid as number, "SIGKILL");
    const { restarts } = rig;
    await vi.waitUntil(() => rig.restarts > restarts, { interval: 1, timeout: 60_000 });
    await rig.settled();
    fastestMs = Math.min(fastestMs, performance.now() - then);
  }
  expect(rig.removed.size).toBe(0);
  expect(rig.received(all).map(({ event }) => event.step)).toEqual(
    Array.from({ length: 180 }, (_, i) => 1 + Math.floor(i / 3)),
  );
  expect(rig.received(all).map(({ raised }) => raised)).toEqual(Array.from({ length: 180 }, (_, i) => i));
  expect(rig.received(one).map(({ event }) => event.step)).toEqual(
    Array.from({ length: 60 }, (_, i) => 1 + i),
  );
  expect(rig.host.stats).toMatchObject({ restarts: 3 });
  // A second, where a machine starts its first host in a tenth of that.
  expect(fastestMs).toBeLessThan(Math.max(1000, 10 * startMs));
});

test("a new host knows the state of the shared objects that was told last, whatever its version", async () => {
  await using rig = new Rig();
  const derived = await rig.install(viewFilter({ id: "v", version: 1, state: VIEW }).modulator);
  rig.host.update({
    object: "v",
    version: 4,
    state: JSON.stringify({ ...VIEW, firstLayer: 2, lastLayer: 2 }),
  });
  // A gateway that was started again.
  rig.host.update({
    object: "v",
    version: 3,
    state: JSON.stringify({ ...VIEW, firstLayer: 1, lastLayer: 1 }),
  });
  process.kill(rig.host.stats.pid as number, "SIGKILL");
  rig.step();
  await rig.settled();
  expect(rig.received(derived)).toMatchObject([{ parameters: 3, event: { layer: 1 } }]);
});

test("a modulator that kills its host again and again is removed, the others stay", async () => {
  await using rig = new Rig({ limits: USUAL });
  const good = await rig.install(fifo().modulator);
  const bad = await rig.install(modulator("enqueue() { let x = 3n; for (;;) x *= x; }"));
  const after = await rig.install(fifo().modulator);
  for (let i = 0; i < 5; i++) rig.step();
  await rig.settled();
  expect(rig.removed.get(bad)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  for (const derived of [good, after]) expect(rig.received(derived).length).toBe(15);
});

test("who installs a modulator has its answer before the news that it is removed", async () => {
  await using rig = new Rig({ limits: USUAL });
  const table = modulatorTable(modulator("enqueue() { let x = 3n; for (;;) x *= x; }"));
  const heard: boolean[] = [];
  const asked = rig.host.install({ derived: 9, channel: BASE, schema: grid.schema, modulator: table }, () =>
    heard.push(rig.removed.has(9)),
  );
  rig.step();
  await asked;
  await rig.settled();
  expect(rig.removed.get(9)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  expect(heard).toEqual([false]);
});

test("a modulator that fails while it is asked for a turn more takes nobody with it", async () => {
  await using rig = new Rig();
  const good = await rig.install(fifo().modulator);
  const bad = await rig.install(modulator("enqueue() { throw new Error('no more'); }"));
  rig.step();
  rig.host.flow(bad, false);
  rig.host.flow(bad, true);
  await vi.waitUntil(() => rig.removed.has(bad), { interval: 1, timeout: 60_000 });
  for (let i = 0; i < 20; i++) {
    rig.step();
    await rig.settled();
  }
  expect(rig.received(good).length).toBe(63);
  expect(rig.host.stats).toMatchObject({ restarts: 0 });
});

test("runs are done when the only modulator went with its host", async () => {
  await using rig = new Rig({ limits: USUAL });
  await rig.install(modulator("enqueue() { let x = 3n; for (;;) x *= x; }"));
  for (const tag of ["first", "second"]) rig.publish([layerOf(1, 0)], tag);
  await rig.settled();
  expect(rig.removed.size).toBe(1);
  expect(rig.done).toEqual(["first", "second"]);
});

test("close leaves no process behind, nor does idleness", async () => {
  const rig = new Rig();
  await rig.install(fifo().modulator);
  const { pid } = rig.host.stats;
  expect(isAlive(pid)).toBe(true);
  await rig.host.close();
  expect(isAlive(pid)).toBe(false);
  await expect(rig.install(fifo().modulator)).rejects.toMatchObject({ code: "CLOSED" });
});

test("MOE-12: the periods go on in a new host", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator("static periodMs = 15; period() { super.enqueue({ step: 1 }); }"),
  );
  await vi.waitUntil(() => rig.received(derived).length > 0, { interval: 5, timeout: 60_000 });
  process.kill(rig.host.stats.pid as number, "SIGKILL");
  await vi.waitUntil(() => rig.restarts === 1, { interval: 5, timeout: 60_000 });
  // MOE-11: its state is lost, and that is told.
  expect(rig.impaired).toMatchObject([{ derived, why: { code: "MODULATOR_RESTARTED" } }]);
  const before = rig.received(derived).length;
  await vi.waitUntil(() => rig.received(derived).length >= before + 2, { interval: 5, timeout: 60_000 });
});

test("MOE-23: a new host begins with every event, and says anew what is wanted", async () => {
  await using rig = new Rig();
  const derived = await rig.install(modulator("static mostPerSecond = 4;"));
  await vi.waitUntil(() => rig.host.mostPerSecond(derived) === 4, { interval: 5, timeout: 60_000 });
  process.kill(rig.host.stats.pid as number, "SIGKILL");
  await vi.waitUntil(() => rig.rates.length === 3, { interval: 5, timeout: 60_000 });
  expect(rig.rates.map(([, perSecond]) => perSecond)).toEqual([4, 0, 4]);
});

test("MOE-11: one that is at work by chance each time that a stranger ends its host is removed for a reason that passes", async () => {
  await using rig = new Rig();
  // Its rate tells that a host has begun.
  const working = "for (const begin = Date.now(); Date.now() - begin < 4000;);";
  const derived = await rig.install(modulator(`static mostPerSecond = 4; enqueue() { ${working} }`));
  for (const told of [1, 3]) {
    await vi.waitUntil(() => rig.rates.length === told, { interval: 5, timeout: 60_000 });
    if (told === 1) rig.step(1);
    process.kill(rig.host.stats.pid as number, "SIGKILL");
  }
  await vi.waitUntil(() => rig.removed.size > 0, { interval: 5, timeout: 60_000 });
  expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_HOST_FAILED", retry: true });
});

test("too much for the host: the oldest runs are dropped and counted, and nobody waits", async () => {
  await using rig = new Rig({ pendingBytes: 100_000 });
  const derived = await rig.install(
    modulator("enqueue(event) { const t = Date.now(); while (Date.now() - t < 2); super.enqueue(event); }"),
  );
  for (let i = 0; i < 150; i++) rig.step(30);
  expect(rig.host.stats.pendingBytes).toBeLessThanOrEqual(100_000);
  rig.host.remove(derived);
  await rig.settled();
});

test("the host ends with its producer, even while a call hangs", async () => {
  const { spawn } = await import("node:child_process");
  const script = new URL("./orphan.ts", import.meta.url).pathname;
  const parent = spawn(process.execPath, ["--no-warnings", script], { stdio: ["ignore", "pipe", "inherit"] });
  const pid = await new Promise<number>(resolve => parent.stdout.once("data", text => resolve(Number(text))));
  expect(isAlive(pid)).toBe(true);
  parent.kill("SIGKILL");
  await vi.waitUntil(() => !isAlive(pid) || isZombie(pid), { interval: 10, timeout: 60_000 });
});

test.each(["isolated-vm", "quickjs"])(
  "a program that waits for nothing but the end of its host on %s goes on when that has come",
  async engine => {
    const { execFile } = await import("node:child_process");
    const { promisify } = await import("node:util");
    const script = new URL("./closing.ts", import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", script, engine]);
    expect(stdout).toBe("closed");
  },
);

function isZombie(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return !readdirSync("/proc").includes(String(pid));
  }
}

test("equal modulators have equal keys", () => {
  const object = { id: "a", version: 1, state: { n: 1 } };
  const source = "export default class {}";
  const key = modulatorKey({ source, parameters: { a: 1, b: [2] }, objects: { object } });
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  const later = { ...object, version: 9, state: { n: 2 } };
  expect(modulatorKey({ source, parameters: { b: [2], a: 1 }, objects: { object: later } })).toBe(key);
  expect(modulatorKey({ source, parameters: { a: 1, b: [3] }, objects: { object } })).not.toBe(key);
  expect(
    modulatorKey({ source, parameters: { a: 1, b: [2] }, objects: { object: { ...object, id: "b" } } }),
  ).not.toBe(key);
  expect(modulatorKey({ source: `${source} `, parameters: { a: 1, b: [2] }, objects: { object } })).not.toBe(
    key,
  );
  expect(modulatorKey({ source, parameters: 1, key: "k" })).toBe(
    modulatorKey({ source, parameters: 2, key: "k" }),
  );
});

test("a key that is given is not the one that other parameters have", () => {
  const objects = { object: { id: "a", version: 1, state: {} } };
  const [bare, keyed] = [
    { source: "export default class {}", parameters: 3, objects },
    { source: "export default class {}", parameters: 7, key: "3", objects },
  ];
  expect(modulatorKey(bare)).not.toBe(modulatorKey(keyed));
  expect(modulatorTable(bare).key).not.toBe(modulatorTable(keyed).key);
});

test("lazy copies of the same objects make another modulator", () => {
  const objects = { object: { id: "a", version: 1, state: {} } };
  const modulator = { source: "export default class {}", objects };
  expect(modulatorKey({ ...modulator, lazy: ["object"] })).not.toBe(modulatorKey(modulator));
});

test("PROV-3: what waited with a host that died is not accounted for; what it had not seen, a new one sees", async () => {
  await using rig = new Rig();
  const derived = await rig.install(modulator(""));
  rig.host.flow(derived, false);
  rig.step();
  await rig.settled();
  expect(rig.seen).toEqual([]);
  process.kill(rig.host.stats.pid as number, "SIGKILL");
  rig.step();
  await vi.waitUntil(() => rig.restarts === 1, { interval: 1, timeout: 60_000 });
  rig.host.flow(derived, true);
  await rig.settled();
  expect(rig.seen.map(({ of }) => [of.after, of.through])).toEqual([[3, 6]]);
});

test("PROV-4: a stretch without events is accounted for once its modulator is installed, also by another host", async () => {
  await using rig = new Rig();
  for (const [i, isKilled] of [false, true].entries()) {
    const installing = rig.install(modulator("", `// ${i}`));
    rig.host.pass(BASE, { source: SOURCE, after: 5, through: 8 });
    const { length } = rig.seen;
    if (isKilled) process.kill(rig.host.stats.pid as number, "SIGKILL");
    const derived = await installing;
    expect(rig.seen.slice(length).map(({ derived, of }) => [derived, of.after, of.through])).toEqual([
      [derived, 5, 8],
    ]);
  }
  expect(rig.host.stats).toMatchObject({ restarts: 1 });
});

test("PROV-1: what is made of a long run is several runs, each of which accounts for its own events", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(
      "enqueue(event) { super.enqueue({ ...unpack(event), layer: 7 }); }",
      'import { unpack } from "jecho:moe";',
    ),
  );
  rig.publish(Array.from({ length: 600 }, (_, i) => layerOf(i, 0)));
  await rig.settled();
  expect(rig.frames(derived).map(({ count }) => count)).toEqual([256, 256, 88]);
  expect(rig.isLast).toEqual([true, true, true]);
  expect(rig.seen.map(({ of, runs }) => [of.after, of.through, runs])).toEqual([
    [0, 256, 0],
    [256, 512, 1],
    [512, 600, 2],
  ]);
});

test("PROV-1: runs that were dropped for want of room are not accounted for", async () => {
  await using rig = new Rig({ pendingBytes: 4096 });
  const derived = await rig.install(modulator(""));
  for (let i = 0; i < 100; i++) rig.step();
  await rig.settled();
  const { dropped } = rig.host.modulators.get(derived) ?? { dropped: 0 };
  expect(dropped).toBeGreaterThan(0);
  const accounted = rig.seen.reduce((sum, { of }) => sum + of.through - of.after, 0);
  expect(accounted).toBe(300 - dropped);
});

test("PROV-1: where what was dropped was a source's newest, its position says so", async () => {
  await using rig = new Rig({ pendingBytes: 4096 });
  await rig.install(modulator(""));
  const silent = { id: 2n, urgent: false };
  // The first runs go to the host at once; behind them all wait.
  for (let i = 0; i < 40; i++) rig.step();
  rig.publish([layerOf(41, 0)], undefined, silent);
  const through = rig.raised.length;
  for (let i = 0; i < 100; i++) rig.step();
  await rig.settled();
  const ofSilent = rig.seen.filter(({ of }) => of.source.id === silent.id);
  expect(ofSilent.map(({ of }) => [of.after, of.through])).toEqual([[through, through]]);
});

test.each([
  ["that waits, a call gets as many runs as it can", false],
  ["that another modulator had before, a call gets one run, and the output divides as it did", true],
])("PROV-7: of input %s", async (_, isAgain) => {
  await using rig = new Rig();
  const derived = await rig.install(modulator(""));
  const runs = 200;
  for (let after = 0; after < runs; after++) {
    const run = runOf(encodeEvents([layerOf(after, 0)]));
    if (isAgain) run.goAgain();
    rig.host.enqueue(run, undefined, { source: SOURCE, after, through: after + 1 });
  }
  await rig.settled();
  const frames = rig.frames(derived);
  expect(frames.reduce((sum, { count }) => sum + count, 0)).toBe(runs);
  if (isAgain) expect(frames.map(({ count }) => count)).toEqual(Array.from({ length: runs }, () => 1));
  else expect(frames.length).toBeLessThan(runs);
  // A modulator behind this one takes it likewise.
  expect(frames.every(frame => frame.isAgain === isAgain)).toBe(true);
});
