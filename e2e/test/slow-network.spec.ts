import { CHANNELS, Status } from "@jecho/atmosphere";
import { connect } from "@jecho/client";
import { startCutter } from "../src/cutter.ts";
import { expect, lastSeen, noted, test, view } from "./fixtures.ts";

const KINDS = ["map", "globe", "section"] as const;
/** The views of a page of this size take some 50 kB a second. */
const BYTES_PER_SECOND = 20_000;

test("SLOW-5: a page in a slow network says how old its pictures are, and is not far behind", async ({
  open,
  system,
}) => {
  await using session = connect(new URL(system.url).host, { place: "here" });
  let step = -1;
  await session.channel(CHANNELS.status, Status).subscribe(status => {
    step = status.step;
  });
  await using cutter = await startCutter(system.url);
  const page = await open(undefined, "", cutter.url);
  const states = await noted(page, '[data-testid="state-map"]');
  const begun = step;
  cutter.slow(BYTES_PER_SECOND);
  await expect.poll(async () => (await states()).some(said => /^\d+ s behind$/.test(said))).toBe(true);
  // What queued up before that was known has come, as well.
  await expect.poll(() => step).toBeGreaterThan(begun + 60);
  for (const kind of KINDS) {
    await expect.poll(async () => step - (await lastSeen(page, kind)), { message: kind }).toBeLessThan(20);
    await expect(view(page, kind)).toHaveAttribute("data-state", /^(live|behind)$/);
  }
  cutter.slow(Number.POSITIVE_INFINITY);
  for (const kind of KINDS) await expect(view(page, kind)).toHaveAttribute("data-state", "live");
  await expect.poll(async () => step - (await lastSeen(page, "map"))).toBeLessThan(3);
});
