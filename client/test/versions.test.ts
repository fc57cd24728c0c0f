import type { EventInfo, Modulator } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

/** Lets through what is at least so much; holds each event back until the next one comes where that is wanted. */
const above = (name: string, holds = false): string => `import { FifoModulator } from "jecho:moe";
  export default class extends FifoModulator {
    enqueue(event) {
      if (event.n < this.objects.${name}.n) return;
      if (${holds} && this.length === 0 && this.held === undefined) { this.held = event; return; }
      super.enqueue(event);
    }
  }`;

const reads = (source: string, objects: NonNullable<Modulator["objects"]>): Modulator => ({
  source,
  objects,
});

test("OBJ-13: behind a chain of modulators each event says the version of every object on its way", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const owner = rig.session();
  const [low, own] = [owner.share({ n: 0 }), owner.share({ n: 0 })];
  await owner.channel("a", Tick).subscribe(() => {}, { modulator: reads(above("low"), { low }), as: "low" });
  const viewer = rig.session();
  const high = viewer.share({ n: 0 });
  const inbox = new Inbox<EventInfo & { n: number }>();
  await viewer.channel("a#low", Tick).subscribe(() => {}, {
    modulator: reads(above("high"), { high, own: await viewer.attach(own.id) }),
    as: "middle",
  });
  await viewer
    .channel("a#middle", Tick)
    .subscribe(({ n }, info) => inbox.put({ n, ...info }), { modulator: { source: FIFO } });
  const said = (): unknown[] =>
    inbox.all.map(({ n, versions }) => [n, versions.of(low), versions.of(high), versions.of(own)]);
  const raise = async (n: number): Promise<void> => {
    await producer.publishSync({ n, note: "" });
  };
  await raise(1);
  low.update({ n: 2 });
  await expect.poll(() => producer.demand.derived[0]?.objects.low).toEqual({ n: 2 });
  await raise(1);
  await raise(2);
  high.update({ n: 3 });
  high.update({ n: 4 });
  await expect.poll(() => producer.demand.derived[1]?.objects.high).toEqual({ n: 4 });
  await raise(4);
  own.update({ n: 9 });
  await expect.poll(() => producer.demand.derived[1]?.objects.own).toEqual({ n: 9 });
  await raise(5);
  expect(said()).toEqual([
    [1, 1, 1, 1],
    [2, 2, 1, 1],
    [4, 2, 3, 1],
    [5, 2, 3, 2],
  ]);
  expect(inbox.all.map(({ versions }) => versions.of({ id: "another" }))).toEqual(Array(4).fill(undefined));
});

const FIFO = `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator {}`;

test("OBJ-13: who subscribes to a channel by its name, or brings no modulator, is told the versions, too; of the base channel none", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const owner = rig.session();
  const low = owner.share({ n: 0 });
  const seen: [string, number | undefined, number][] = [];
  const put =
    (who: string) =>
    (_: unknown, { versions, parameters }: EventInfo) =>
      void seen.push([who, versions.of(low), parameters]);
  await owner
    .channel("a", Tick)
    .subscribe(put("own"), { modulator: reads(above("low"), { low }), as: "low" });
  await rig.session().channel("a#low", Tick).subscribe(put("named"));
  await rig.session().channel("a", Tick).subscribe(put("base"));
  await expect.poll(() => producer.demand.consumers).toBe(1);
  await producer.publishSync({ n: 1, note: "" });
  expect(seen.sort()).toEqual([
    ["base", undefined, 0],
    ["named", 1, 1],
    ["own", 1, 1],
  ]);
});

test("OBJ-13: where the second modulator runs elsewhere, the versions of the first travel to it", async () => {
  await using rig = await startRig();
  const producer = await rig
    .session({ modulators: { most: 1 } })
    .channel("a", Tick)
    .produce();
  const viewer = rig.session();
  const [low, high] = [viewer.share({ n: 0 }), viewer.share({ n: 0 })];
  await viewer.channel("a", Tick).subscribe(() => {}, { modulator: reads(above("low"), { low }), as: "low" });
  const inbox = new Inbox<(number | undefined)[]>();
  const last = await viewer
    .channel("a#low", Tick)
    .subscribe((_, { versions }) => inbox.put([versions.of(low), versions.of(high)]), {
      modulator: reads(above("high"), { high }),
    });
  expect(last.placements.map(({ at }) => at)).toEqual(["consumer"]);
  await producer.publishSync({ n: 1, note: "" });
  low.update({ n: 1 });
  await expect.poll(() => producer.demand.derived[0]?.objects.low).toEqual({ n: 1 });
  await producer.publishSync({ n: 2, note: "" });
  expect(await inbox.take(2)).toEqual([
    [1, 1],
    [2, 1],
  ]);
});

const PULLS = `import { FifoModulator } from "jecho:moe";
  export default class extends FifoModulator {
    static output = { name: "Seen", description: { n: "uint32", x: "float64", stale: "bool" } };
    enqueue({ n, note }) {
      if (note === "pull") this.moe.pull("limit");
      super.enqueue({ n, x: this.objects.limit.x, stale: this.moe.isStale("limit") });
    }
  }`;
interface Seen {
  readonly n: number;
  readonly x: number;
  readonly stale: boolean;
}

test.each([
  ["with the producer", {}],
  ["with the consumer", { most: 0 }],
])("OBJ-8: a modulator's lazy copy has a newer state when it has pulled it: %s", async (_, modulators) => {
  await using rig = await startRig();
  const producer = await rig.session({ modulators }).channel("a", Tick).produce();
  const viewer = rig.session();
  const limit = viewer.share({ x: 1 });
  const [lazy, prompt] = [new Inbox<[Seen, number | undefined]>(), new Inbox<[Seen, number | undefined]>()];
  const take =
    (inbox: Inbox<[Seen, number | undefined]>) =>
    (event: unknown, { versions }: EventInfo) => {
      const { n, x, stale } = event as Seen;
      inbox.put([{ n, x, stale }, versions.of(limit)]);
    };
  const modulator = { source: PULLS, objects: { limit } };
  await viewer.channel("a").subscribe(take(lazy), { modulator: { ...modulator, lazy: ["limit"] } });
  await viewer.channel("a").subscribe(take(prompt), { modulator });
  let n = 0;
  const raise = async (note = ""): Promise<void> => {
    await producer.publishSync({ n: ++n, note });
  };
  /** What an event that is raised now shows to one of the modulators. */
  const shown = async (inbox: Inbox<[Seen, number | undefined]>): Promise<number | undefined> => {
    await raise();
    return inbox.all.at(-1)?.[0].x;
  };
  await raise();
  limit.update({ x: 2 });
  await expect.poll(() => shown(prompt)).toBe(2);
  expect(lazy.all.at(-1)).toEqual([{ n, x: 1, stale: true }, 1]);
  await raise("pull");
  limit.update({ x: 3 });
  await expect.poll(() => shown(lazy)).toBeGreaterThan(1);
  const [{ x: pulled }, version] = lazy.all.at(-1) as [Seen, number];
  expect(version).toBe(pulled);
  // Every event before that was made with what the copy had, and says so.
  for (const [{ x }, made] of [...lazy.all, ...prompt.all]) expect(made).toBe(x);
});
