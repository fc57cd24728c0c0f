import { fifo } from "@jecho/modulators";
import { expect, test, vi } from "vitest";
import { layerOf } from "./grid.ts";
import { inEnqueue, neighbourIn } from "./hostile-rig.ts";
import { modulator, Rig } from "./rig.ts";

/* Modulators that keep to their own limits, and together take more of a producer than its owner gives away. */

test("MOE-28, 36: modulators that hold 24 MB each: the host's total is kept, at the expense of those who use most", async () => {
  // Room for the neighbour and some of them, whatever an engine takes for a modulator by itself.
  await using rig = new Rig({ limits: { totalMemoryMiB: 160 } });
  const neighbourHasSeenAll = await neighbourIn(rig);
  const holding = inEnqueue(
    "while (kept.length < 24) kept.push(new Uint8Array(1e6).fill(1)); super.enqueue(event);",
    "const kept = [];",
  );
  const refused: unknown[] = [];
  const attackers: number[] = [];
  for (let i = 0; i < 12; i++) {
    const one = { source: `${holding.source}// ${i}` };
    await rig.install(one, { by: "eve" }).then(
      derived => attackers.push(derived),
      error => refused.push(error.code),
    );
    rig.step(1);
    await rig.settled();
  }
  // Memory is weighed after turns that took some processor time, and else after a number of turns.
  await expect
    .poll(async () => {
      rig.step(1);
      await rig.settled();
      return rig.removed.size + refused.length;
    })
    .toBeGreaterThan(3);
  for (const derived of rig.removed.keys()) {
    expect(attackers).toContain(derived);
    expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_OUT_OF_MEMORY" });
  }
  for (const code of refused) expect(code).toBe("OVERLOADED");
  neighbourHasSeenAll();
  // What they held is free again, and there is room for others.
  for (const derived of attackers) rig.host.remove(derived);
  await rig.settled();
  const late = await rig.install(fifo().modulator, { by: "ana" });
  rig.step(1);
  await rig.settled();
  expect(rig.received(late)).toHaveLength(1);
  expect(rig.restarts).toBe(0);
});

test("MOE-28: what was used and is garbage counts against nobody: many modulators take large events without an end", async () => {
  await using rig = new Rig({ limits: { totalMemoryMiB: 200 } });
  const filters: number[] = [];
  for (let i = 0; i < 20; i++)
    filters.push(
      await rig.install({
        source: `${inEnqueue("if (event.step === 0) super.enqueue(event);").source}// ${i}`,
      }),
    );
  // A gibibyte and a half through all of them, of which each engine copies what it is given.
  for (let step = 1; step <= 200; step++) {
    rig.publish([layerOf(step, 0, 250, 400)]);
    if (step % 10 === 0) await rig.settled();
  }
  expect([...rig.removed.values()]).toEqual([]);
  rig.publish([layerOf(0, 0)]);
  await rig.settled();
  for (const derived of filters) expect(rig.received(derived)).toHaveLength(1);
});

test("MOE-28, 36: where there is no memory left for one more, its installation is refused so that it can run elsewhere", async () => {
  await using rig = new Rig({ limits: { totalMemoryMiB: 0.5 } });
  await expect(rig.install(fifo().modulator)).rejects.toMatchObject({
    code: "OVERLOADED",
    retry: true,
    message: expect.stringContaining("0.5 MiB"),
  });
});

test("MOE-28, 39: a modulator that makes more events a second than it may is removed", async () => {
  await using rig = new Rig({ limits: { eventsPerSecond: 100, outputEvents: 500 } });
  const neighbourHasSeenAll = await neighbourIn(rig);
  const flood = await rig.install(inEnqueue("for (let i = 0; i < 100; i++) super.enqueue({ step: i });"));
  await vi.waitUntil(
    async () => {
      rig.step(1);
      await rig.settled();
      return rig.removed.has(flood);
    },
    { interval: 1, timeout: 60_000 },
  );
  expect(rig.removed.get(flood)).toMatchObject({
    code: "MODULATOR_OUTPUT_EXCEEDED",
    message: expect.stringContaining("100 events"),
  });
  neighbourHasSeenAll();
});

test("MOE-28, 39: a modulator that makes more bytes a second than it may is removed, also by its period", async () => {
  await using rig = new Rig({ limits: { bytesPerSecond: 1000, outputBytes: 200_000 } });
  const flood = await rig.install(
    modulator("static periodMs = 10; period() { super.enqueue({ values: new Float32Array(10_000) }); }"),
  );
  await vi.waitUntil(() => rig.removed.has(flood), { interval: 1, timeout: 60_000 });
  expect(rig.removed.get(flood)).toMatchObject({
    code: "MODULATOR_OUTPUT_EXCEEDED",
    message: expect.stringContaining("1000 bytes"),
  });
});

test("MOE-28: what a modulator is given it may let through at any rate, changed or not", async () => {
  await using rig = new Rig({
    limits: { eventsPerSecond: 1, bytesPerSecond: 1, outputEvents: 64, outputBytes: 65_536 },
  });
  const passes = await rig.install(fifo().modulator);
  const changes = await rig.install(
    modulator("enqueue(event) { super.enqueue({ step: event.step, values: event.values }); }"),
  );
  for (let i = 0; i < 100; i++) {
    rig.step(30);
    await rig.settled();
  }
  expect(rig.removed.size).toBe(0);
  for (const derived of [passes, changes]) expect(rig.received(derived)).toHaveLength(3000);
});
