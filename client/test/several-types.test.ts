import {
  cluster,
  type JechoError,
  type Modulator,
  type Producer,
  type Session,
  Type,
  type,
  unpack,
} from "@jecho/client";
import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { Inbox, moe, startRig } from "./rig.ts";

/*
 * Producers of one process that write different versions of a type on one channel.
 */

interface Grid {
  readonly step: number;
  readonly layer: number;
}

const First = type("GridData", { step: "uint16", layer: "int16", values: "float32[]" });
const Second = type("GridData", { run: "string", values: "float32[]", step: "uint32", layer: "int16" });
const VALUES = Float32Array.of(1, 2);

async function producers(session: Session): Promise<[Producer<unknown>, Producer<unknown>]> {
  const open = (version: unknown): Promise<Producer<unknown>> =>
    session.channel("grid", version as Type).produce() as Promise<Producer<unknown>>;
  return [await open(First), await open(Second)];
}

/** The even steps by the first producer, the odd ones by the second. */
function publish([first, second]: [Producer<unknown>, Producer<unknown>], steps: number): void {
  for (let step = 0; step < steps; step++) {
    if (step % 2 === 0) first.publish({ step, layer: step % 4, values: VALUES });
    else second.publish({ step, layer: step % 4, values: VALUES, run: `r${step}` });
  }
}

const asWritten = (step: number): unknown => ({
  step,
  layer: step % 4,
  values: VALUES,
  ...(step % 2 === 1 && { run: `r${step}` }),
});
const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Passes some events as they came, and of the others makes new ones, of the type of those that come. */
const passing: Modulator = moe(`enqueue(event) {
    if (event.layer < 2) super.enqueue(event);
    else super.enqueue({ step: event.step, layer: -event.layer, values: event.values });
  }`);

/** Counts what it has seen, whatever its type: there is one of it in a process. */
const counting: Modulator =
  moe(`static output = { name: "Seen", description: { step: "uint32", seen: "uint32", hasRun: "bool" } };
  seen = 0;
  enqueue({ step, run }) { super.enqueue({ step, seen: ++this.seen, hasRun: run !== undefined }); }`);

test("TYPE-5: producers of one session write different types on one channel; each consumer reads both by name", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const both = await producers(session);
  const inboxes = await Promise.all(
    [session, rig.session()].map(async reading => {
      const inbox = new Inbox<unknown>();
      const viewer = type("GridData", { step: "uint32", run: "string", values: "float32[]" });
      await reading.channel("grid", viewer).subscribe(event => inbox.put(unpack(event)));
      return inbox;
    }),
  );
  await expect.poll(() => both.map(({ demand }) => demand.total)).toEqual([2, 2]);
  publish(both, 100);
  const wanted = range(100).map(step => ({ step, run: step % 2 === 0 ? "" : `r${step}`, values: VALUES }));
  for (const inbox of inboxes) {
    const seen = (await inbox.take(100)) as Grid[];
    expect(seen.toSorted((a, b) => a.step - b.step)).toEqual(wanted);
  }
});

test("TYPE-5: a channel is typed or untyped for all, those of one process too", async () => {
  await using rig = await startRig();
  const session = rig.session();
  await session.channel("grid", First).produce();
  await expect(session.channel("grid").produce()).rejects.toMatchObject({ code: "TYPE_MISMATCH" });
});

test("TYPE-12: a producer is warned that nobody can read its type, once, and nothing is thrown", async () => {
  await using rig = await startRig();
  const Other = type("Other", { step: "string" });
  const grids = rig.session();
  await grids.channel("grid", First).subscribe(() => {});
  const told = [new Inbox<JechoError>(), new Inbox<JechoError>(), new Inbox<JechoError>()] as const;
  const [first, second, readable] = told.map(({ put }) => rig.session({ onError: put })) as [
    Session,
    Session,
    Session,
  ];
  await first.channel("grid", Other).produce();
  expect(await told[0].take(1)).toMatchObject([
    { code: "TYPE_UNREAD", message: "none of the 1 consumers of grid can read events of type Other" },
  ]);
  await second.channel("grid", Other).produce();
  await told[1].take(1);
  await readable.channel("grid", First).produce();
  // Who has no type can read any: from then on it is read, until nobody is left that can.
  const any = await rig
    .session()
    .channel("grid")
    .subscribe(() => {});
  await any.close();
  await first.channel("later", Other).produce();
  await readable.channel("later", First).produce();
  await rig
    .session()
    .channel("later", First)
    .subscribe(() => {});
  expect((await told[0].take(2))[1]?.message).toContain("consumers of later");
  await rig
    .session()
    .channel("grid", First)
    .subscribe(() => {});
  expect((await told[0].take(3))[2]?.message).toBe(
    "none of the 2 consumers of grid can read events of type Other",
  );
  expect(await told[1].take(2)).toHaveLength(2);
  expect([told[0].all.length, told[1].all.length, told[2].all.length]).toEqual([3, 2, 0]);
});

/** Where modulators run, and, with the producer, in which tier. */
const WHERE = [
  ...PLACES.map(at => ({ at, tier: "hosted" }) as const),
  { at: "producer", tier: "local" } as const,
];

