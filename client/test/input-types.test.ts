import {
  connect,
  type JechoError,
  latestPerKey,
  type Modulator,
  type Producer,
  type Session,
  type Type,
  unpack,
} from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { typeFromFbs } from "@jecho/shared/fbs";
import { describe, expect, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { Inbox, startRig, whenState } from "./rig.ts";

/*
 * Modulators that say which type they were written for, and producers that grew since.
 */

type Event = Record<string, unknown>;

const typeOf = (fields: string): Type<Event> =>
  typeFromFbs<Event>(`table GridData { ${fields} } root_type GridData;`);

const INPUT = "table GridData { step: int; layer: int; run: string; values: [float]; } root_type GridData;";
const Older = typeOf("layer: short; step: short; values: [float];");
const Newer = typeOf("more: [float]; run: string; values: [float]; layer: int; step: int;");
const Grown = typeOf("step: long; layer: int; values: [float];");
const VALUES = Float32Array.of(1, 2);

/** Makes an event of its own of every event, and passes those of layer 1 on as they are. */
const written: Modulator = {
  source: `import { schemaFromFbs } from "jecho:fbs";
import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  static input = schemaFromFbs(${JSON.stringify(INPUT)});
  enqueue(event) {
    if (event.layer === 1) super.enqueue(event);
    super.enqueue({ step: event.step + 1, layer: -event.layer, run: event.run + "!", values: event.values });
  }
}`,
};

const produce = (session: Session, version: Type<Event>): Promise<Producer<Event>> =>
  session.channel("grid", version).produce();

/** Where modulators run, and, with the producer, in which tier. */
const WHERE = [
  ...PLACES.map(at => ({ at, tier: "hosted" }) as const),
  { at: "producer", tier: "local" } as const,
];

describe.each(WHERE)("a modulator written for an older type, at the $at, $tier", ({ at, tier }) => {
  const trusted = tier === "local" ? [written.source] : [];

  test("TYPE-10, SYNC-5: reads what grew since by its own names; whom it cannot read its consumers are told of, and it goes on", async () => {
    await using rig = await rigAt(at);
    const options = at === "producer" ? { modulators: { trusted } } : rig.producing;
    const older = await produce(rig.session(options), Older);
    const session = rig.session(options);
    const newer = await produce(session, Newer);
    const inbox = new Inbox<unknown>();
    const errors = new Inbox<JechoError>();
    const restarts: unknown[] = [];
    const consumer = await rig
      .session()
      .channel("grid")
      .subscribe(event => inbox.put(unpack(event)), { modulator: written, onError: errors.put });
    consumer.onRestart(why => restarts.push(why));
    expect(new Set(consumer.placements.map(placement => placement.at))).toEqual(new Set([at]));
    await older.publishSync({ step: 1, layer: 1, values: VALUES });
    await newer.publishSync({ step: 2, layer: 2, run: "x", values: VALUES, more: VALUES });
    const grown = await produce(session, Grown);
    await expect.poll(() => grown.demand.total).toBe(1);
    expect(await grown.publishSync({ step: 3n, layer: 3, values: VALUES })).toBe(0);
    expect(await grown.publishSync({ step: 4n, layer: 3, values: VALUES })).toBe(0);
    await newer.publishSync({ step: 5, layer: 5, run: "y", values: VALUES, more: VALUES });
    expect(await inbox.take(4)).toEqual([
      { step: 1, layer: 1, values: VALUES },
      { step: 2, layer: -1, run: "!", values: VALUES },
      { step: 3, layer: -2, run: "x!", values: VALUES },
      { step: 6, layer: -5, run: "y!", values: VALUES },
    ]);
    const [told] = await errors.take(1);
    expect(told).toMatchObject({ code: "TYPE_MISMATCH" });
    expect(told?.message).toContain('"step"');
    expect(told?.message).toContain("writer's int64 does not fit the reader's int32");
    expect(told?.message).toContain(`writes ${Grown}, the modulator reads ${typeFromFbs(INPUT)}`);
    expect(errors.all).toHaveLength(1);
    expect(restarts).toEqual([]);
    expect(consumer.status.state).toBe("live");
  });
});

test("TYPE-11, SYNC-5: producers without the field that a standard modulator goes by end it for nobody: its consumers are told, and have the others' events", async () => {
  await using rig = await startRig();
  const other = await produce(rig.session(), typeOf("step: int; level: int;"));
  const one = await produce(rig.session(), Newer);
  const inbox = new Inbox<unknown>();
  const errors = new Inbox<JechoError>();
  const consumer = await rig
    .session()
    .channel("grid", Newer)
    .subscribe(({ step }) => inbox.put(step), { ...latestPerKey("layer"), onError: errors.put });
  expect(await other.publishSync({ step: 1, level: 1 })).toBe(0);
  expect(await one.publishSync({ step: 2, layer: 1, values: VALUES })).toBe(1);
  const later = await produce(rig.session(), typeOf("step: int; height: int;"));
  await expect.poll(() => later.demand.total).toBe(1);
  expect(await later.publishSync({ step: 3, height: 1 })).toBe(0);
  expect(await one.publishSync({ step: 4, layer: 1, values: VALUES })).toBe(1);
  expect(inbox.all).toEqual([2, 4]);
  const told = await errors.take(2);
  for (const { code, message } of told) {
    expect(code).toBe("TYPE_MISMATCH");
    expect(message).toContain('an event has no field "layer"');
    expect(message).toContain("its events are dropped");
  }
  expect(errors.all).toHaveLength(2);
  expect(consumer.status.state).toBe("live");
});

test("TYPE-10: a consumer is refused at open where no present producer can be read, and both sides are named; one it hears of later", async () => {
  await using rig = await startRig();
  const grown = await produce(rig.session(), Grown);
  const errors = new Inbox<JechoError>();
  const inbox = new Inbox<number>();
  const subscribe = () =>
    rig
      .session()
      .channel("grid")
      .subscribe(event => inbox.put((event as unknown as { step: number }).step), {
        modulator: written,
        onError: errors.put,
      });
  await expect(subscribe()).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: `field "step" of the writer's GridData and the reader's GridData: the writer's int64 does not fit the reader's int32 (grid is written as ${Grown}, this modulator reads ${typeFromFbs(INPUT)})`,
  });
  const newer = await produce(rig.session(), Newer);
  const consumer = await subscribe();
  expect(consumer.placements.map(({ at }) => at)).toEqual(["producer", "producer"]);
  expect(await grown.publishSync({ step: 3n, layer: 3, values: VALUES })).toBe(0);
  expect(await errors.take(1)).toMatchObject([{ code: "TYPE_MISMATCH" }]);
  await newer.publishSync({ step: 5, layer: 2, run: "", values: VALUES, more: VALUES });
  expect(inbox.all).toEqual([6]);
});

