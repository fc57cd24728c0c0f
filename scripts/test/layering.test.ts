import { expect, test } from "vitest";
import { importsOf, judge } from "../layering.ts";

const exported: Record<string, string[]> = {
  shared: [".", "./internal"],
  modulators: [".", "./internal", "./node"],
  client: [".", "./react"],
  server: ["."],
  atmosphere: ["."],
  e2e: ["./browser"],
};
const verdict = (file: string, specifier: string) => judge(file, specifier, name => exported[name]);

test.each([
  ["shared/src/frame.ts", "./name.ts"],
  ["shared/src/frame.ts", "flatbuffers"],
  ["modulators/src/moe.ts", "@jecho/shared/internal"],
  ["client/src/session.ts", "@jecho/modulators/node"],
  ["client/test/session.test.ts", "@jecho/server"],
  ["client/test/session.test.ts", "../src/mod.ts"],
  ["server/src/gateway.ts", "@jecho/shared"],
  ["apps/atmosphere/src/viewer/globe.tsx", "@jecho/client/react"],
  ["apps/atmosphere/src/start.ts", "@jecho/server"],
  ["e2e/test/steering.test.ts", "@jecho/atmosphere"],
  ["e2e/src/wire.ts", "@jecho/shared/internal"],
  ["bench/src/main.ts", "@jecho/shared/internal"],
  ["vitest.config.ts", "vitest/config"],
])("%s may import %s", (file, specifier) => {
  expect(verdict(file, specifier)).toBeUndefined();
});

test.each([
  ["shared/src/frame.ts", "@jecho/client"],
  ["modulators/src/moe.ts", "@jecho/client"],
  ["client/src/session.ts", "@jecho/server"],
  ["server/src/gateway.ts", "@jecho/modulators"],
  ["server/src/gateway.ts", "../../shared/src/mod.ts"],
  ["shared/test/frame.test.ts", "../../client/src/session.ts"],
  ["client/test/session.test.ts", "@jecho/shared/src/frame.ts"],
  ["apps/atmosphere/src/simulation.ts", "@jecho/server"],
  ["apps/atmosphere/src/simulation.ts", "@jecho/shared"],
  ["apps/atmosphere/src/start.ts", "@jecho/shared/internal"],
  ["apps/atmosphere/src/start.ts", "../../other/src/mod.ts"],
  ["e2e/test/steering.test.ts", "@jecho/modulators"],
  ["scripts/check.ts", "@jecho/shared"],
])("%s may not import %s", (file, specifier) => {
  expect(verdict(file, specifier)).toBeDefined();
});

test("finds static, side-effect, type, re-exported and dynamic imports", () => {
  const source = `
import "./a.ts";
import { x } from "./b.ts";
import {
  y,
  type Z,
} from "./c.ts";
export * from "./d.ts";
import type { T } from './e.ts';
const f = await import("./f.ts");
export const text = "from './no.ts'";
`;
  expect(importsOf(source)).toEqual(["./a.ts", "./b.ts", "./c.ts", "./d.ts", "./e.ts", "./f.ts"]);
});
