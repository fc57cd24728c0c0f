import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const generated = fileURLToPath(new URL("../src/generated/standard/", import.meta.url));
const folder = fileURLToPath(new URL("../docs/", import.meta.url));

test("every standard modulator has its page, with its parameters and its cost", () => {
  const names = readdirSync(generated).map(file => basename(file, ".ts"));
  expect(names.length).toBeGreaterThan(10);
  expect(readdirSync(folder).sort()).toEqual(
    [...names.map(name => `${name}.md`), "README.md", "compiled.md", "papers.md"].sort(),
  );
  const index = readFileSync(`${folder}README.md`, "utf8");
  for (const name of names) {
    const page = readFileSync(`${folder}${name}.md`, "utf8");
    for (const part of [`# ${name}\n`, "```ts\n", "**Output.**", "**Demodulator.**", "<!-- cost -->"]) {
      expect(page).toContain(part);
    }
    expect(index).toContain(`[${name}](${name}.md)`);
  }
});

test("what is said of the papers names sources that there are, and tests by their titles", () => {
  const rows = readFileSync(`${folder}papers.md`, "utf8").split("\n");
  const links = (text: string) =>
    [...text.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].map(([, title, path]) => ({
      title: title as string,
      path: `${folder}${path}`,
    }));
  for (const { path } of rows.flatMap(links)) expect(existsSync(path), path).toBe(true);
  const cells = rows.filter(row => /^\| [^-w]/.test(row)).map(row => row.split(" | "));
  expect(cells.length).toBeGreaterThan(30);
  for (const [said, sources = "", tests = ""] of cells) {
    expect(links(sources), said).not.toEqual([]);
    expect(links(tests), said).not.toEqual([]);
    for (const { title, path } of links(tests)) {
      expect(path).toMatch(/\.test\.ts$/);
      expect(readFileSync(path, "utf8"), title).toContain(`"${title}"`);
    }
  }
});
