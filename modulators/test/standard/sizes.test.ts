import {
  type Aggregate,
  aggregate,
  cluster,
  compress,
  downsample,
  encrypt,
  type HandlerPair,
  keyPair,
  quantise,
} from "@jecho/modulators";
import { encodeEvent, type, unpack } from "@jecho/shared";
import { expect, test } from "vitest";
import { openBench } from "../rig.ts";

const Field = type("Field", { step: "uint32", place: "string", values: "float32[]", wide: "float64[]" });
type Field = typeof Field.event;
const OPTIONS = { type: Field };

/** A field that changes a little from step to step, as those of simulations do. */
function fieldAt(step: number, cells = 500): Field {
  const at = (cell: number) => 280 + 10 * Math.sin(cell / 40) + Math.sin((step + cell) / 9);
  return {
    step,
    place: `station ${step}`,
    values: Float32Array.from({ length: cells }, (_, cell) => at(cell)),
    wide: Float64Array.from({ length: cells }, (_, cell) => at(cell) / 3),
  };
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return (state >>> 0) / 0x1_0000_0000;
  };
}

test.each([
  ["stride", [1, 4, 7]],
  ["mean", [2, 5, 7.5]],
  ["min", [1, 4, 7]],
  ["max", [3, 6, 8]],
] as const)("downsample, %s", async (method, expected) => {
  await using bench = await openBench<Field>(downsample("values", 3, method), OPTIONS);
  const values = Float32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  const [got] = await bench.push({ ...fieldAt(1, 2), values });
  expect(unpack(got)).toEqual({ ...fieldAt(1, 2), values: Float32Array.from(expected) });
});

test("aggregate: mean of groups, with a histogram", async () => {
  const handler = aggregate("values", { every: 2, bins: 2, low: 0, high: 4 });
  await using bench = await openBench<Field, Aggregate>(handler, OPTIONS);
  const event = (...values: number[]) => ({ ...fieldAt(1, 1), values: Float32Array.from(values) });
  expect(await bench.push(event(1, 2, Number.NaN))).toEqual([]);
  const [got] = await bench.push(event(3, 4, -5), event(9));
  expect(unpack(got)).toEqual({
    events: 2,
    count: 5,
    mean: 1,
    min: -5,
    max: 4,
    low: 0,
    high: 4,
    histogram: Uint32Array.of(1, 3),
  });
});

test("aggregate: a moving average of a number, and of nothing", async () => {
  const Number1 = type("Number1", { value: "float64" });
  const options = { type: Number1 };
  await using bench = await openBench<{ value: number }, Aggregate>(
    aggregate("value", { every: 1, window: 3 }),
    options,
  );
  const out = await bench.push(...[3, 6, 9, 30, Number.NaN].map(value => ({ value })));
  expect(out.map(({ mean }) => mean)).toEqual([3, 4.5, 6, 15, 19.5]);
  const [nothing] = await bench
    .push({ value: Number.NaN }, { value: Number.NaN })
    .then(list => list.slice(-1));
  expect(nothing).toMatchObject({ count: 0, mean: Number.NaN });
});

test("cluster: many events travel as one, and come apart as they were", async () => {
  await using bench = await openBench<Field>(cluster({ events: 10, withinMs: 50 }), OPTIONS);
  const sent = Array.from({ length: 23 }, (_, step) => fieldAt(step, 3));
  const got = await bench.push(...sent);
  expect(got.map(unpack)).toEqual(sent.slice(0, 20));
  expect(bench.made.length).toBe(2);
  expect((await bench.pass(50)).map(unpack)).toEqual(sent.slice(20));
  expect(bench.made.length).toBe(3);
  expect(await bench.pass(500)).toEqual([]);
});

test("cluster: is full by bytes, too, and an event larger than that goes alone", async () => {
  await using bench = await openBench<Uint8Array>(cluster({ bytes: 10 }));
  const sent = [4, 4, 4, 30, 1].map(length => new Uint8Array(length).fill(length));
  const got = [...(await bench.push(...sent)), ...(await bench.pass(100))];
  expect(got).toEqual(sent);
  expect(bench.made.length).toBe(4);
});

