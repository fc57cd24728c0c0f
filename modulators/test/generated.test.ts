import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { generatePrograms, generateSources } from "../scripts/generate-sources.ts";

test("the generated files are what `npm run generate` makes of their sources", async () => {
  const files = [...(await generateSources()), ...(await generatePrograms())];
  for (const [path, text] of files) expect(readFileSync(path, "utf8") === text, path).toBe(true);
});
