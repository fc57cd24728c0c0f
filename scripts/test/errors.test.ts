import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ERRORS } from "@jecho/shared";
import { expect, test } from "vitest";
import { pagesOf } from "../site-pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("the errors' page has each code of the table, in the part that it belongs to, with meaning, cause and remedy", () => {
  const { text } = pagesOf(root, root).find(({ path }) => path === "docs/errors.md")!;
  const [, ...parts] = text.split(/^## .*$/m);
  const told = parts.map(part =>
    Array.from(
      part.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (.{10,}?) \| (.{10,}?) \| (.{10,}?) \|$/gm),
      row => ({
        code: row[1],
        number: Number(row[2]),
        told: row.slice(3),
      }),
    ),
  );
  const errors = Object.entries(ERRORS)
    .map(([code, [number, ...told]]) => ({ code, number, told }))
    .sort((a, b) => a.number - b.number);
  expect(told).toEqual([
    errors.filter(({ number }) => number < 4500),
    errors.filter(({ number }) => number >= 4500),
  ]);
});

/** A code as a test expects it: as a text, or the beginning of one; by the table; or in what a command prints. */
const expected = (code: string) => new RegExp(`["\`]${code}\\b|ERRORS\\.${code}\\b|\\b${code}: `);
/** Test that names all codes, and provokes none. */
const OF_THE_TABLE = "shared/test/names-and-errors.test.ts";

test("each code is expected by a test", () => {
  const files = globSync("{shared,modulators,client,react,server,apps/*,e2e,bench}/test/**/*.{ts,tsx}", {
    cwd: root,
  });
  const texts = files.filter(file => file !== OF_THE_TABLE).map(file => readFileSync(root + file, "utf8"));
  const unproved = Object.keys(ERRORS).filter(code => !texts.some(text => expected(code).test(text)));
  expect(unproved).toEqual([]);
});
