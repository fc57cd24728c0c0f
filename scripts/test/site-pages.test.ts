import { globSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { pagesOf } from "../site-pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pages = pagesOf(root, join(root, ".cache/docs/pages"));
const page = (path: string) => pages.find(one => one.path === path)?.text;

/** Documents that are of one folder alone. */
const NO_PAGES = ["apps/atmosphere/data/README.md", "apps/create-jecho/template/README.md"];

test("every document of the repository is a page of the site", () => {
  const documents = globSync("{*,*/*,*/*/*,*/*/*/*}.md", {
    cwd: root,
    exclude: ["**/node_modules/**", "site/**", "dist/**", "e2e/test-results/**"],
  });
  expect(documents.length).toBeGreaterThan(60);
  expect(documents.filter(path => page(path) === undefined).sort()).toEqual(NO_PAGES);
});

test("a page's links lead to pages, also to those that are made of a source or stand for a folder, and past them to the repository", () => {
  expect(page("README.md")).toContain("[errors](docs/errors.md)");
  expect(page("README.md")).toContain("](docs/decisions/README.md)");
  expect(page("docs/operations.md")).toContain("[`grafana.json`](../../../../deploy/grafana.json)");
  expect(page("modulators/docs/compiled.md")).toContain("`METHODS[parameters.method](values)`");
  // A browser shows no folder.
  expect(page("docs/operations.md")).toContain("are in `deploy/`.");
});
