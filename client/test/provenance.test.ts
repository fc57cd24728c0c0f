import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect, type Demand, type EventPlace, type Session } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { EventsFrame, encodeControl, PROTOCOL, parseMessage, SUBPROTOCOL } from "@jecho/shared/internal";
import { describe, expect, inject, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { EVEN, Inbox, numbersOf, PATIENT, startRig, Tick, whenState } from "./rig.ts";

const FOURTH = { source: EVEN.source.replace("% 2", "% 4") };

const EVENTS = 2000;
const EVENS = Array.from({ length: EVENTS / 2 }, (_, i) => 2 * (i + 1));

const QUICK = { backoff: { firstMs: 10, mostMs: 50 }, place: inject("place"), modulators: PATIENT };

/** Resolves when so many want what the producer raises. */
function whenDemand(
  producer: { readonly demand: Demand; onDemand(listener: (demand: Demand) => void): () => void },
  total: number,
): Promise<void> {
  return new Promise(resolve => {
    if (producer.demand.total === total) return resolve();
    const stop = producer.onDemand(demand => {
      if (demand.total !== total) return;
      stop();
      resolve();
    });
  });
}

/** A producer in a process of its own, which waits for a word to begin. */
async function shortLived(address: string, how: string, most: number) {
  const program = fileURLToPath(new URL("./short-lived.ts", import.meta.url));
  const child = fork(program, [address, how, String(most), String(EVENTS)]);
  const demand = new Inbox<number>();
  child.on("message", total => demand.put(total as number));
  await demand.take(1);
  return { demand, begin: () => child.send("begin"), ended: once(child, "exit") };
}

describe.each(PLACES)("modulators at the %s", at => {
  test.each(["flush", "close", "leave"])(
    "DEL-11: what a short-lived producer raised before its %s has been through the modulators",
    async how => {
      await using rig = await rigAt(at);
      const producer = await shortLived(rig.gateway.address, how, rig.producing.modulators?.most ?? 64);
      const [evens, all] = [new Inbox<number>(), new Inbox<number>()];
      const channel = rig.session().channel("a", Tick);
      const modulated = await channel.subscribe(({ n }) => evens.put(n), { modulator: EVEN, as: "even" });
      const fours = new Inbox<number>();
      const behind = await rig
        .session()
        .channel("a#even", Tick)
        .subscribe(({ n }) => fours.put(n), { modulator: FOURTH });
      const plain = await channel.subscribe(({ n }) => all.put(n));
      // A plain consumer is there before producers know of it. A process that modulates in their stead counts as one.
      await expect.poll(() => producer.demand.all.at(-1)).toBe(at === "gateway" ? 2 : 3);
      producer.begin();
      await producer.ended;
      expect(await evens.take(EVENTS / 2)).toEqual(EVENS);
      expect(await all.take(EVENTS)).toHaveLength(EVENTS);
      expect(await fours.take(EVENTS / 4)).toHaveLength(EVENTS / 4);
      expect([modulated, plain, behind].map(({ stats }) => stats.missed)).toEqual([0, 0, 0]);
    },
  );
});

describe.each(PLACES)("modulators at the %s", at => {
  test("PROV-5: what no gateway had, for nobody was there who wanted it, is told to one that comes back", async () => {
    await using rig = await rigAt(at, { resumeWindowMs: 50 });
    await using way = await startCutter(rig.gateway.address);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const evens = new Inbox<number>();
    const missed = new Inbox<number>();
    await using session = connect(way.address, QUICK);
    const consumer = await session
      .channel("a", Tick)
      .subscribe(({ n }) => evens.put(n), { modulator: EVEN, onMissed: ({ events }) => missed.put(events) });
    for (let n = 1; n <= 10; n++) producer.publish({ n, note: "" });
    await evens.take(5);
    way.part();
    await whenDemand(producer, 0);
    // One that begins meanwhile, and has nobody to hear it either.
    const second = await rig.session(rig.producing).channel("a", Tick).produce();
    for (let n = 11; n <= 20; n++) producer.publish({ n, note: "" });
    for (let n = 1; n <= 6; n++) second.publish({ n: 2 * n, note: "" });
    way.join();
    await whenDemand(producer, 1);
    await whenDemand(second, 1);
    producer.publish({ n: 22, note: "" });
    second.publish({ n: 24, note: "" });
    expect(new Set((await evens.take(7)).slice(5))).toEqual(new Set([22, 24]));
    expect((await missed.take(2)).sort((a, b) => a - b)).toEqual([6, 10]);
    expect(consumer.stats.missed).toBe(16);
  });
});

describe.each(PLACES)("modulators at the %s", at => {
  test("PROV-7: another consumer goes on behind a place that was kept as JSON, and misses nothing that the channel keeps", async () => {
    await using rig = await rigAt(at);
    const producing = rig.session(rig.producing);
    const producer = await producing.channel("a", Tick).produce({ history: { seconds: 600 } });
    const inbox = new Inbox<number>();
    const subscribe = async (from?: EventPlace) =>
      rig
        .session()
        .channel("a", Tick)
        .subscribe(({ n }) => inbox.put(n), { modulator: EVEN, ...(from && { from }) });
    const first = await subscribe();
    for (let n = 1; n <= 20; n++) producer.publish({ n, note: "" });
    expect(await inbox.take(10)).toEqual(EVENS.slice(0, 10));
    const place = JSON.stringify(first.place);
    const since = { ...(first.place as EventPlace), since: Number.NaN };
    await expect(subscribe(since)).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
    await first.close();
    await expect.poll(() => producer.demand.derived).toEqual([]);
    for (let n = 21; n <= 40; n++) producer.publish({ n, note: "" });
    await producing.flush();
    const second = await subscribe(JSON.parse(place) as EventPlace);
    expect(second.place?.since).toBe(first.place?.since);
    for (let n = 41; n <= 60; n++) producer.publish({ n, note: "" });
    await producing.flush();
    await expect.poll(() => inbox.all.at(-1)).toBe(60);
    expect([inbox.all, second.stats.missed]).toEqual([EVENS.slice(0, 30), 0]);
  });
});

test("DEL-4: a plain consumer that goes on behind a place is told of what the gateway has not kept meanwhile", async () => {
  await using rig = await startRig();
  const producing = rig.session();
  const producer = await producing.channel("a", Tick).produce();
  const numbers = new Inbox<number>();
  const subscribe = (from?: EventPlace) =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => numbers.put(n), { ...(from && { from }) });
  const first = await subscribe();
  for (let n = 1; n <= 10; n++) producer.publish({ n, note: "" });
  await numbers.take(10);
  const place = JSON.stringify(first.place);
  await first.close();
  await expect.poll(() => producer.demand.total).toBe(0);
  for (let n = 11; n <= 30; n++) producer.publish({ n, note: "" });
  await producing.flush();
  const second = await subscribe(JSON.parse(place) as EventPlace);
  producer.publish({ n: 31, note: "" });
  await producing.flush();
  expect(await numbers.take(11)).toEqual([...Array.from({ length: 10 }, (_, i) => i + 1), 31]);
  expect(second.stats.missed).toBe(20);
});

