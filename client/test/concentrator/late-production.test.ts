import { NumberTable } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import type { PortEnd } from "../../src/concentrator/endpoints/endpoint.ts";
import { LateProduction } from "../../src/concentrator/late-production.ts";
import type { Production } from "../../src/concentrator/production-parts.ts";

const newPort = (): PortEnd => ({
  endpoints: new NumberTable(),
  listener: { notify: () => {}, receive: () => {} },
});
const PARTS = {} as Production;

/** Parts that load when the test says so, and what became of what waited for them. */
function loading() {
  const loads: PromiseWithResolvers<Production>[] = [];
  const become: string[] = [];
  const production = new LateProduction(
    () => {
      const load = Promise.withResolvers<Production>();
      loads.push(load);
      return load.promise;
    },
    act => {
      become.push("[");
      act();
      become.push("]");
    },
  );
  const wait = (name: string, of?: { port: PortEnd; endpoint: number }): void =>
    production.await({
      ...(of !== undefined && { of }),
      act: () => void become.push(name),
      refuse: ({ code, message }) => void become.push(`${name}: ${code} ${message}`),
    });
  return { loads, become, production, wait };
}

test("parts that are at hand are there at once", () => {
  const production = new LateProduction(
    () => PARTS,
    act => act(),
  );
  expect(production.parts).toBeUndefined();
  production.load();
  expect(production.parts).toBe(PARTS);
});

test("requests and frames wait for parts that load, in their order, and are acted on together", async () => {
  const { loads, become, production, wait } = loading();
  const port = newPort();
  wait("first", { port, endpoint: 3 });
  wait("frame");
  production.load();
  production.load();
  wait("second", { port, endpoint: 3 });
  expect([production.isAwaitedBy(port, 3), production.isAwaitedBy(port, 4)]).toEqual([true, false]);
  expect(production.isAwaitedBy(newPort(), 3)).toBe(false);
  expect([loads.length, become]).toEqual([1, []]);
  loads[0]?.resolve(PARTS);
  await expect.poll(() => production.parts).toBe(PARTS);
  expect(become).toEqual(["[", "first", "frame", "second", "]"]);
  expect(production.isAwaited).toBe(false);
});

test("a connection that breaks takes its frames with it, and a session that ends its requests", async () => {
  const { loads, become, production, wait } = loading();
  const [stays, ends] = [newPort(), newPort()];
  wait("frame");
  wait("stays", { port: stays, endpoint: 1 });
  wait("ends", { port: ends, endpoint: 1 });
  production.load();
  production.interrupted();
  production.forget(ends);
  loads[0]?.resolve(PARTS);
  await expect.poll(() => production.parts).toBe(PARTS);
  expect(become).toEqual(["[", "stays", "]"]);
});

test("where they cannot be loaded, all that waits is refused, and they are asked for again by the next", async () => {
  const { loads, become, production, wait } = loading();
  wait("first");
  production.load();
  loads[0]?.reject(new TypeError("not there"));
  await expect.poll(() => become).toEqual(["first: CONNECTION_LOST not there"]);
  wait("next");
  production.load();
  loads[1]?.resolve(PARTS);
  await expect.poll(() => become.slice(1)).toEqual(["[", "next", "]"]);
});

test("parts that come after the session is closed are not used", async () => {
  const { loads, become, production, wait } = loading();
  wait("first");
  production.load();
  production.close();
  loads[0]?.resolve(PARTS);
  await loads[0]?.promise;
  expect([production.parts, become]).toEqual([undefined, []]);
});
