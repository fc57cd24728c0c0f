import { type Modulator, rateLimit, type } from "@jecho/client";
import { expect, test } from "vitest";
import { PATIENT, startRig } from "./rig.ts";

const Field = type("Field", { place: "string", all: "float32[]" });

const filter = (condition: string): Modulator => ({
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  enqueue(event) { if (${condition}) super.enqueue(event); }
}`,
});
const MAX = filter("Math.max(...event.all) > 1");

test.each([
  ["a standard one", rateLimit(1000), "local", /^$/],
  ["one that can be proven to end soon", MAX, "compiled", /^$/],
  [
    "any other",
    filter("/^here/.test(event.place)"),
    "hosted",
    /^this literal is not compiled \(line 3, column \d+ of its source\)$/,
  ],
] as const)(
  "MOE-20: a consumer is told in which tier its modulator runs, and why: %s",
  async (_, modulator, tier, why) => {
    await using rig = await startRig();
    await rig.session().channel("a", Field).produce();
    const consumer = await rig
      .session()
      .channel("a", Field)
      .subscribe(() => {}, "modulator" in modulator ? modulator : { modulator });
    expect(consumer.placements).toMatchObject([
      { at: "producer", tier, tierWhy: expect.stringMatching(why) },
    ]);
  },
);

test("MOE-20: it is told when that changes", async () => {
  await using rig = await startRig();
  const producer = await rig
    .session({ modulators: { ...PATIENT, mostPerEvent: 5000 } })
    .channel("a", Field)
    .produce();
  const consumer = await rig
    .session()
    .channel("a", Field)
    .subscribe(() => {}, { modulator: MAX });
  expect(consumer.placements).toMatchObject([{ tier: "compiled" }]);
  producer.publish({ place: "", all: Float32Array.of(2) });
  producer.publish({ place: "", all: new Float32Array(10_000) });
  await expect
    .poll(() => consumer.placements)
    .toMatchObject([{ at: "producer", tier: "hosted", tierWhy: expect.stringContaining("allows 5000") }]);
});