test.each([
  ["a host's", "class extends Modulator {}"],
  // It is not called: see MOE-29.
  [
    "a compiled filter",
    "class extends FifoModulator { enqueue(event) { if (event.n === 7) super.enqueue(event); } }",
  ],
])(
  "PROV-2: where %s lets nothing through, positions say how far it is, within a second and at a flush",
  async (_, text) => {
    await using rig = await startRig();
    const session = rig.session();
    const producer = await session.channel("a", Tick).produce();
    const positions = new Inbox<bigint>();
    const socket = new WebSocket(`ws://${rig.gateway.address}/`, SUBPROTOCOL);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) =>
      parseMessage(new Uint8Array(data), frame => {
        if (frame.kind === "Position" && frame.origin !== 0n) positions.put(frame.through);
      });
    await once(socket, "open");
    const source = `import { FifoModulator, Modulator } from "jecho:moe";\nexport default ${text}`;
    const modulator = { source, parameters: "", key: "", objects: [], capabilities: [], compares: false };
    socket.send(encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "" }) as Uint8Array<ArrayBuffer>);
    socket.send(
      encodeControl({ kind: "OpenConsumer", request: 1, channel: "a", modulator }) as Uint8Array<ArrayBuffer>,
    );
    await whenDemand(producer, 1);
    for (let n = 0; n < 5; n++) producer.publish({ n, note: "" });
    await expect.poll(() => positions.all.at(-1)).toBe(5n);
    producer.publish({ n: 5, note: "" });
    await session.flush();
    await expect.poll(() => positions.all.at(-1)).toBe(6n);
    socket.close();
  },
);

