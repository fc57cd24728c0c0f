import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const numbers = readFileSync(`${root}shared/src/errors.ts`, "utf8");
const table = readFileSync(`${root}shared/src/error-table.ts`, "utf8");
const meanings = new Map(
  Array.from(table.matchAll(/^ {2}([A-Z_]+):\s+"((?:[^"\\]|\\.)*)",$/gm), ([, code, meaning]) => [
    code,
    meaning,
  ]),
);
const errors = Array.from(numbers.matchAll(/^ {2}([A-Z_]+): (\d+),$/gm), ([, code = "", number]) => ({
  code,
  number: Number(number),
  meaning: meanings.get(code),
}));

test("the errors' page has each code of the table, in the part that it belongs to, with cause and remedy", () => {
  expect(errors.length).toBe(meanings.size);
  const [, again = "", not = ""] = readFileSync(`${root}docs/errors.md`, "utf8").split(/^## .*$/m);
  const told = [again, not].flatMap((part, i) =>
    Array.from(part.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (.*?) \| (.*?) \| (.*?) \|$/gm), row => ({
      row,
      mayRetry: i === 0,
    })),
  );
  const shown = told.map(({ row: [, code, number, meaning] }) => ({ code, number: Number(number), meaning }));
  expect(shown).toEqual([...errors].sort((a, b) => a.number - b.number));
  for (const { row, mayRetry } of told) {
    const [, code, number, , cause = "", remedy = ""] = row;
    expect(Number(number) < 4500, code).toBe(mayRetry);
    expect(cause.length, code).toBeGreaterThan(10);
    expect(remedy.length, code).toBeGreaterThan(10);
  }
});

/** A code as a test expects it: as a text, or the beginning of one; by the table; or in what a command prints. */
const expected = (code: string) => new RegExp(`["\`]${code}\\b|ERRORS\\.${code}\\b|\\b${code}: `);
/** It names all codes, and provokes none. */
const OF_THE_TABLE = "shared/test/names-and-errors.test.ts";

test("each code is expected by a test", () => {
  const files = globSync("{shared,modulators,client,react,server,apps/*,e2e,bench}/test/**/*.{ts,tsx}", {
    cwd: root,
  });
  const texts = files.filter(file => file !== OF_THE_TABLE).map(file => readFileSync(root + file, "utf8"));
  const unproved = errors.filter(({ code }) => !texts.some(text => expected(code).test(text)));
  expect(unproved.map(({ code }) => code)).toEqual([]);
});
