import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const spec = readFileSync(`${root}shared/SPEC.md`, "utf8");
const rules = [...spec.matchAll(/^- \*\*([A-Z]+)-(\d+)\*\* /gm)].map(([, section, number]) => ({
  section: section as string,
  number: Number(number),
}));
const sections = [...new Set(rules.map(({ section }) => section))];

test("the rules of each section are numbered from 1, in their order", () => {
  expect(sections.length).toBeGreaterThan(5);
  for (const wanted of sections) {
    const numbers = rules.filter(({ section }) => section === wanted).map(({ number }) => number);
    expect(numbers, wanted).toEqual(numbers.map((_, i) => i + 1));
  }
});

test("each rule is quoted by a test, and tests quote no others", () => {
  const files = globSync("{shared,modulators,client,server,apps/*,e2e,bench}/test/**/*.ts", { cwd: root });
  const rule = new RegExp(`\\b(?:${sections.join("|")})-\\d+\\b`, "g");
  const quoted = new Set<string>();
  for (const file of files)
    for (const [text] of readFileSync(root + file, "utf8").matchAll(/["`][^"`\n]*["`]/g))
      for (const [name] of text.matchAll(rule)) quoted.add(name);
  const known = new Set(rules.map(({ section, number }) => `${section}-${number}`));
  expect([...quoted].filter(name => !known.has(name))).toEqual([]);
  expect([...known].filter(name => !quoted.has(name))).toEqual([]);
});
