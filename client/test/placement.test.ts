import {
  type AllowedModulators,
  connect,
  fifo,
  type Modulator,
  type Producer,
  signingKeys,
  signModulator,
} from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { describe, expect, test } from "vitest";
import { numbered, PLACES, rigAt } from "./placement-rig.ts";
import { Inbox, moe, numbersOf, startRig, Tick, whenState } from "./rig.ts";

type Event = typeof Tick.event;

/** Makes two events of another type of each. */
const split: Modulator = moe(`static output = { name: "Half", description: { half: "float64" } };
  enqueue(event) { super.enqueue({ half: event.n / 2 }); super.enqueue({ half: -event.n / 2 }); }`);

describe.each(PLACES)("modulators at the %s", at => {
  test("MOE-18: the same events, in order, and it is told where it runs", async () => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const inbox = new Inbox<string>();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
    expect(consumer.placements.map(({ at, code }) => [at, code])).toEqual([
      [at, at === "producer" ? undefined : "MODULATORS_NOT_SERVED"],
    ]);
    for (let n = 0; n < 1000; n++) producer.publish({ n, note: "e" });
    expect(await inbox.take(500)).toEqual(Array.from({ length: 500 }, (_, i) => `${2 * i} e${i + 1}`));
    expect(consumer.stats).toMatchObject({ events: 500, missed: 0 });
  });

  test("SYNC-5: a synchronous event waits for the consumers behind the modulator", async () => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const handled: number[] = [];
    const slow = async ({ n }: Event): Promise<void> => {
      await new Promise(resolve => setImmediate(resolve));
      handled.push(n);
    };
    for (let i = 0; i < 2; i++)
      await rig.session().channel("a", Tick).subscribe(slow, { modulator: numbered });
    expect(await producer.publishSync({ n: 2, note: "" })).toBe(2);
    expect(handled).toEqual([2, 2]);
    expect(await producer.publishSync({ n: 3, note: "" })).toBe(0);
    expect(handled).toEqual([2, 2]);
    const failing = await rig
      .session()
      .channel("a", Tick)
      .subscribe(
        () => {
          throw new Error("not this one");
        },
        { modulator: numbered, onError: () => {} },
      );
    await expect(producer.publishSync({ n: 4, note: "" })).rejects.toMatchObject({
      code: "HANDLER_FAILED",
      message: expect.stringContaining("1 of 3"),
    });
    await failing.close();
  });

  test("MOE-3: what it makes may be of another type, and what cannot be installed is refused with the reason", async () => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const inbox = new Inbox<number>();
    const session = rig.session();
    await session
      .channel("a")
      .subscribe(event => inbox.put((event as unknown as { half: number }).half), { modulator: split });
    producer.publish({ n: 6, note: "" });
    expect(await inbox.take(2)).toEqual([3, -3]);
    const refused = (source: string) =>
      session.channel("a", Tick).subscribe(() => {}, { modulator: { source } });
    await expect(refused("export default class {")).rejects.toMatchObject({ code: "MODULATOR_INVALID" });
    const needy = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { static needs = ["context.secret"]; }`;
    await expect(refused(needy)).rejects.toMatchObject({ code: "SERVICE_MISSING" });
  });

  test("MOE-4: a producer that opens later has it before its first event counts; each process' state is its own", async () => {
    await using rig = await rigAt(at);
    const inbox = new Inbox<string>();
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
    const producers = [];
    for (const name of ["p", "q"]) {
      const producer = await rig.session(rig.producing).channel("a", Tick).produce();
      producer.publish({ n: 2, note: name });
      producer.publish({ n: 4, note: name });
      producers.push(producer);
    }
    const seen = await inbox.take(4);
    for (const name of ["p", "q"])
      expect(seen.filter(text => text.includes(name))).toEqual([`2 ${name}1`, `4 ${name}2`]);
    expect(consumer.placements.map(({ at }) => at)).toEqual([at, at]);
    await Promise.all(producers.map(producer => producer.close()));
    await expect.poll(() => consumer.placements).toEqual([]);
  });

  test("MOE-5: one that fails is removed, its consumers told why, and nobody else notices", async () => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const good = await numbersOf(rig, "a", Tick, { modulator: numbered });
    const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue(event) { if (event.n === 4) throw new Error("no fours"); super.enqueue(event); } }`;
    const bad = await rig
      .session()
      .channel("a", Tick)
      .subscribe(() => {}, { modulator: { source } });
    for (let n = 0; n < 10; n++) producer.publish({ n, note: "" });
    await whenState(bad, "refused");
    expect(bad.status.error).toMatchObject({
      code: "MODULATOR_FAILED",
      message: expect.stringContaining("no fours"),
    });
    expect(await good.take(5)).toEqual([0, 2, 4, 6, 8]);
  });

  test("CHAN-6: who raises its first event when it hears of demand has it seen, however long the opening takes", async () => {
    await using rig = await rigAt(at);
    await using cutter = await startCutter(rig.gateway.address);
    const session = rig.session(rig.producing);
    const producer = await session.channel("a", Tick).produce();
    const slowSession = connect(cutter.address, rig.producing);
    await slowSession.channel("a", Tick).produce();
    let raised = 0;
    producer.onDemand(({ total }) => {
      if (total > 0 && raised === 0) producer.publish({ n: raised++, note: "" });
    });
    // Of the other producer the gateway hears nothing, and so the consumer cannot be open.
    cutter.hold();
    const inbox = new Inbox<number>();
    const opening = rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), { modulator: numbered });
    // There and back as often as an installation takes, and more.
    for (let i = 0; i < 500; i++) await session.channel("a", Tick).types();
    expect([raised, producer.demand.total]).toEqual([0, 0]);
    cutter.release();
    await opening;
    expect(await inbox.take(1)).toEqual([0]);
    await expect.poll(() => producer.demand.total).toBe(1);
    await slowSession.close();
  });

  test("MOE-8: a reset changes the pair at once; MOE-6: what nobody wants is not sent", async () => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const inbox = new Inbox<string>();
    const marks = (mark: string): Modulator => ({
      source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue({ n }) { super.enqueue({ n, note: this.parameters }); } }`,
      parameters: mark,
    });
    const consumer = await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ n, note }) => inbox.put(`${note}${n}`), { modulator: marks("a") });
    producer.publish({ n: 1, note: "" });
    await inbox.take(1);
    await consumer.reset({ modulator: marks("b") });
    producer.publish({ n: 2, note: "" });
    expect(await inbox.take(2)).toEqual(["a1", "b2"]);
    await consumer.close();
    await expect.poll(() => producer.demand.total).toBe(0);
  });

  test("MOE-17: a modulator behind another one runs behind it", async () => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const first = new Inbox<string>();
    const inbox = new Inbox<string>();
    await rig
      .session()
      .channel("a", Tick)
      .subscribe(({ note }) => first.put(note), { modulator: numbered, as: "evens" });
    const consumer = await rig
      .session()
      .channel("a#evens", Tick)
      .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
    expect(consumer.placements.map(({ at }) => at)).toEqual([at]);
    for (let n = 0; n < 8; n++) producer.publish({ n, note: "" });
    expect(await inbox.take(4)).toEqual(["0 11", "2 22", "4 33", "6 44"]);
    expect(await first.take(4)).toEqual(["1", "2", "3", "4"]);
    expect(await producer.publishSync({ n: 8, note: "" })).toBe(2);
  });

  test("OBJ-2: an update of a shared object reaches it", async () => {
    await using rig = await rigAt(at);
    const producer = await rig.session(rig.producing).channel("a", Tick).produce();
    const session = rig.session();
    const least = session.share({ n: 5 });
    const inbox = new Inbox<number>();
    const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue(event) { if (event.n >= this.objects.least.n) super.enqueue(event); } }`;
    await session
      .channel("a", Tick)
      .subscribe(({ n }) => inbox.put(n), { modulator: { source, objects: { least } } });
    for (const n of [4, 5]) producer.publish({ n, note: "" });
    expect(await inbox.take(1)).toEqual([5]);
    least.update({ n: 3 });
    let n = 0;
    // It takes effect some time after it was made; then each 4 comes.
    await expect
      .poll(() => {
        producer.publish({ n: 4, note: String(n++) });
        return inbox.all.length;
      })
      .toBeGreaterThan(1);
  });
});

