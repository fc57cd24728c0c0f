import { expect, test } from "vitest";
import { type Faces, importsOf, judge } from "../layering.ts";

const exported: Record<string, Faces> = {
  shared: { ".": ["./src/mod.ts"], "./internal": ["./src/internal.ts"] },
  modulators: { ".": ["./src/mod.ts"], "./internal": ["./src/internal.ts"], "./node": ["./src/node.ts"] },
  client: { ".": ["./src/mod.ts"], "./react": ["./src/react.ts"] },
  server: { ".": ["./src/mod.ts"] },
  atmosphere: { ".": ["./src/mod.ts"] },
  e2e: { "./browser": ["./src/browser.ts"] },
};
const verdict = (file: string, specifier: string, isType = false) =>
  judge(file, { specifier, isType }, name => exported[name]);

test.each([
  ["shared/src/frame.ts", "./name.ts"],
  ["shared/src/frame.ts", "flatbuffers"],
  ["modulators/src/moe.ts", "@jecho/shared/internal"],
  ["client/src/session/session.ts", "@jecho/modulators/node"],
  ["client/test/session.test.ts", "@jecho/server"],
  ["client/test/session.test.ts", "../src/mod.ts"],
  ["client/test/session.test.ts", "./rig.ts"],
  ["client/test/queues/ring.test.ts", "../../src/queues/ring.ts"],
  ["client/test/queues/ring.test.ts", "../../src/queues/waiters.ts"],
  ["client/test/queues/ring.test.ts", "../rig.ts"],
  ["client/test/concentrator/endpoints/endpoint.test.ts", "../../../src/concentrator/incoming/flow.ts"],
  ["modulators/test/bundled.test.ts", "../src/generated/world.mjs"],
  ["apps/atmosphere/test/model/ozone.test.ts", "../../src/model/layers.ts"],
  ["server/src/gateway/gateway.ts", "@jecho/shared"],
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
  ["client/src/session/session.ts", "@jecho/server"],
  ["server/src/gateway/gateway.ts", "@jecho/modulators"],
  ["server/src/gateway/gateway.ts", "../../../shared/src/mod.ts"],
  ["shared/test/frame.test.ts", "../../client/src/session/session.ts"],
  ["client/test/session.test.ts", "@jecho/shared/src/frame.ts"],
  ["client/test/session.test.ts", "../src/session/session.ts"],
  ["client/test/queues/ring.test.ts", "../../src/places/hub.ts"],
  ["client/test/rig.ts", "../src/queues/ring.ts"],
  ["apps/atmosphere/src/simulation.ts", "@jecho/server"],
  ["apps/atmosphere/src/simulation.ts", "@jecho/shared"],
  ["apps/atmosphere/src/start.ts", "@jecho/shared/internal"],
  ["apps/atmosphere/src/start.ts", "../../other/src/mod.ts"],
  ["e2e/test/steering.test.ts", "@jecho/modulators"],
  ["scripts/check.ts", "@jecho/client"],
])("%s may not import %s", (file, specifier) => {
  expect(verdict(file, specifier)).toBeDefined();
});

test("a test may have types of any file of its package", () => {
  expect(verdict("client/test/session.test.ts", "../src/places/port.ts", true)).toBeUndefined();
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
  const found = importsOf(source);
  expect(found.map(({ specifier }) => specifier)).toEqual([
    "./a.ts",
    "./b.ts",
    "./c.ts",
    "./d.ts",
    "./e.ts",
    "./f.ts",
  ]);
  expect(found.filter(({ isType }) => isType)).toEqual([{ specifier: "./e.ts", isType: true }]);
});
