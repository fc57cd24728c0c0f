import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { generateSources } from "../scripts/generate-sources.ts";

const folder = fileURLToPath(new URL("../docs/", import.meta.url));

test("every standard modulator has its page, with its parameters and its cost", async () => {
  const [standard = ""] = [...(await generateSources()).values()];
  const names = [...standard.matchAll(/export const (\w+)_SOURCE/g)].map(([, name]) =>
    (name as string).toLowerCase().replaceAll("_", "-"),
  );
  expect(names.length).toBeGreaterThan(10);
  expect(readdirSync(folder).sort()).toEqual([...names.map(name => `${name}.md`), "README.md"].sort());
  const index = readFileSync(`${folder}README.md`, "utf8");
  for (const name of names) {
    const page = readFileSync(`${folder}${name}.md`, "utf8");
    for (const part of [`# ${name}\n`, "```ts\n", "**Output.**", "**Demodulator.**", "<!-- cost -->"]) {
      expect(page).toContain(part);
    }
    expect(index).toContain(`[${name}](${name}.md)`);
  }
});