test("MOE-18: only the events of the producer that refuses are modulated elsewhere", async () => {
  await using rig = await startRig();
  const runs = await rig.session().channel("a", Tick).produce();
  const refuses = await rig
    .session({ modulators: { most: 0 } })
    .channel("a", Tick)
    .produce();
  const inbox = new Inbox<string>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
  expect(consumer.placements.map(({ at }) => at).toSorted()).toEqual(["consumer", "producer"]);
  await expect.poll(() => runs.demand).toMatchObject({ consumers: 0, total: 1 });
  await expect.poll(() => refuses.demand).toMatchObject({ consumers: 1, derived: [] });
  const raise = (producer: Producer<Event>, note: string) =>
    [0, 1, 2].map(n => producer.publish({ n, note }));
  raise(runs, "r");
  raise(refuses, "x");
  const seen = await inbox.take(4);
  expect(seen.filter(text => text.includes("r"))).toEqual(["0 r1", "2 r2"]);
  expect(seen.filter(text => text.includes("x"))).toEqual(["0 x1", "2 x2"]);
});

test("MOE-9: a producer runs the modulators alone that its owner allows, and others run the rest", async () => {
  await using rig = await startRig();
  const [known, unknown] = [signingKeys(), signingKeys()];
  const texts = {
    anybodys: numbered,
    own: { source: `${numbered.source}// own` },
    standard: fifo().modulator as Modulator,
    signed: signModulator(numbered, known.secretKey),
    "signed by a stranger": signModulator(numbered, unknown.secretKey),
    "changed after it was signed": {
      source: signModulator(numbered, known.secretKey).source.replace("class", "class Other"),
    },
  };
  const runsWhat = async (allow: AllowedModulators): Promise<string[]> => {
    const channel = `a/${typeof allow === "string" ? allow : "signed"}`;
    const producing = rig.session({ modulators: { allow, trusted: [texts.own.source] } });
    await producing.channel(channel, Tick).produce();
    const runs: string[] = [];
    for (const [name, modulator] of Object.entries(texts)) {
      const consumer = await rig
        .session()
        .channel(channel, Tick)
        .subscribe(() => {}, { modulator });
      const [{ at, code } = {}] = consumer.placements;
      if (at === "producer") runs.push(name);
      else expect({ at, code }).toEqual({ at: "consumer", code: "MODULATORS_NOT_SERVED" });
    }
    return runs;
  };
  expect(await runsWhat("any")).toEqual(Object.keys(texts));
  expect(await runsWhat("none")).toEqual([]);
  expect(await runsWhat("standard")).toEqual(["own", "standard"]);
  expect(await runsWhat({ signedBy: [known.publicKey] })).toEqual(["own", "standard", "signed"]);
  for (const allow of ["some", {}, { signedBy: ["key"] }, null])
    expect(() => rig.session({ modulators: { allow: allow as never } })).toThrow("modulators.allow");
  expect(() => signModulator(numbered, "key")).toThrow("a key of Ed25519");
});

