import { type JechoError, modulatorFrom } from "@jecho/client";
import { createToken, createTokenKeys } from "@jecho/server";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

const { signing, checking } = await createTokenKeys();

test("MOE-11: a subject whose modulators end host after host is refused more of them, and nobody else is", async () => {
  await using rig = await startRig({ tokens: { keys: checking } });
  const enter = async (subject: string, modulators = {}) =>
    rig.session({ token: await createToken(signing, { subject, can: ["*:**"] }), modulators });
  const owner = await enter("owner", { limits: { callMs: 50 } });
  const producer = await owner.channel("a", Tick).produce();
  const [eve, ana] = [await enter("eve"), await enter("ana")];
  const ending = (text: string) => ({
    source: `import { FifoModulator } from "jecho:moe"; // ${text}
export default class extends FifoModulator { enqueue() { let x = 3n; for (;;) x *= x; } }`,
  });
  const subscribe = (text: string) => eve.channel("a", Tick).subscribe(() => {}, { modulator: ending(text) });
  for (const text of ["one", "two"]) {
    const consumer = await subscribe(text);
    const end = new Inbox<JechoError | undefined>();
    consumer.onStatus(({ state, error }) => state === "refused" && end.put(error));
    await expect.poll(() => producer.demand.total).toBe(1);
    producer.publish({ n: 1, note: "" });
    expect(await end.take(1)).toMatchObject([{ code: "MODULATOR_TIMED_OUT" }]);
  }
  await expect(subscribe("three")).rejects.toMatchObject({
    code: "MODULATOR_SUSPENDED",
    message: expect.stringMatching(/modulators of eve have ended .* 2 times: try again in \d s$/),
  });
  const got = new Inbox<number>();
  const modulator = modulatorFrom(() => true);
  await ana.channel("a", Tick).subscribe(({ n }) => got.put(n), { modulator });
  await producer.publishSync({ n: 2, note: "" });
  expect(got.all).toEqual([2]);
});
