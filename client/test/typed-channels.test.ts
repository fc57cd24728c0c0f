import { setImmediate as laterTurn } from "node:timers/promises";
import { type EventInfo, type JechoError, json, type Session, type Type, type } from "@jecho/client";
import { typeFromFbs } from "@jecho/shared/fbs";
import { expect, test } from "vitest";
import { Inbox, startRig } from "./rig.ts";

/*
 * What ECho's papers say of types, and where it is proved:
 *
 * - Typed channels ("Event Types and Typed Channels": fully typed events, nested structures, strings and arrays of any length, no
 *   copy on the way): "three versions of GridData", "typed arrays in handlers are views"; the encoding itself in shared/test/types.test.ts.
 * - Type extension (a source submits a superset of the channel's type, a sink has a subset, matched by name; within a process, too):
 *   "three versions of GridData", "type extension within a process"; what does not match: "a writer that a consumer cannot read".
 *   Producers of several types in one process, and modulators there: several-types.test.ts.
 *   That a modulator written for an older type works on a newer one: modulators/test/typed-events.test.ts. Its price: `npm run bench -- types`.
 * - Type discovery and reflection (a token in every event's header, which retrieves the full type; generic components that operate on
 *   data without knowing it): "a consumer that knows nothing finds the types of a channel", "a token that nobody writes";
 *   the generic components are tested in apps/jecho/test/command.test.ts and e2e/test/any-channel.spec.ts.
 */

/** GridData as it was at first, as it grew, and as it is: other slots, another order, wider numbers, more fields. */
const First = type("GridData", { step: "uint16", layer: "int16", values: "float32[]" });
const Second = type("GridData", {
  run: "string",
  values: "float32[]",
  step: "uint32",
  layer: "int16",
  origin: { latitude: "float32", longitude: "float32" },
});
const Third = typeFromFbs<Record<string, unknown>>(`
  enum Quality : byte { Unknown, Model, Measured }
  struct Place { longitude: double; latitude: double; }
  table GridData {
    origin: Place (id: 0);
    quality: Quality = Model (id: 1);
    step: uint (id: 5);
    run: string (id: 6);
    tags: [string] (id: 2);
    values: [float] (id: 3);
    layer: int (id: 4);
  }
  root_type GridData;`);

/** Ages of viewers, each with what it makes of an event. */
const VIEWERS = {
  first: type("GridData", { step: "uint32", layer: "int32", values: "float32[]" }),
  second: type("GridData", {
    step: "float64",
    values: "float32[]",
    run: "string",
    origin: { longitude: "float64", latitude: "float64" },
    colour: "string",
  }),
  third: typeFromFbs(`
    enum Quality : int { Unknown, Model, Measured, Guessed }
    table Place { latitude: double; longitude: double; }
    table GridData { step: ulong; layer: long; quality: Quality; origin: Place; tags: [string]; values: [float]; }
    root_type GridData;`),
};

const VALUES = Float32Array.of(1, 2.5, -3);
const GRIDS = [
  [First, { step: 1, layer: 7, values: VALUES }],
  [Second, { step: 2, layer: 8, values: VALUES, run: "b", origin: { latitude: 1.5, longitude: -2 } }],
  [
    Third,
    {
      step: 3,
      layer: 9,
      values: VALUES,
      run: "c",
      origin: { latitude: 0.5, longitude: 4 },
      tags: ["x"],
      quality: 2,
    },
  ],
] as const;

test("TYPE-3, TYPE-5: three versions of GridData on one channel, at the same time, and three ages of viewers", async () => {
  await using rig = await startRig();
  const producers = await Promise.all(
    GRIDS.map(([version]) =>
      rig
        .session()
        .channel("grid", version as Type)
        .produce(),
    ),
  );
  const inboxes = await Promise.all(
    Object.values(VIEWERS).map(async viewer => {
      const inbox = new Inbox<[step: number, event: unknown]>();
      await rig
        .session()
        .channel("grid", viewer as Type<{ step: number }>)
        .subscribe(event => inbox.put([Number(event.step), JSON.parse(JSON.stringify(event, plainNumbers))]));
      return inbox;
    }),
  );
  for (const producer of producers) await expect.poll(() => producer.demand.total).toBe(3);
  for (const [i, [, event]] of GRIDS.entries()) producers[i]?.publish(event);
  const seen = await Promise.all(
    inboxes.map(async inbox => (await inbox.take(3)).toSorted(([a], [b]) => a - b).map(([, event]) => event)),
  );
  const values = [1, 2.5, -3];
  expect(seen).toEqual([
    [1, 2, 3].map(step => ({ step, layer: step + 6, values })),
    [
      { step: 1, values, run: "", colour: "" },
      { step: 2, values, run: "b", colour: "", origin: { latitude: 1.5, longitude: -2 } },
      { step: 3, values, run: "c", colour: "", origin: { latitude: 0.5, longitude: 4 } },
    ],
    [
      { step: 1, layer: 7, quality: 0, tags: [], values },
      { step: 2, layer: 8, quality: 0, tags: [], values, origin: { latitude: 1.5, longitude: -2 } },
      { step: 3, layer: 9, quality: 2, tags: ["x"], values, origin: { latitude: 0.5, longitude: 4 } },
    ],
  ]);
});

