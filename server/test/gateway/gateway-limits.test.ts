import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { DEFAULT_LIMITS } from "../../src/gateway/gateway-limits.ts";

test("SECURITY.md lists each limit with its default", async () => {
  const text = await readFile(new URL("../../../SECURITY.md", import.meta.url), "utf8");
  // Another table lists the limits of producers.
  const [gateways = ""] = text.slice(text.indexOf("## Limits")).split("A producer's owner bounds");
  const rows = [...gateways.matchAll(/^\| `(\w+)` \| (\d+) \|/gm)].map(([, name, value]) => [
    name,
    Number(value),
  ]);
  expect(Object.fromEntries(rows)).toEqual(DEFAULT_LIMITS);
});
