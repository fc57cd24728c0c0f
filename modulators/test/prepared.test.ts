// The host evaluates a module ahead of the next installation of the same source (MOE-12): nobody is to notice.
import { fifo } from "@jecho/modulators";
import type { HostClock } from "@jecho/modulators/node";
import { expect, test, vi } from "vitest";
import { layerOf } from "./grid.ts";
import { modulator, Rig, USUAL } from "./rig.ts";

const INSTALLATIONS = 6;

/** A clock for what the producer is to do when some time has passed: it has when the test says so. */
class Timers implements HostClock {
  readonly #due = new Set<() => void>();

  now(): number {
    return 0;
  }

  after(_: number, act: () => void): () => void {
    this.#due.add(act);
    return () => this.#due.delete(act);
  }

  /** Until the host has evaluated the module that was installed last once more. */
  async pass(rig: Rig): Promise<void> {
    const due = [...this.#due];
    this.#due.clear();
    expect(due.length).toBe(1);
    for (const act of due) act();
    await rig.settled();
  }
}

test("MOE-12: the variables of a module are one installation's own", async () => {
  const timers = new Timers();
  await using rig = new Rig({ clock: timers });
  const counts = modulator("enqueue() { super.enqueue({ step: ++seen }); }", "let seen = 0;");
  for (let i = 0; i < INSTALLATIONS; i++) {
    const derived = await rig.install(counts);
    rig.publish([layerOf(1, 0), layerOf(1, 1)]);
    await rig.settled();
    expect(rig.received(derived).map(({ event }) => event.step)).toEqual([1, 2]);
    await timers.pass(rig);
  }
});

test("MOE-12: parameters, objects and services are those of the installation", async () => {
  const timers = new Timers();
  await using rig = new Rig({ clock: timers });
  const { source } = modulator(
    "enqueue(event) { super.enqueue({ step: this.moe.services.scale(event.step) + this.parameters }); }",
    "",
  );
  const scaled = {
    source: source.replace("class extends FifoModulator {", "$& static needs = ['services.scale'];"),
  };
  for (let i = 0; i < INSTALLATIONS; i++) {
    const twice = i % 2 === 0;
    const delegate = { services: { scale: twice ? (x: number) => 2 * x : (x: number) => 30 * x } };
    const derived = await rig.install({ ...scaled, parameters: i }, { delegate });
    rig.publish([layerOf(5, 0)]);
    await rig.settled();
    expect(rig.received(derived).map(({ event }) => event.step)).toEqual([(twice ? 10 : 150) + i]);
    await timers.pass(rig);
  }
});

test("a module that breaks its host when it is evaluated ahead is to blame for that, and nobody else loses events", async () => {
  const timers = new Timers();
  await using rig = new Rig({ limits: USUAL, clock: timers });
  const beganAt = Date.now();
  const good = await rig.install(fifo().modulator);
  // Time for another installation, however busy the machine is.
  const breaksAt = Date.now() + 400 + 4 * (Date.now() - beganAt);
  const bad = modulator("", `if (Date.now() > ${breaksAt}) { let x = 3n; for (;;) x *= x; }`);
  await rig.install(bad);
  await timers.pass(rig);
  await expect.poll(() => Date.now()).toBeGreaterThan(breaksAt);
  // Its module was evaluated before that.
  const last = await rig.install(bad);
  await timers.pass(rig);
  await vi.waitUntil(() => rig.removed.has(last), { interval: 5, timeout: 60_000 });
  for (let i = 0; i < 5; i++) rig.step();
  await rig.settled();
  expect(rig.removed.get(last)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  expect(rig.removed.has(good)).toBe(false);
  expect(rig.received(good).length).toBe(15);
});
