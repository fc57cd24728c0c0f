import { modulatorFrom, rateLimit } from "@jecho/modulators";
import { FifoModulator } from "@jecho/modulators/moe";
import { expect, test, vi } from "vitest";
import { modulator, Rig } from "./rig.ts";

/** Resolves when the modulator has told of this rate. */
async function whenRate(rig: Rig, derived: number, perSecond: number): Promise<void> {
  await vi.waitUntil(() => rig.host.mostPerSecond(derived) === perSecond, { interval: 5, timeout: 60_000 });
}

test("MOE-23: a modulator says how many events a second it wants at most, by a static or by a property", async () => {
  await using rig = new Rig();
  const fixed = await rig.install(modulator("static mostPerSecond = 0.1;"));
  const own = await rig.install(modulator("mostPerSecond = 1000 / 3;"));
  const limited = await rig.install(rateLimit(250).modulator);
  const every = await rig.install(modulator(""));
  const unlimited = await rig.install(modulator("static mostPerSecond = Infinity;"));
  await whenRate(rig, fixed, 0.1);
  await whenRate(rig, own, 1000 / 3);
  await whenRate(rig, limited, 4);
  rig.step();
  await rig.settled();
  expect([every, unlimited].map(derived => rig.host.mostPerSecond(derived))).toEqual([0, 0]);
  // Nothing is held back for it.
  expect(rig.received(fixed)).toHaveLength(3);
  rig.host.remove(fixed);
  expect(rig.host.mostPerSecond(fixed)).toBe(0);
});

test("MOE-23: a rate is read after each call, and told when it has changed", async () => {
  await using rig = new Rig();
  const derived = await rig.install(
    modulator(`static needs = ["log"];
      enqueue({ step }) {
        this.moe.log("what is called is handed over beside it");
        if (step === 3) this.mostPerSecond = 7;
        if (step === 5) this.mostPerSecond = 0;
      }`),
  );
  for (let i = 0; i < 6; i++) {
    rig.step(1);
    await rig.settled();
  }
  expect(rig.rates).toEqual([
    [derived, 7],
    [derived, 0],
  ]);
});

test("MOE-23: a rate follows the state of a shared object, whether events come or not", async () => {
  await using rig = new Rig();
  class Following extends FifoModulator<object, unknown, { readonly wanted: { perSecond: number } }> {
    override get mostPerSecond(): number {
      return this.objects.wanted.perSecond;
    }
  }
  const objects = { wanted: { id: "o", version: 1, state: { perSecond: 2 } } };
  const derived = await rig.install(modulatorFrom(Following, { objects }));
  await whenRate(rig, derived, 2);
  rig.host.update({ object: "o", version: 2, state: '{"perSecond":30}' });
  await whenRate(rig, derived, 30);
  rig.host.update({ object: "o", version: 3, state: '{"perSecond":0}' });
  await whenRate(rig, derived, 0);
  // As long as it wants every event, the next one will do.
  rig.host.update({ object: "o", version: 4, state: '{"perSecond":0.5}' });
  rig.step(1);
  await whenRate(rig, derived, 0.5);
  expect(rig.rates.map(([, perSecond]) => perSecond).filter(perSecond => perSecond !== 2)).toEqual([
    30, 0, 0.5,
  ]);
});

test.each(["-1", "NaN", '"2"', "null"])("MOE-23: %s is no rate", async rate => {
  await using rig = new Rig();
  const refused = { code: "MODULATOR_FAILED", message: expect.stringContaining("mostPerSecond") };
  await expect(rig.install(modulator(`mostPerSecond = ${rate};`))).rejects.toMatchObject(refused);
  const later = await rig.install(modulator(`enqueue() { this.mostPerSecond = ${rate}; }`));
  rig.step(1);
  await rig.settled();
  expect(rig.removed.get(later)).toMatchObject(refused);
});