test("compress is lossless bit by bit, also for what is no number, and smaller where events resemble each other", async () => {
  await using bench = await openBench<Field>(compress({ refreshEvents: 8 }), OPTIONS);
  const random = seeded(3);
  const sent: Field[] = [];
  let values = fieldAt(0).values.slice();
  for (let step = 0; step < 40; step++) {
    values = values.slice();
    for (let i = 0; i < 25; i++) values[Math.floor(random() * values.length)] = random() * 300;
    if (step === 13) values.set([Number.NaN, -0, Number.POSITIVE_INFINITY, 1e-45]);
    if (step === 20) values = values.slice(0, 400);
    sent.push({ step, place: `station ${step % 10}`, values, wide: new Float64Array(0) });
  }
  const got = await bench.push(...sent);
  expect(got.map(event => encodeEvent(Field, unpack(event) as Field))).toEqual(
    sent.map(event => encodeEvent(Field, event)),
  );
  const bytes = bench.made.reduce((sum, made) => sum + made.bytes, 0);
  const plain = sent.reduce((sum, event) => sum + encodeEvent(Field, event).byteLength, 0);
  expect(bytes).toBeLessThan(plain / 2);
});

test("compress is lossless for random bytes of random lengths", async () => {
  await using bench = await openBench<Uint8Array>(compress());
  const random = seeded(11);
  const sent = Array.from({ length: 200 }, () => {
    const zeros = random();
    return Uint8Array.from({ length: Math.floor(random() * 700) }, () =>
      random() < zeros ? 0 : Math.floor(random() * 256),
    );
  });
  expect(await bench.push(...sent)).toEqual(sent);
});

test.each([0.5, 0.01, 1e-5])(
  "quantise is off by at most %s, and leaves the rest of the event alone",
  async bound => {
    await using narrow = await openBench<Field>(quantise("values", bound), OPTIONS);
    await using wide = await openBench<Field>(quantise("wide", bound), OPTIONS);
    const sent = Array.from({ length: 60 }, (_, step) => fieldAt(step));
    for (const odd of [3, 30]) {
      sent[odd]?.values.set([Number.NaN, Number.NEGATIVE_INFINITY, 3e38, -1e-40, 1e12], odd);
      sent[odd]?.wide.set([Number.NaN, Number.POSITIVE_INFINITY, 1e300, -5e-324, 1e15 / 7], odd);
    }
    for (const [bench, field, other] of [
      [narrow, "values", "wide"],
      [wide, "wide", "values"],
    ] as const) {
      const got = await bench.push(...sent);
      expect(got.length).toBe(sent.length);
      for (const [i, event] of got.entries()) {
        const real = sent[i] as Field;
        expect([event.step, event.place, event[other]]).toEqual([real.step, real.place, real[other]]);
        expect(event[field].constructor).toBe(real[field].constructor);
        expect(event[field].length).toBe(real[field].length);
        const wrong = Array.from(
          real[field],
          (value, cell) => [value, event[field][cell] as number] as const,
        ).filter(([value, rebuilt]) => !(Object.is(value, rebuilt) || Math.abs(rebuilt - value) <= bound));
        expect(wrong).toEqual([]);
      }
    }
  },
);

test("quantise is smaller the larger the bound", async () => {
  const sizes: number[] = [];
  for (const bound of [1, 0.1, 0.001]) {
    await using bench = await openBench<Field>(quantise("values", bound), OPTIONS);
    for (let step = 0; step < 50; step++) await bench.push({ ...fieldAt(step), wide: new Float64Array(0) });
    sizes.push(bench.made.reduce((sum, made) => sum + made.bytes, 0));
  }
  expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
  expect(sizes[0]).toBeLessThan((50 * 4 * 500) / 4);
});

