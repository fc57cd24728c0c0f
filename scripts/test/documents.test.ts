import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const skipped = new Set(["node_modules", "dist", "site", ".cache", ".git", "test-results"]);
const files = globSync("**/*.{md,ts,mjs}", { cwd: root, exclude: path => skipped.has(basename(path)) }).map(
  path => path.split(sep).join("/"),
);
const documents = files.filter(file => file.endsWith(".md"));

/** Matches of one of these forms in the documents, with where each stands. */
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
  // Code may look like a link.
  const links = found(/`[^`\n]*`|\]\((?!https?:)([^)#]+)/g, documents).filter(
    ({ what }) => what !== undefined,
  );
  expect(links.length).toBeGreaterThan(100);
  expect(links.filter(({ document, what }) => !existsSync(join(root, dirname(document), what)))).toEqual([]);
});

const SOURCE = /(?<![\w.*/-])([\w./-]+\.(?:ts|mjs))\b/g;

/** The sources that a name may mean, by the end of their paths. */
function sourcesNamed(what: string): string[] {
  return files.filter(file => file === what || file.endsWith(`/${what}`));
}

test("every source that documents on the code name is there, by the end of its path", () => {
  const decisions = documents.filter(file => file.startsWith("docs/decisions/"));
  const sources = found(SOURCE, ["CONTRIBUTING.md", "shared/SPEC.md", "docs/delivery.md", ...decisions]);
  expect(sources.length).toBeGreaterThan(50);
  expect(sources.filter(({ what }) => sourcesNamed(what).length === 0)).toEqual([]);
});

test("every source that ARCHITECTURE.md names is one and no other, by the end of its path", () => {
  const faces = new Set(["mod.ts", "internal.ts"]);
  const sources = found(SOURCE, ["ARCHITECTURE.md"]).filter(({ what }) => !faces.has(what));
  expect(sources.length).toBeGreaterThan(100);
  expect(sources.filter(({ what }) => sourcesNamed(what).length !== 1)).toEqual([]);
});