test("TYPE-3, TYPE-10: whom it cannot read does not keep a consumer from coming back, with a modulator or without", async () => {
  await using rig = await startRig();
  await using way = await startCutter(rig.gateway.address);
  const newer = await produce(rig.session(), Newer);
  const away = connect(way.address, { backoff: { firstMs: 20, mostMs: 100 } });
  const [made, read] = [new Inbox<number>(), new Inbox<number>()];
  const errors = [new Inbox<JechoError>(), new Inbox<JechoError>()] as const;
  const modulated = await away
    .channel("grid")
    .subscribe(event => made.put((event as unknown as { step: number }).step), {
      modulator: written,
      onError: errors[0].put,
    });
  const reader = await away
    .channel("grid", typeFromFbs<{ step: number }>(INPUT))
    .subscribe(({ step }) => read.put(step), { onError: errors[1].put });
  const grown = await produce(rig.session(), Grown);
  await expect.poll(() => grown.demand.total).toBe(2);
  grown.publish({ step: 3n, layer: 3, values: VALUES });
  for (const inbox of errors) expect(await inbox.take(1)).toMatchObject([{ code: "TYPE_MISMATCH" }]);
  const consumers = [modulated, reader];
  const interrupted = consumers.map(consumer => whenState(consumer, "reconnecting"));
  way.cut();
  await Promise.all(interrupted);
  await Promise.all(consumers.map(consumer => whenState(consumer, "live")));
  await expect.poll(() => newer.demand.total).toBe(2);
  newer.publish({ step: 5, layer: 2, run: "", values: VALUES, more: VALUES });
  expect(await made.take(1)).toEqual([6]);
  expect(await read.take(1)).toEqual([5]);
  await away.close();
});

test("TYPE-10: bytes without a type are refused at open, too", async () => {
  await using rig = await startRig();
  await rig.session().channel("grid").produce();
  await expect(
    rig
      .session()
      .channel("grid")
      .subscribe(() => {}, { modulator: written }),
  ).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: expect.stringContaining("the modulator expects GridData"),
  });
});

test("TYPE-10, MOE-17: consumers of what is derived from it are told, and what is behind it reads by its own names", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const older = await produce(session, Older);
  const viewing = rig.session();
  const [first, second] = [new Inbox<JechoError>(), new Inbox<JechoError>()];
  await viewing.channel("grid").subscribe(() => {}, { modulator: written, as: "made", onError: first.put });
  const inbox = new Inbox<unknown>();
  await viewing
    .channel("grid#made")
    .subscribe(event => inbox.put(unpack(event)), { modulator: written, onError: second.put });
  const grown = await produce(session, Grown);
  await grown.publishSync({ step: 3n, layer: 3, values: VALUES });
  await older.publishSync({ step: 1, layer: 2, values: VALUES });
  expect(await inbox.take(1)).toEqual([{ step: 3, layer: 2, run: "!!", values: VALUES }]);
  expect(await first.take(1)).toMatchObject([{ code: "TYPE_MISMATCH" }]);
  expect(await second.take(1)).toMatchObject([{ code: "TYPE_MISMATCH" }]);
});