function plainNumbers(_: string, value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  return ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number>) : value;
}

test("type extension within a process: each of its consumers reads by its own type, from the same bytes", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const producer = await session.channel("grid", Second).produce();
  const inbox = new Inbox<[step: number, values: Float32Array]>();
  for (const viewer of [Second, VIEWERS.first])
    await session
      .channel("grid", viewer as Type<{ step: number; values: Float32Array }>)
      .subscribe(event => inbox.put([event.step, event.values]));
  await expect.poll(() => producer.demand.total).toBe(2);
  // A run that comes in the turn of a consumer's opening waits for the next one, as a copy.
  await laterTurn();
  producer.publish(GRIDS[1][1]);
  const seen = await inbox.take(2);
  expect(seen.map(([step, values]) => [step, ...values])).toEqual([
    [2, ...VALUES],
    [2, ...VALUES],
  ]);
  expect(new Set(seen.map(([, { buffer }]) => buffer)).size).toBe(1);
});

test("TYPE-7, TYPE-8: a consumer that knows nothing finds the types of a channel, and reads any field by name", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("grid", Third).produce();
  const session = rig.session();
  const [found] = await session.channel("grid").types();
  expect(found?.token).toBe(Third.token);
  expect(await session.type(Third.token)).toBe(found);
  expect(found?.fields.map(({ name, written }) => `${name}: ${written}`)).toEqual([
    "origin: Place",
    "quality: Quality",
    "tags: [string]",
    "values: [float32]",
    "layer: int32",
    "step: uint32",
    "run: string",
  ]);
  expect(found?.fields[1]?.names?.get(2n)).toBe("Measured");
  const inbox = new Inbox<unknown>();
  await session.channel("grid").subscribe((event, { type }) => {
    const read = (value: unknown, fields: Type["fields"]): unknown =>
      Object.fromEntries(
        fields.map(({ name, fields }) => {
          const inner = (value as Record<string, unknown>)[name];
          return [name, fields.length > 0 && inner !== undefined ? read(inner, fields) : inner];
        }),
      );
    inbox.put(read(event, type?.fields ?? []));
  });
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish(GRIDS[2][1]);
  expect(await inbox.take(1)).toEqual([GRIDS[2][1]]);
});

test("TYPE-2, TYPE-7: the type of a token is one object, whichever session asks; that of a channel here, where one has it", async () => {
  await using rig = await startRig();
  const Own = type("Own", { step: "uint32" });
  const inbox = new Inbox<EventInfo["type"]>();
  const producer = await rig.session().channel("own", Own).produce();
  await rig
    .session()
    .channel("own")
    .subscribe((_, { type }) => inbox.put(type));
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ step: 1 });
  expect((await inbox.take(1))[0]).toBe(Own);
  expect(await rig.session().type(Own.token)).toBe(Own);
});

test("TYPE-7: a token that nobody writes is refused, and forgotten with its last producer", async () => {
  await using rig = await startRig();
  const ask = (session: Session): Promise<Type> => session.type(First.token);
  await expect(ask(rig.session())).rejects.toMatchObject({ code: "TYPE_UNKNOWN" });
  const producers = await Promise.all([1, 2].map(n => rig.session().channel(`grid/${n}`, First).produce()));
  expect((await ask(rig.session())).token).toBe(First.token);
  await producers[0]?.close();
  expect((await ask(rig.session())).name).toBe("GridData");
  await producers[1]?.close();
  await expect.poll(() => ask(rig.session()).catch((error: JechoError) => error.code)).toBe("TYPE_UNKNOWN");
});

test("TYPE-8: asking for a channel's types brings none into being", async () => {
  await using rig = await startRig();
  expect(await rig.session().channel("nobody/here").types()).toEqual([]);
  expect(rig.gateway.stats()).toMatchObject({ channels: 0 });
});

