import {
  type ConnectOptions,
  diff,
  type EventInfo,
  fifo,
  type JechoError,
  type Modulator,
  type,
  type View,
  viewFilter,
} from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, numbersOf, startRig, Tick, whenState } from "./rig.ts";

const Grid = type("GridData", {
  step: "uint32",
  layer: "int32",
  time: "float64",
  latFirst: "float32",
  latStep: "float32",
  rows: "uint16",
  lonFirst: "float32",
  lonStep: "float32",
  columns: "uint16",
  values: "float32[]",
});
type Grid = typeof Grid.event;

const WORLD: View = { firstLayer: 0, lastLayer: 99, south: -90, north: 90, west: 0, east: 360, stride: 1 };

/** A field of 4 rows and 8 columns whose values tell step, layer, row and column. */
function grid(step: number, layer: number): Grid {
  const values = Float32Array.from({ length: 32 }, (_, i) => step * 1000 + layer * 100 + i);
  return {
    step,
    layer,
    time: step,
    latFirst: 67.5,
    latStep: -45,
    rows: 4,
    lonFirst: 0,
    lonStep: 45,
    columns: 8,
    values,
  };
}

/** A modulator that passes on only even `n`, and can be told apart by `key`. */
function evens(key = ""): Modulator {
  return {
    source: `import { FifoModulator } from "jecho:moe";
export default class Evens extends FifoModulator {
  enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }
}`,
    parameters: { key },
  };
}

/** Deadlines as they are unless set otherwise, for what runs into them. */
const USUAL: ConnectOptions = { modulators: { limits: {} } };

function throwing(where: string): Modulator {
  const source = `import { FifoModulator } from "jecho:moe";
export default class Broken extends FifoModulator {
  enqueue(event) {
    if (event.n >= 3) { ${where} }
    super.enqueue(event);
  }
}`;
  return { source };
}

test("the modulator filters in the producer: what it discards does not cross the wire", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: evens() });
  for (let n = 0; n < 100; n++) producer.publish({ n, note: "x" });
  expect(await inbox.take(50)).toEqual(Array.from({ length: 50 }, (_, i) => 2 * i));
  expect(consumer.stats.events).toBe(50);
});

test("MOE-2: fifty viewers with five different views cost five modulators in each producer", async () => {
  await using rig = await startRig();
  const producing = [rig.session(), rig.session()];
  const producers = await Promise.all(producing.map(session => session.channel("a", Tick).produce()));
  const inboxes = Array.from({ length: 50 }, () => new Inbox<number>());
  const opened = inboxes.map((inbox, i) =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), { modulator: evens(`view ${i % 5}`) }),
  );
  await Promise.all(opened);
  for (const producer of producers) {
    await expect.poll(() => producer.demand.total).toBe(50);
    expect(producer.demand.derived).toHaveLength(5);
    expect(producer.demand.derived.map(({ consumers }) => consumers)).toEqual([10, 10, 10, 10, 10]);
    expect(producer.demand.consumers).toBe(0);
  }
  expect(rig.gateway.stats()).toMatchObject({ channels: 1, derivedChannels: 5 });
  producers[0]?.publish({ n: 2, note: "" });
  expect(await Promise.all(inboxes.map(inbox => inbox.take(1)))).toEqual(inboxes.map(() => [2]));
});

test("MOE-4: a producer that opens later has every modulator before its first event counts", async () => {
  await using rig = await startRig();
  const inbox = await numbersOf(rig, "a", Tick, { modulator: evens() });
  const producer = await rig.session().channel("a", Tick).produce();
  expect(producer.demand.derived).toHaveLength(1);
  for (const n of [0, 1, 2]) producer.publish({ n, note: "" });
  expect(await inbox.take(2)).toEqual([0, 2]);
});

test("MOE-6: a derived channel goes with its last consumer", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const open = () =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(() => {}, { modulator: evens() });
  const [first, second] = [await open(), await open()];
  await expect.poll(() => producer.demand.derived.map(({ consumers }) => consumers)).toEqual([2]);
  await first.close();
  await expect.poll(() => producer.demand.derived.map(({ consumers }) => consumers)).toEqual([1]);
  await second.close();
  await expect.poll(() => producer.demand.derived).toEqual([]);
});