test("PROV-1: of the runs that one call makes the last accounts for what it was given, and the others say so", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce();
  const runs = new Inbox<[after: number, through: number, isPart: boolean]>();
  const socket = new WebSocket(`ws://${rig.gateway.address}/`, SUBPROTOCOL);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) =>
    parseMessage(new Uint8Array(data), frame => {
      if (frame instanceof EventsFrame) runs.put([frame.after, frame.through, frame.isPart]);
    });
  await once(socket, "open");
  // What is urgent is a run of its own.
  const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) {
    if (event.n % 2 === 0) for (let i = 0; i < 3; i++) super.enqueue(event);
  }
}`;
  const modulator = { source, parameters: "", key: "", objects: [], capabilities: [], compares: false };
  for (const control of [
    { kind: "Hello", protocol: PROTOCOL },
    { kind: "OpenConsumer", request: 1, channel: "a", modulator },
  ] as const)
    socket.send(encodeControl(control) as Uint8Array<ArrayBuffer>);
  await whenDemand(producer, 1);
  producer.publishUrgent({ n: 1, note: "" });
  // In a turn of its own.
  await session.flush();
  producer.publishUrgent({ n: 2, note: "" });
  expect(await runs.take(3)).toEqual([
    [0, 2, true],
    [0, 2, true],
    [0, 2, false],
  ]);
  socket.close();
});

test("PROV-2: what a modulator gathered of several sources comes behind the word that they are accounted for", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const accounted: number[] = [];
  const made: [events: number, accounted: number][] = [];
  const socket = new WebSocket(`ws://${rig.gateway.address}/`, SUBPROTOCOL);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) =>
    parseMessage(new Uint8Array(data), frame => {
      if (frame.kind === "Position" && frame.urgent) accounted.push(Number(frame.through));
      if (!(frame instanceof EventsFrame)) return;
      const gathered = /of (\d+) urgent/.exec(Buffer.from(frame.raw()).toString("latin1"))?.[1];
      made.push([Number(gathered), Math.max(0, ...accounted)]);
    });
  await once(socket, "open");
  const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  static periodMs = 10;
  urgent = 0;
  newest;
  enqueue(event) {
    this.newest = { n: event.n };
    if (event.note === "urgent") this.urgent++;
  }
  period() {
    if (this.newest !== undefined) super.enqueue({ ...this.newest, note: \`of \${this.urgent} urgent\` });
    this.newest = undefined;
  }
}`;
  const modulator = { source, parameters: "", key: "", objects: [], capabilities: [], compares: false };
  for (const control of [
    { kind: "Hello", protocol: PROTOCOL },
    { kind: "OpenConsumer", request: 1, channel: "a", modulator },
  ] as const)
    socket.send(encodeControl(control) as Uint8Array<ArrayBuffer>);
  await whenDemand(producer, 1);
  for (let round = 1; round <= 20; round++) {
    producer.publishUrgent({ n: round, note: "urgent" });
    producer.publish({ n: round, note: "" });
    await expect.poll(() => made.at(-1)?.[0]).toBe(round);
  }
  for (const [events, before] of made) expect(before).toBeGreaterThanOrEqual(events);
  socket.close();
});

test("PROV-4: a modulator behind another one accounts for the raw source, also for what the first one discards", async () => {
  await using rig = await startRig({ resumeWindowMs: 50 });
  await using way = await startCutter(rig.gateway.address);
  await using session = connect(way.address, QUICK);
  const producer = await rig.session().channel("a", Tick).produce();
  const fours = new Inbox<number>();
  const missed = new Inbox<number>();
  const even = { modulator: EVEN, as: "even" };
  const evens = await numbersOf(rig, "a", Tick, even);
  const consumer = await session.channel("a#even", Tick).subscribe(({ n }) => fours.put(n), {
    modulator: FOURTH,
    onMissed: ({ events }) => missed.put(events),
  });
  await whenDemand(producer, 2);
  for (let n = 1; n <= 10; n++) producer.publish({ n, note: "" });
  expect(await fours.take(2)).toEqual([4, 8]);
  const lost = whenState(consumer, "reconnecting");
  way.part();
  await lost;
  // Only the modulator behind goes.
  await whenDemand(producer, 1);
  for (let n = 11; n <= 20; n++) producer.publish({ n, note: "" });
  // The first one has made of them what it makes, before the one behind it comes back.
  await evens.take(10);
  way.join();
  await whenState(consumer, "live");
  producer.publish({ n: 24, note: "" });
  expect((await fours.take(3)).at(-1)).toBe(24);
  // The events 11 to 20, and those that were discarded since the last word on it.
  expect(missed.all.reduce((sum, events) => sum + events, 0)).toBeGreaterThanOrEqual(10);
  expect(missed.all.reduce((sum, events) => sum + events, 0)).toBeLessThanOrEqual(12);
});

test.each(["close", "SIGKILL"] as const)(
  "MOE-20, PROV-7: over restarts by %s of a gateway with a process for modulators and its history in a file, each event comes once",
  async how => {
    await using gateway = await startModulatingGateway();
    await using producing = connect(gateway.address, { ...QUICK, modulators: { ...PATIENT, most: 0 } });
    const producer = await producing.channel("a", Tick).produce({ history: { seconds: 600 } });
    await using session = connect(gateway.address, QUICK);
    const evens: number[] = [];
    const consumer = await session
      .channel("a", Tick)
      .subscribe(({ n }) => void evens.push(n), { modulator: EVEN });
    let raised = 0;
    const raising = setInterval(() => producer.publish({ n: ++raised, note: "" }), 5);
    for (let round = 1; round <= 3; round++) {
      const seen = evens.length;
      await expect.poll(() => evens.length).toBeGreaterThan(seen + 50);
      await gateway.end(how);
      const raisedThen = raised;
      await expect.poll(() => raised).toBeGreaterThan(raisedThen + 50);
      await gateway.start();
      await expect.poll(() => consumer.status.state).toBe("live");
    }
    clearInterval(raising);
    await producing.flush();
    const expected = Array.from({ length: raised >> 1 }, (_, i) => 2 * (i + 1));
    await expect.poll(() => evens.at(-1)).toBe(expected.at(-1));
    expect({ evens, missed: consumer.stats.missed }).toEqual({ evens: expected, missed: 0 });
  },
);

test("DEL-6: of a modulator behind another, which goes on with what comes at a restarted gateway, nobody says that nothing is missing", async () => {
  await using gateway = await startModulatingGateway();
  await using producing = connect(gateway.address, { ...QUICK, modulators: { ...PATIENT, most: 0 } });
  const producer = await producing.channel("a", Tick).produce({ history: { seconds: 600 } });
  await using session = connect(gateway.address, QUICK);
  const even = await session.channel("a", Tick).subscribe(() => {}, { modulator: EVEN, as: "even" });
  const fours = new Inbox<number>();
  const behind = await session
    .channel("a#even", Tick)
    .subscribe(({ n }) => fours.put(n), { modulator: FOURTH });
  for (let n = 1; n <= 8; n++) producer.publish({ n, note: "" });
  await fours.take(2);
  await gateway.end("close");
  for (let n = 9; n <= 16; n++) producer.publish({ n, note: "" });
  await gateway.start();
  await expect.poll(() => [even, behind].map(({ status }) => status.state)).toEqual(["live", "live"]);
  expect(even.status).toMatchObject({ recovered: true, missing: 0 });
  expect(behind.status.recovered).toBeUndefined();
});

test("PROV-7: what is modulated out of a past is its producer's, though another one has that one's number by now", async () => {
  await using gateway = await startModulatingGateway();
  await using way = await startCutter(gateway.address);
  await using producing = connect(way.address, { ...QUICK, name: "first", modulators: { most: 0 } });
  const producer = await producing.channel("a", Tick).produce({ history: { seconds: 600 } });
  const evens = new Inbox<number>();
  const subscribe = (session: Session, from?: EventPlace) =>
    session.channel("a", Tick).subscribe(({ n }) => evens.put(n), { modulator: EVEN, ...(from && { from }) });
  const early = connect(gateway.address, QUICK);
  const { place } = await subscribe(early).then(async consumer => {
    producer.publish({ n: 2, note: "" });
    await evens.take(1);
    return consumer;
  });
  await early.close();
  for (let n = 3; n <= 40; n++) producer.publish({ n, note: "" });
  await producing.flush();
  way.part();
  await gateway.end("SIGKILL");
  await gateway.start();
  // The first one at the new gateway has the number that the other one had.
  await using other = connect(gateway.address, { ...QUICK, name: "other" });
  const second = await other.channel("a", Tick).produce();
  way.join();
  await producer.publishWhenReady({ n: 42, note: "" });
  await producing.flush();
  await using session = connect(gateway.address, QUICK);
  const consumer = await subscribe(session, place);
  expect(await evens.take(21)).toEqual(EVENS.slice(0, 21));
  second.publish({ n: 44, note: "" });
  expect(await evens.take(22)).toEqual(EVENS.slice(0, 22));
  expect(consumer.stats.missed).toBe(0);
});

/** A gateway with a process for modulators and its history in a file, which can be started again at the same address. */
async function startModulatingGateway() {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const program = fileURLToPath(new URL("./modulating-gateway.ts", import.meta.url));
  const open = async (port: string) => {
    const child = fork(program, [port, join(folder, "history")]);
    const [address] = (await once(child, "message")) as [string];
    return { child, address };
  };
  let { child, address } = await open("0");
  const end = async (how: "close" | "SIGKILL") => {
    const ended = once(child, "exit");
    if (how === "close") child.send("close");
    else child.kill(how);
    await ended;
  };
  return {
    address,
    end,
    start: async () => {
      ({ child, address } = await open(address.slice(address.lastIndexOf(":") + 1)));
    },
    // A test that fails leaves no process behind.
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode === null && child.signalCode === null) await end("close");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
