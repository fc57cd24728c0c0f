import {
  aggregate,
  crop,
  diff,
  downsample,
  fifo,
  type Modulator,
  priority,
  sample,
  viewFilter,
} from "@jecho/modulators";
import { expect, onTestFinished, test, vi } from "vitest";
import { layerOf } from "./grid.ts";
import { Rig } from "./rig.ts";

/* Where there is no wall, one world serves all standard modulators of a process. */

test("modulators side by side make what each makes alone", async () => {
  // Some name what they make by a number that they draw.
  const random = vi.spyOn(Math, "random").mockReturnValue(0.25);
  onTestFinished(() => random.mockRestore());
  const whole = { firstLayer: 0, lastLayer: 2, south: -90, north: 90, west: 0, east: 360, stride: 1 };
  const looking = (id: string, modulator: Modulator, view: object): Modulator => ({
    ...modulator,
    objects: { view: { id, version: 1, state: { ...whole, ...view } } },
  });
  const pairs = [
    fifo(),
    sample(2),
    sample(3),
    priority("layer", [1]),
    crop({ columns: [2, 5] }),
    crop({ rows: [1, 1], stride: 2 }),
    downsample("values", 4, "mean"),
    downsample("values", 3, "max"),
    aggregate("values", { every: 2 }),
    aggregate("values", { every: 3 }),
  ].map(({ modulator }) => modulator as Modulator);
  const packed = viewFilter(whole, { packed: true }).modulator as Modulator;
  const changed = diff(whole, 0.5).modulator as Modulator;
  const plain = viewFilter(whole).modulator as Modulator;
  const all = [
    ...pairs,
    looking("a", packed, { south: 0 }),
    looking("b", packed, { firstLayer: 1, lastLayer: 1 }),
    looking("a", plain, { east: 90 }),
    looking("b", plain, { stride: 2 }),
    looking("b", changed, { north: 40 }),
    looking("c", changed, {}),
  ];
  const made = async (modulators: readonly Modulator[]): Promise<string[]> => {
    await using rig = new Rig({ place: "local" });
    const installed: number[] = [];
    for (const one of modulators) installed.push(await rig.install(one));
    for (let step = 0; step < 12; step++) {
      rig.publish([0, 1, 2].map(layer => layerOf(step, layer)));
      if (step === 3)
        rig.host.update({ object: "a", version: 2, state: JSON.stringify({ ...whole, west: 200 }) });
      if (step === 5)
        rig.host.update({ object: "b", version: 2, state: JSON.stringify({ ...whole, stride: 3 }) });
      if (step === 7) for (const derived of installed) rig.host.flow(derived, false);
      if (step === 9) for (const derived of installed) rig.host.flow(derived, true);
    }
    await rig.settled();
    return installed.map(derived =>
      rig
        .frames(derived)
        .flatMap(frame =>
          Array.from({ length: frame.count }, (_, i) => {
            const bytes = frame.bytes.subarray(frame.eventStart(i), frame.eventEnd(i));
            return `${frame.raised + i} ${frame.flags} ${frame.versions} ${Buffer.from(bytes).toString("base64")}`;
          }),
        )
        .join("\n"),
    );
  };
  const apart: string[] = [];
  for (const one of all) apart.push(...(await made([one])));
  expect(apart.every(events => events !== "")).toBe(true);
  expect(await made(all)).toEqual(apart);
});
