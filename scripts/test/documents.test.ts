import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const skipped = new Set(["node_modules", "dist", ".cache", ".git", "test-results"]);
const files = globSync("**/*.{md,ts,mjs}", { cwd: root, exclude: path => skipped.has(basename(path)) }).map(
  path => path.split(sep).join("/"),
);
const documents = files.filter(file => file.endsWith(".md"));

/** What one of these forms finds in the documents, with where it stands. */
function found(
  form: RegExp,
  among: readonly string[],
): { readonly document: string; readonly what: string }[] {
  return among.flatMap(document =>
    [...readFileSync(join(root, document), "utf8").matchAll(form)].map(([, what]) => ({
      document,
      what: what as string,
    })),
  );
}

test("every link between the documents and files of this repository leads somewhere", () => {
  const links = found(/\]\((?!https?:)([^)#]+)/g, documents);
  expect(links.length).toBeGreaterThan(100);
  expect(links.filter(({ document, what }) => !existsSync(join(root, dirname(document), what)))).toEqual([]);
});

test("every source that ARCHITECTURE.md, CONTRIBUTING.md and SPEC.md name is there, by the end of its path", () => {
  const sources = found(/(?<![\w.*/-])([\w./-]+\.(?:ts|mjs))\b/g, [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "shared/SPEC.md",
  ]);
  expect(sources.length).toBeGreaterThan(100);
  const isThere = (what: string): boolean => files.some(file => file === what || file.endsWith(`/${what}`));
  expect(sources.filter(({ what }) => !isThere(what))).toEqual([]);
});