test.each([
  ["is no JavaScript", "export default class {", "MODULATOR_INVALID"],
  ["has no default class", "export const x = 1", "MODULATOR_INVALID"],
  [
    "throws in its constructor",
    `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { constructor(parameters, moe) { super(parameters, moe); throw new Error("not today"); } }`,
    "MODULATOR_FAILED",
  ],
  ["loops at the top level", "for (;;) {}", "MODULATOR_TIMED_OUT"],
  [
    "needs a service that nobody offers",
    `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { static needs = ["thermostat"]; }`,
    "SERVICE_MISSING",
  ],
  [
    "refuses its parameters",
    `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { static check() { throw new RangeError("a limit is wanted"); } }`,
    "PARAMETERS_INVALID",
  ],
])("MOE-3: a modulator that %s is refused at the one who sent it", async (_, source, code) => {
  await using rig = await startRig();
  const producer = await rig.session(USUAL).channel("a", Tick).produce();
  const inbox = await numbersOf(rig, "a", Tick, { modulator: evens() });
  const refused = rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: { source } });
  await expect(refused).rejects.toMatchObject({ name: "JechoError", code });
  await expect.poll(() => producer.demand.derived).toHaveLength(1);
  producer.publish({ n: 2, note: "" });
  expect(await inbox.take(1)).toEqual([2]);
});

test.each([
  ["throws", "throw new Error('threes are bad')", "MODULATOR_FAILED", /threes are bad/],
  ["loops", "for (;;) {}", "MODULATOR_TIMED_OUT", /./],
  [
    "eats memory",
    "this.kept ??= []; for (let i = 0; i < 10; i++) this.kept.push(new Float64Array(2e5).fill(i));",
    "MODULATOR_OUT_OF_MEMORY",
    /./,
  ],
])(
  "MOE-5: a modulator that %s is removed, its consumer told why, and nobody else notices",
  async (_, code, expected, message) => {
    await using rig = await startRig();
    const options = expected === "MODULATOR_TIMED_OUT" ? USUAL : {};
    const producer = await rig.session(options).channel("a", Tick).produce();
    const good = await numbersOf(rig, "a", Tick, { modulator: evens() });
    const bad = await rig
      .session()
      .channel("a", Tick)
      .subscribe(() => {}, { modulator: throwing(code) });
    for (let n = 0; n < 10; n++) producer.publish({ n, note: "" });
    await whenState(bad, "refused");
    expect(bad.status.error).toMatchObject({ code: expected, message: expect.stringMatching(message) });
    producer.publish({ n: 10, note: "" });
    expect(await good.take(6)).toEqual([0, 2, 4, 6, 8, 10]);
    await expect.poll(() => producer.demand.derived).toHaveLength(1);
  },
);

test("a bad view is refused at the one who sent it, at the installation and later", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("g", Grid).produce();
  const session = rig.session();
  const upsideDown = session.share<View>({ ...WORLD, south: 50, north: -50 });
  const upside = session.channel("g", Grid).subscribe(() => {}, viewFilter(upsideDown));
  await expect(upside).rejects.toMatchObject({
    code: "PARAMETERS_INVALID",
    message: expect.stringMatching(/south|north/),
  });
  const view = session.share<View>(WORLD);
  const consumer = await session.channel("g", Grid).subscribe(() => {}, viewFilter(view));
  view.update({ stride: 0 });
  await expect.poll(() => producer.demand.derived[0]?.objects.view).toMatchObject({ stride: 0 });
  producer.publish(grid(1, 0));
  await whenState(consumer, "refused");
  expect(consumer.status.error).toMatchObject({
    code: "PARAMETERS_INVALID",
    message: expect.stringMatching(/stride/),
  });
  expect(() => view.update({ stride: Number.NaN })).toThrowError(
    expect.objectContaining({ code: "OBJECT_INVALID" }),
  );
});

test("hostile 16: more different modulators from one consumer than the gateway grants are refused; the others go on", async () => {
  await using rig = await startRig({ modulatorsPerConnection: 3 });
  const producer = await rig.session().channel("a", Tick).produce();
  const inbox = new Inbox<number>();
  const greedy = rig.session().channel("a", Tick);
  const asked = Array.from({ length: 100 }, (_, i) =>
    greedy.subscribe(({ n }) => inbox.put(n), { modulator: { ...evens(), parameters: { i } } }),
  );
  const answers = await Promise.allSettled(asked);
  expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  for (const answer of answers)
    if (answer.status === "rejected")
      expect(answer.reason).toMatchObject({ code: "MODULATOR_QUOTA_EXCEEDED" });
  const other = await numbersOf(rig, "a", Tick, { modulator: evens() });
  producer.publish({ n: 2, note: "" });
  expect(await inbox.take(3)).toEqual([2, 2, 2]);
  expect(await other.take(1)).toEqual([2]);
});