test("TYPE-5, SYNC-5: a writer that a consumer cannot read is told once, naming field and both sides; the others go on", async () => {
  await using rig = await startRig();
  const Odd = type("GridData", { step: "uint32", layer: "string", values: "float32[]" });
  const good = await rig.session().channel("grid", First).produce();
  const inbox = new Inbox<number>();
  const errors: JechoError[] = [];
  await rig
    .session()
    .channel("grid", VIEWERS.first)
    .subscribe(({ step }) => inbox.put(step), { onError: error => errors.push(error) });
  const odd = await rig.session().channel("grid", Odd).produce();
  for (const producer of [good, odd]) await expect.poll(() => producer.demand.total).toBe(1);
  for (let step = 1; step <= 3; step++)
    expect(await odd.publishSync({ step, layer: "low", values: VALUES })).toBe(0);
  good.publish({ step: 9, layer: 0, values: VALUES });
  expect(await inbox.take(1)).toEqual([9]);
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatchObject({ code: "TYPE_MISMATCH" });
  expect(errors[0]?.message).toMatch(
    /"layer".*string.*int32.*producer \d+ writes GridData \(\w{16}\).*reads GridData \(\w{16}\)/,
  );
  // Who opens later is told likewise, and refused where there is nobody else.
  const later: JechoError[] = [];
  await rig
    .session()
    .channel("grid", VIEWERS.first)
    .subscribe(() => {}, { onError: error => later.push(error) });
  await odd.publishSync({ step: 4, layer: "low", values: VALUES });
  expect(later).toMatchObject([{ code: "TYPE_MISMATCH" }]);
  await rig.session().channel("odd", Odd).produce();
  await expect(
    rig
      .session()
      .channel("odd", VIEWERS.first)
      .subscribe(() => {}),
  ).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: expect.stringMatching(
      /"layer".*string.*int32.*odd is written as GridData \(\w{16}\), this consumer reads GridData \(\w{16}\)/,
    ),
  });
});

test("TYPE-9: a value that has another number at the reader is a mismatch", async () => {
  await using rig = await startRig();
  const Writer = typeFromFbs("enum E : byte { A, B } table T { e: E; } root_type T;");
  const Reader = typeFromFbs("enum E : byte { B, A } table T { e: E; } root_type T;");
  await rig.session().channel("e", Writer).produce();
  await expect(
    rig
      .session()
      .channel("e", Reader)
      .subscribe(() => {}),
  ).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: expect.stringContaining("A is 0 in the writer's E and 1 in the reader's E"),
  });
});

test("typed arrays in handlers are views on the received bytes, whoever reads them", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("grid", Second).produce();
  const inbox = new Inbox<boolean>();
  const session = rig.session();
  const buffers: ArrayBufferLike[] = [];
  for (const viewer of [VIEWERS.first, VIEWERS.second])
    await session.channel("grid", viewer as Type<{ values: Float32Array }>).subscribe(({ values }) => {
      buffers.push(values.buffer);
      inbox.put(values[1] === 2.5);
    });
  await expect.poll(() => producer.demand.total).toBe(2);
  producer.publish(GRIDS[1][1]);
  expect(await inbox.take(2)).toEqual([true, true]);
  // One frame came for both, and its bytes are what each of them sees.
  expect(new Set(buffers).size).toBe(1);
});

test("untyped channels carry JSON by a helper, and what is no JSON is told to its reader", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<[unknown, EventInfo["type"]]>();
  const errors = new Inbox<string>();
  await rig
    .session()
    .channel("notes", json<{ text: string; list: number[] }>())
    .subscribe((note, { type }) => inbox.put([note, type]), { onError: ({ code }) => errors.put(code) });
  const producer = await rig.session().channel("notes", json()).produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ text: "Größe ✓", list: [1, 2] });
  expect(await inbox.take(1)).toEqual([[{ text: "Größe ✓", list: [1, 2] }, undefined]]);
  const raw = await rig.session().channel("notes").produce();
  await expect.poll(() => raw.demand.total).toBe(1);
  raw.publish(Uint8Array.of(0x7b, 0xff));
  expect(await errors.take(1)).toEqual(["EVENT_INVALID"]);
  for (const bad of [undefined, { big: 1n }, () => 1])
    expect(() => producer.publish(bad)).toThrowError(expect.objectContaining({ code: "EVENT_INVALID" }));
});
