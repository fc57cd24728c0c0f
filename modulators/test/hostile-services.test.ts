import type { Delegate } from "@jecho/modulators";
import { expect, test } from "vitest";
import { neighbourIn } from "./hostile-rig.ts";
import { modulator, Rig } from "./rig.ts";

/* Hostile uses of services: only where there is a wall. */

const SAID = `static output = { name: "Said", description: { text: "string" } };`;

function saying(needs: string[], expression: string, more = "") {
  return modulator(
    `static needs = ${JSON.stringify(needs)}; ${SAID} ${more} enqueue(event) { super.enqueue({ text: String(${expression}) }); }`,
  );
}

const DELEGATE: Delegate = { controls: { warm: () => {}, name: () => {} } };

test("hostile 22: patched prototypes do not change what arrives", async () => {
  await using rig = new Rig();
  const neighbourHasSeenAll = await neighbourIn(rig);
  const patches = `installed() {
    Object.hasOwn = () => true;
    Object.prototype.kind = "Function";
    Reflect.apply = () => "Function";
    Uint8Array.prototype.slice = () => "stolen";
    Float64Array.prototype.constructor = { [Symbol.species]: () => { throw 1; } };
    Array.prototype[Symbol.iterator] = function* () { yield "stolen"; };
  }`;
  const derived = await rig.install(
    saying(["controls.warm"], "this.moe.controls.warm(new Float64Array([1, 2]), 'x')", patches),
    { delegate: DELEGATE },
  );
  rig.step(1);
  await rig.settled();
  // It hurts only itself: either its call is sound, or it has failed.
  for (const { name, values } of rig.calls) {
    expect(name).toBe("controls.warm");
    for (const value of values) expect(["number", "string", "boolean", "object"]).toContain(typeof value);
  }
  if (rig.calls.length === 0) expect(rig.removed.has(derived)).toBe(true);
  neighbourHasSeenAll();
});

test("hostile 25, 31: more calls than a turn may have are an error; more lines are left out", async () => {
  await using rig = new Rig();
  const neighbourHasSeenAll = await neighbourIn(rig);
  const shouts = await rig.install(
    saying(
      ["log"],
      "this.shout()",
      "shout() { const line = 'x'.repeat(1e5); for (let i = 0; i < 1e4; i++) this.moe.log(line); }",
    ),
  );
  const steers = await rig.install(
    saying(
      ["controls.warm"],
      "this.steer()",
      "steer() { for (let i = 0; i < 1e4; i++) this.moe.controls.warm(i); }",
    ),
    { delegate: DELEGATE },
  );
  rig.step(1);
  await rig.settled();
  expect(rig.removed.has(shouts)).toBe(false);
  expect(rig.calls.length).toBeGreaterThan(10);
  expect(rig.calls.length).toBeLessThanOrEqual(64);
  expect(rig.calls.every(({ name, values }) => name === "log" && (values[0] as string).length === 1000)).toBe(
    true,
  );
  expect(rig.removed.get(steers)).toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringContaining("64 calls"),
  });
  neighbourHasSeenAll();
});
