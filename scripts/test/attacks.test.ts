import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(`${root}docs/attacks.md`, "utf8");
const rows = [...page.matchAll(/^\| (F?\d+) \| (.+?) \| (.+) \|$/gm)].map(
  ([, number = "", , triedBy = ""]) => ({
    number,
    named: [...triedBy.matchAll(/`([^`]+)`: `([^`]+)`/g)].map(([, file = "", words = ""]) => ({
      file,
      words,
    })),
  }),
);

test.for(rows)("docs/attacks.md: what tries attack or fault $number is there", ({ named }) => {
  expect(named).not.toEqual([]);
  for (const { file, words } of named) expect(readFileSync(root + file, "utf8"), file).toContain(words);
});

test("docs/attacks.md has a row for each number that a test's title quotes, and each number once", () => {
  const numbers = rows.map(({ number }) => number);
  expect(new Set(numbers).size).toBe(numbers.length);
  const files = globSync("{shared,modulators,client,server,apps/*}/test/**/*.test.ts", { cwd: root });
  const titles = files.flatMap(file => [
    ...readFileSync(root + file, "utf8").matchAll(
      /"(?:[A-Z]+-\d+, )*(?:hostile |row )?(F?\d+)(?:,[^":]*)?: /g,
    ),
  ]);
  const quoted = titles.map(([, number = ""]) => number);
  expect(quoted.length).toBeGreaterThan(20);
  expect(quoted.filter(number => !numbers.includes(number))).toEqual([]);
});