test("MOE-18: a producer that runs no more than so many has others run the rest", async () => {
  await using rig = await startRig();
  await rig
    .session({ modulators: { most: 1 } })
    .channel("a", Tick)
    .produce();
  const open = (key: number) =>
    rig
      .session()
      .channel("a", Tick)
      .subscribe(() => {}, { modulator: { ...numbered, parameters: key } });
  expect((await open(1)).placements).toMatchObject([{ at: "producer", why: "", code: undefined }]);
  expect((await open(1)).placements).toMatchObject([{ at: "producer" }]);
  expect((await open(2)).placements).toMatchObject([
    { at: "consumer", code: "MODULATORS_NOT_SERVED", why: "the producer runs at most 1 modulators" },
  ]);
  expect(() => rig.session({ modulators: { most: -1 } })).toThrow(
    expect.objectContaining({ code: "ARGUMENT_INVALID" }),
  );
});

test("MOE-18: a consumer in the very process that refuses is fed there", async () => {
  await using rig = await startRig();
  const session = rig.session({ modulators: { most: 0 } });
  const producer = await session.channel("a", Tick).produce();
  const inbox = new Inbox<string>();
  const consumer = await session
    .channel("a", Tick)
    .subscribe(({ n, note }) => inbox.put(`${n} ${note}`), { modulator: numbered });
  expect(consumer.placements).toMatchObject([{ at: "consumer" }]);
  for (const n of [1, 2, 4]) producer.publish({ n, note: "" });
  expect(await inbox.take(2)).toEqual(["2 1", "4 2"]);
  expect(await producer.publishSync({ n: 6, note: "" })).toBe(1);
});

test("MOE-18, HIST-7: what a consumer's own process makes has no history: its past is made again", async () => {
  await using rig = await rigAt("consumer");
  const producer = await rig
    .session(rig.producing)
    .channel("a", Tick)
    .produce({ history: { events: 100 } });
  const live = await numbersOf(rig, "a", Tick, { modulator: numbered });
  for (const n of [2, 4]) producer.publish({ n, note: "" });
  await live.take(2);
  const late = new Inbox<number[]>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }, { seq }) => late.put([n, seq]), { modulator: numbered, from: new Date(0) });
  expect(consumer.placements).toMatchObject([{ at: "consumer" }]);
  expect(consumer.status).toMatchObject({ recovered: true, missing: 0 });
  producer.publish({ n: 6, note: "" });
  expect(await late.take(3)).toEqual([
    [2, 0],
    [4, 0],
    [6, 0],
  ]);
});
