import { createToken, createTokenKeys } from "@jecho/server";
import { expect, test } from "vitest";
import { Tick, whenState } from "../rig.ts";
import { ClusterRig } from "./rig.ts";

/** Names of channels: all but certainly, each of three gateways is the home of some. */
const NAMES = Array.from({ length: 12 }, (_, i) => `sim/${i}`);

test("CLU-11, RIGHT-2, RIGHT-11: an operator at one gateway sees what runs at all, and ends a subject's connections to any", async () => {
  const { signing, checking } = await createTokenKeys();
  const tokenOf = (subject: string, right: string) => createToken(signing, { subject, can: [right] });
  const rig = await ClusterRig.start(3, "TCP", { tokens: { keys: checking } });
  const token = await tokenOf("ana", "*:**");
  const viewers = [0, 1].map(at => rig.session(at, { token }));
  for (const viewer of viewers)
    for (const name of NAMES) await viewer.channel(name, Tick).subscribe(() => {});
  const operator = rig.session(2, { token: await tokenOf("operator", "*:**") });
  const { of, ...counts } = await operator.overview("sim/*");
  expect(of.map(({ name }) => name).sort()).toEqual([...NAMES].sort());
  expect(of.every(({ consumers }) => consumers === 2)).toBe(true);
  expect(counts).toEqual({ connections: 3, channels: NAMES.length, matching: NAMES.length });
  await expect(viewers[0]?.overview("sim//")).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
  const nosy = rig.session(1, { token: await tokenOf("nosy", "subscribe:**") });
  await expect(nosy.kick("ana")).rejects.toMatchObject({ code: "RIGHT_MISSING" });
  expect(await operator.kick("ana")).toBe(viewers.length);
  for (const viewer of viewers) {
    await whenState(viewer, "refused");
    expect(viewer.status.error?.code).toBe("KICKED");
  }
  for (const at of [0, 1, 2]) {
    const again = rig.session(at, { token });
    await whenState(again, "refused");
    expect(again.status.error?.code).toBe("TOKEN_INVALID");
  }
  expect(await operator.kick("nobody")).toBe(0);
});

test("CLU-11: each of many questions for all gateways at once is answered, or refused", async () => {
  const rig = await ClusterRig.start(2, "TCP");
  const viewer = rig.session(1);
  for (const name of NAMES) await viewer.channel(name, Tick).subscribe(() => {});
  const operator = rig.session(0);
  const whole = { channels: NAMES.length, matching: NAMES.length };
  const some = await Promise.all(Array.from({ length: 20 }, () => operator.overview("sim/*")));
  for (const one of some) expect(one).toMatchObject(whole);
  const many = await Promise.allSettled(Array.from({ length: 100 }, () => operator.overview("sim/*")));
  for (const one of many)
    if (one.status === "fulfilled") expect(one.value).toMatchObject(whole);
    else expect(one.reason).toMatchObject({ code: "OVERLOADED" });
});
