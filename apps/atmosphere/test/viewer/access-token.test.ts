import { createToken, createTokenKeys } from "@jecho/server";
import { expect, test } from "vitest";
import { mayKick, rightsOf } from "../../viewer/src/access-token.ts";

test("a token's rights are read from its claims, and none from what is no token", async () => {
  const { signing } = await createTokenKeys();
  const can = ["subscribe:atmosphere/**", "share:*"];
  const viewer = await createToken(signing, { subject: "vera, who has an ö", can });
  expect(rightsOf(viewer)).toEqual(can);
  expect(mayKick(viewer)).toBe(false);
  const operator = await createToken(signing, { subject: "olga", can: [...can, "kick:*"] });
  expect(mayKick(operator)).toBe(true);
  for (const none of [undefined, "", "a.b.c", "no token"]) expect(rightsOf(none)).toEqual([]);
});