const DIFFERENCES: [string, HandlerPair][] = [
  ["compress", compress({ refreshEvents: 5 })],
  ["quantise", quantise("values", 0.01, { refreshEvents: 5 })],
];
test.each(DIFFERENCES)(
  "%s: who missed an event sees the next ones from a whole one on",
  async (_, handler) => {
    const { demodulator, modulator } = handler;
    await using bench = await openBench<Field>({ modulator }, OPTIONS);
    for (let step = 0; step < 12; step++) await bench.push(fieldAt(step, 5));
    const source = { decode: (_token: bigint, bytes: Uint8Array) => Field.decode(bytes.slice()) };
    const steps: number[] = [];
    for (const [i, { event }] of bench.made.entries()) {
      if (i === 2 || i === 6) continue;
      demodulator?.push(event, rebuilt => steps.push((rebuilt as Field).step), source);
    }
    expect(steps).toEqual([0, 1, 5, 10, 11]);
  },
);

test("compress: what is no difference is refused, whatever it says", async () => {
  const { demodulator } = compress();
  const base = { token: 0n, stream: 1, n: 0, whole: true };
  const source = { decode: (_token: bigint, bytes: Uint8Array) => bytes };
  const push = (length: number, packed: number[]) =>
    demodulator?.push({ ...base, length, packed: Uint8Array.from(packed) }, () => {}, source);
  expect(() => push(4, [127])).toThrow("not packed");
  expect(() => push(4, [255])).toThrow("not packed");
  expect(() => push(4, [])).toThrow("not packed");
  expect(() => push(2 ** 31, [255])).toThrow(expect.objectContaining({ code: "EVENT_INVALID" }));
});

test("encrypt: the holder of the key reads every event, and nobody reads it on the way", async () => {
  const keys = keyPair();
  await using bench = await openBench<Field>(encrypt(keys), OPTIONS);
  const sent = [1, 2, 3].map(step => ({ ...fieldAt(step, 50), place: "a very secret place" }));
  const got = await bench.push(...sent);
  expect(got.map(unpack)).toEqual(sent);
  for (const { event } of bench.made) {
    const { sealed } = event as { sealed: Uint8Array };
    expect(new TextDecoder().decode(sealed)).not.toContain("secret");
    expect(sealed.length).toBeLessThan(encodeEvent(Field, sent[0] as Field).byteLength + 32);
  }
});

test("encrypt: another key, or a changed byte, is an error", async () => {
  const keys = keyPair();
  await using bench = await openBench<Field>({ modulator: encrypt(keys).modulator }, OPTIONS);
  await bench.push(fieldAt(1, 3), fieldAt(2, 3));
  const source = { decode: (_token: bigint, bytes: Uint8Array) => Field.decode(bytes) };
  const [first, second] = bench.made.map(({ event }) => unpack(event) as { n: bigint; sealed: Uint8Array });
  const open = (event: unknown, pair = keys) => encrypt(pair).demodulator?.push(event, () => {}, source);
  const invalid = expect.objectContaining({ code: "EVENT_INVALID" });
  expect(() => open(first, keyPair())).toThrow(invalid);
  expect(() => open({ ...first, n: second?.n })).toThrow(invalid);
  expect(() => open({ ...first, token: 5n })).toThrow(invalid);
  expect(() =>
    open({ ...first, sealed: first?.sealed.map((byte, i) => (i === 4 ? byte ^ 1 : byte)) }),
  ).toThrow(invalid);
  expect(() => open(first)).not.toThrow();
});

test("encrypt: two sandboxes never use the same key", async () => {
  const keys = keyPair();
  await using one = await openBench<Field>({ modulator: encrypt(keys).modulator }, OPTIONS);
  await using other = await openBench<Field>({ modulator: encrypt(keys).modulator }, OPTIONS);
  await one.push(fieldAt(1, 3));
  await other.push(fieldAt(1, 3));
  const [a, b] = [one, other].map(({ made }) => made[0]?.event as { sender: Uint8Array; sealed: Uint8Array });
  expect(a?.sender).not.toEqual(b?.sender);
  expect(a?.sealed).not.toEqual(b?.sealed);
});

test("quantise names a field that is no vector of floats", async () => {
  await using bench = await openBench<Field>(quantise("step", 1), OPTIONS);
  await expect(bench.push(fieldAt(1, 1))).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: expect.stringContaining('"step"'),
  });
});