test("a producer is told of one view's newer parameters; those of others stay, and it is told of all when one comes", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("g", Grid).produce();
  const session = rig.session();
  const channel = session.channel("g", Grid);
  const views = [1, 2].map(layer => session.share<View>({ ...WORLD, firstLayer: layer, lastLayer: layer }));
  for (const view of views) await channel.subscribe(() => {}, viewFilter(view));
  const wanted = (): number[] =>
    producer.demand.derived.map(({ objects }) => (objects.view as unknown as View).lastLayer).sort();
  await expect.poll(wanted).toEqual([1, 2]);
  const told = new Inbox<number>();
  producer.onDemand(({ total }) => told.put(total));
  views[0]?.update({ lastLayer: 7 });
  await expect.poll(wanted).toEqual([2, 7]);
  expect(await told.take(1)).toEqual([2]);
  views[1]?.update({ lastLayer: 8 });
  await expect.poll(wanted).toEqual([7, 8]);
  await channel.subscribe(() => {}, fifo());
  await expect.poll(() => producer.demand.total).toBe(3);
  const kept = producer.demand.derived.map(({ objects }) => (objects.view as unknown as View)?.lastLayer);
  expect(kept.sort()).toEqual([7, 8, undefined]);
});

test("OBJ-3: an update of the view takes effect on the events raised after it, which say its version", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("g", Grid).produce();
  const session = rig.session();
  const view = session.share<View>({ ...WORLD, firstLayer: 1, lastLayer: 1 });
  const inbox = new Inbox<{ layer: number; step: number; parameters: number }>();
  const seen = (event: Grid, { parameters }: EventInfo): void =>
    inbox.put({ layer: event.layer, step: event.step, parameters });
  await session.channel("g", Grid).subscribe(seen, viewFilter(view));
  for (const layer of [0, 1, 2]) producer.publish(grid(1, layer));
  expect(await inbox.take(1)).toEqual([{ layer: 1, step: 1, parameters: 1 }]);
  view.update({ firstLayer: 2, lastLayer: 2 });
  await expect.poll(() => producer.demand.derived[0]?.objects.view).toMatchObject({ firstLayer: 2 });
  for (const layer of [0, 1, 2]) producer.publish(grid(2, layer));
  expect(await inbox.take(2)).toEqual([
    { layer: 1, step: 1, parameters: 1 },
    { layer: 2, step: 2, parameters: 2 },
  ]);
});

test("OBJ-2: many updates in one turn are sent as the newest only", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("g", Grid).produce();
  const session = rig.session();
  const view = session.share<View>(WORLD);
  await session.channel("g", Grid).subscribe(() => {}, viewFilter(view));
  const versions: number[] = [];
  producer.onDemand(({ derived }) =>
    versions.push((derived[0]?.objects.view as unknown as View)?.firstLayer),
  );
  for (let layer = 1; layer <= 1000; layer++) view.update({ firstLayer: layer });
  await expect.poll(() => versions.at(-1)).toBe(1000);
  expect(versions.length).toBeLessThan(10);
});

test("MOE-8: a reset changes the pair at once, and the new one's events follow the old one's", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("g", Grid).produce();
  const inbox = new Inbox<{ step: number; values: number[] }>();
  const handler = ({ step, values }: Grid): void => inbox.put({ step, values: [...values] });
  const consumer = await rig.session().channel("g", Grid).subscribe(handler, fifo());
  producer.publish(grid(1, 0));
  await inbox.take(1);
  await consumer.reset(diff(WORLD, 0.5));
  producer.publish(grid(2, 0));
  const changed = grid(2, 0);
  changed.values[5] = -1;
  producer.publish({ ...changed, step: 3 });
  const seen = await inbox.take(3);
  // The demodulator rebuilds whole fields, though only one cell of the third event crossed the wire.
  expect(seen).toEqual([
    { step: 1, values: [...grid(1, 0).values] },
    { step: 2, values: [...grid(2, 0).values] },
    { step: 3, values: [...changed.values] },
  ]);
  await expect.poll(() => producer.demand.derived).toHaveLength(1);
});

test("MOE-8: where the new modulator cannot be installed, the old pair goes on", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: evens() });
  await expect(consumer.reset({ modulator: { source: "nonsense(" } })).rejects.toMatchObject({
    code: "MODULATOR_INVALID",
  });
  producer.publish({ n: 4, note: "" });
  expect(await inbox.take(1)).toEqual([4]);
  expect(consumer.status.state).toBe("live");
});

test("a demodulator that throws is told to its owner", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const errors = new Inbox<JechoError>();
  const demodulator = {
    push(): void {
      throw new Error("cannot");
    },
  };
  const options = { modulator: evens(), demodulator, onError: errors.put };
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, options);
  producer.publish({ n: 2, note: "" });
  expect(await errors.take(1)).toMatchObject([{ code: "DEMODULATOR_FAILED", message: "cannot" }]);
});