describe.each(WHERE)(
  "modulators at the $at, $tier, of producers of two types in one session",
  ({ at, tier }) => {
    const trusted = tier === "local" ? [passing.source, counting.source] : [];

    test("TYPE-5: each event is read by its writer's type, and passed on or made as of that", async () => {
      await using rig = await rigAt(at);
      const session = rig.session(at === "producer" ? { modulators: { trusted } } : rig.producing);
      const both = await producers(session);
      const inbox = new Inbox<Grid>();
      const errors: unknown[] = [];
      const consumer = await rig
        .session()
        .channel("grid")
        .subscribe(event => inbox.put(unpack(event) as unknown as Grid), {
          modulator: passing,
          onError: error => errors.push(error),
        });
      expect(consumer.placements.map(placement => placement.at)).toEqual([at]);
      publish(both, 200);
      const seen = await inbox.take(200);
      expect(errors).toEqual([]);
      const wanted = range(200).map(step => {
        const event = asWritten(step) as Record<string, unknown>;
        if (step % 4 < 2) return event;
        // A field that it did not set is there, with its default.
        return { ...event, layer: -(step % 4), ...(step % 2 === 1 && { run: "" }) };
      });
      expect(seen.toSorted((a, b) => a.step - b.step)).toEqual(wanted);
      expect(consumer.stats).toMatchObject({ missed: 0 });
    });

    test("TYPE-5: one modulator sees the events of all of them, and one that is opened later is no exception", async () => {
      await using rig = await rigAt(at);
      const session = rig.session(at === "producer" ? { modulators: { trusted } } : rig.producing);
      const first = await session.channel("grid", First).produce();
      const inbox = new Inbox<{ step: number; seen: number; hasRun: boolean }>();
      await rig
        .session()
        .channel("grid")
        .subscribe(event => inbox.put(unpack(event) as never), { modulator: counting });
      first.publish({ step: 0, layer: 0, values: VALUES });
      await inbox.take(1);
      const second = await session.channel("grid", Second).produce();
      second.publish({ step: 1, layer: 0, values: VALUES, run: "x" });
      await inbox.take(2);
      first.publish({ step: 2, layer: 0, values: VALUES });
      expect(await inbox.take(3)).toEqual([
        { step: 0, seen: 1, hasRun: false },
        { step: 1, seen: 2, hasRun: true },
        { step: 2, seen: 3, hasRun: false },
      ]);
    });

    test("TYPE-5: a modulator reads a type that another one was installed with before the first event of it", async () => {
      await using rig = await rigAt(at);
      const session = rig.session(at === "producer" ? { modulators: { trusted } } : rig.producing);
      const viewing = rig.session();
      const first = await session.channel("grid", First).produce();
      const inbox = new Inbox<{ step: number; seen: number; hasRun: boolean }>();
      const errors: unknown[] = [];
      await viewing.channel("grid").subscribe(event => inbox.put(unpack(event) as never), {
        modulator: counting,
        onError: error => errors.push(error),
      });
      first.publish({ step: 0, layer: 0, values: VALUES });
      await inbox.take(1);
      const second = await session.channel("grid", Second).produce();
      await first.close();
      await viewing.channel("grid").subscribe(() => {}, { modulator: passing });
      second.publish({ step: 1, layer: 0, values: VALUES, run: "x" });
      expect((await inbox.take(2))[1]).toEqual({ step: 1, seen: 2, hasRun: true });
      expect(errors).toEqual([]);
    });
  },
);

test("TYPE-5, MOE-17: behind a modulator that passes several types on, the next one reads each by its own", async () => {
  await using rig = await startRig();
  const both = await producers(rig.session());
  const session = rig.session();
  await session.channel("grid").subscribe(() => {}, { modulator: passing, as: "passed" });
  const inbox = new Inbox<{ step: number; seen: number; hasRun: boolean }>();
  await session
    .channel("grid#passed")
    .subscribe(event => inbox.put(unpack(event) as never), { modulator: counting });
  publish(both, 20);
  const seen = await inbox.take(20);
  expect(seen.map(({ seen }) => seen)).toEqual(range(20).map(i => i + 1));
  expect(seen.every(({ step, hasRun }) => hasRun === (step % 2 === 1))).toBe(true);
});

test("TYPE-5: a cluster holds events of one type, and each comes out as its writer's", async () => {
  await using rig = await startRig();
  const both = await producers(rig.session());
  const viewer = type("GridData", { step: "uint32", run: "string" });
  const inbox = new Inbox<unknown>();
  const { demodulator, modulator } = cluster({ events: 7, withinMs: 10 });
  await rig
    .session()
    .channel("grid", viewer)
    .subscribe(event => inbox.put(unpack(event)), { modulator, demodulator: demodulator as never });
  publish(both, 50);
  const seen = (await inbox.take(50)) as Grid[];
  const wanted = range(50).map(step => ({ step, run: step % 2 === 0 ? "" : `r${step}` }));
  expect(seen.toSorted((a, b) => a.step - b.step)).toEqual(wanted);
});

test.each(["gateway", "consumer"] as const)(
  "TYPE-4: events that cannot be read without harm reach no modulator at the %s: they are missing, and it goes on",
  async at => {
    await using rig = await rigAt(at);
    const said = type("GridData", { step: "uint16", layer: "int16", values: "float32[]" });
    const written = type("GridData", { step: "uint16", layer: "int16", values: "uint8" });
    // A type of a producer that means harm: its events are not what their schema says.
    const broken = new Type(written.root, said.schema);
    const session = rig.session(rig.producing);
    const both = await producers(session);
    const harmful = await session.channel("grid", broken).produce();
    const inbox = new Inbox<Grid>();
    const errors: unknown[] = [];
    const consumer = await rig
      .session()
      .channel("grid")
      .subscribe(event => inbox.put(unpack(event) as unknown as Grid), {
        modulator: passing,
        onError: error => errors.push(error),
      });
    await expect.poll(() => harmful.demand.total).toBe(1);
    publish(both, 2);
    await harmful.publishSync({ step: 1, layer: 0, values: 200 });
    publish(both, 2);
    const seen = await inbox.take(4);
    expect(seen.map(({ step }) => step).toSorted()).toEqual([0, 0, 1, 1]);
    expect(errors).toEqual([]);
    expect(consumer.placements.map(placement => placement.at)).toEqual([at]);
  },
);