test("MOE-11: a consumer is told that its modulator began anew, when another one took their host along", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const counting = `import { FifoModulator } from "jecho:moe";
export default class Counting extends FifoModulator {
  // An object of its own: it is hosted.
  own = { count: 0 };
  enqueue() { super.enqueue({ n: ++this.own.count, note: "" }); }
}`;
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n), { modulator: { source: counting } });
  const told = new Promise<JechoError>(resolve => consumer.onRestart(resolve));
  const killing = throwing("'x'.repeat(2 ** 27).split('');");
  const hostile = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator: killing });
  const states = new Inbox<string>();
  hostile.onStatus(({ state }) => states.put(state));
  await producer.publishSync({ n: 1, note: "" });
  // On a busy machine a host dies slowly of memory. Ended for its silence twice before that, it comes back with the modulator.
  for (let i = 0, state = "live"; state !== "refused"; state = (await states.take(++i)).at(-1) as string)
    if (state === "live") await producer.publishSync({ n: 3, note: "" }, { timeoutMs: 60_000 });
  expect(await told).toMatchObject({ code: "MODULATOR_RESTARTED" });
  expect(consumer.status.state).toBe("live");
  await producer.publishSync({ n: 1, note: "" });
  expect(inbox.all.slice(0, 2)).toEqual([1, 2]);
  expect(inbox.all.at(-1)).toBe(1);
});

test("CON-4: after a restart of the gateway modulators are installed again, with the newest view", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("g", Grid).produce();
  const session = rig.session();
  const view = session.share<View>({ ...WORLD, firstLayer: 1, lastLayer: 1 });
  const inbox = new Inbox<number>();
  const consumer = await session
    .channel("g", Grid)
    .subscribe(({ layer }) => inbox.put(layer), viewFilter(view));
  const interrupted = whenState(consumer, "reconnecting");
  await rig.gateway.close();
  await interrupted;
  view.update({ firstLayer: 2, lastLayer: 2 });
  await rig.again();
  await whenState(consumer, "live");
  await expect.poll(() => producer.demand.derived[0]?.consumers).toBe(1);
  for (const layer of [0, 1, 2, 3]) producer.publish(grid(1, layer));
  expect(await inbox.take(1)).toEqual([2]);
});

test("MOE-12: what a period makes reaches consumers before any event, and after its first producer has gone", async () => {
  await using rig = await startRig();
  const name = "test/heartbeat";
  const here = rig.session().channel(name, Tick);
  const first = await here.produce();
  const second = await here.produce();
  const got = new Inbox<string>();
  await rig
    .session()
    .channel(name, Tick)
    .subscribe(event => got.put(event.note), {
      modulator: {
        source: `import { FifoModulator } from "jecho:moe";
export default class Heartbeat extends FifoModulator {
  static periodMs = 10;
  seen = 0;
  enqueue() { this.seen++; }
  period() { super.enqueue({ n: this.seen, note: \`seen \${this.seen}\` }); }
}`,
      },
    });
  await got.take(2);
  expect(got.all[0]).toBe("seen 0");
  first.publish({ n: 1, note: "" });
  await expect.poll(() => got.all.at(-1)).toBe("seen 1");
  await first.close();
  second.publish({ n: 2, note: "" });
  await expect.poll(() => got.all.at(-1)).toBe("seen 2");
});

test.each([
  ["keeps events", ""],
  ["says that it keeps none", "static keepsEvents = false;"],
])("MOE-16: beside its producer, a modulator that %s has them as they were raised", async (_, says) => {
  await using rig = await startRig();
  const source = `import { FifoModulator } from "jecho:moe";
export default class Kept extends FifoModulator {
  ${says}
  #kept = [];
  enqueue(event) {
    ${says === "" ? "this.#kept.push(event);" : "super.enqueue(event);"}
    if (this.#kept.length === 8) for (const one of this.#kept) super.enqueue(one);
  }
}`;
  const inbox = new Inbox<{ n: number; note: string }>();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n, note }) => inbox.put({ n, note }), { modulator: { source } });
  const session = rig.session({ modulators: { trusted: [source] } });
  // Too little room for all of them: the last ones lie where the first ones lay.
  const producer = await session.channel("a", Tick).produce({ queue: { bytes: 1024 } });
  await expect.poll(() => producer.demand.total).toBe(1);
  const events = Array.from({ length: 8 }, (_, n) => ({ n, note: String(n).repeat(130) }));
  for (const event of events) {
    producer.publish(event);
    await session.flush();
  }
  expect(await inbox.take(8)).toEqual(events);
});
