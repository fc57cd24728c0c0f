import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { expect, test } from "vitest";

const PAGE = "page";

/** A page that makes eager handlers of its own, and loads what runs anybody's modulators only when it needs that. */
const PROGRAM = `
  import { fifo, viewFilter } from "@jecho/modulators";
  export const pairs = [fifo(), viewFilter({}, { packed: true })];
  export const environment = () => import("@jecho/modulators/browser");
`;

test("a page begins with the sources of those standard modulators that it uses, and no others", async () => {
  const build = await rolldown({
    input: PAGE,
    cwd: fileURLToPath(new URL("../", import.meta.url)),
    platform: "browser",
    plugins: [
      {
        name: "page",
        resolveId: id => (id === PAGE ? id : undefined),
        load: id => (id === PAGE ? PROGRAM : undefined),
      },
    ],
  });
  const { output } = await build.generate();
  await build.close();
  const chunks = new Map(output.flatMap(file => (file.type === "chunk" ? [[file.fileName, file]] : [])));
  // What the page loads to begin with: its entry, and what that imports.
  const begun = new Set<string>(
    output.flatMap(file => (file.type === "chunk" && file.isEntry ? file.fileName : [])),
  );
  for (const name of begun) for (const imported of chunks.get(name)?.imports ?? []) begun.add(imported);
  const sourcesIn = (names: Iterable<string>): string[] =>
    Array.from(names, name => chunks.get(name)?.moduleIds ?? [])
      .flat()
      .filter(id => id.includes("/generated/standard"))
      .map(id => basename(id, ".ts"))
      .sort();
  expect(sourcesIn(begun)).toEqual(["fifo", "packed-view", "view-filter"]);
  // All of them are there for who asks for the other half.
  expect(sourcesIn(chunks.keys())).toContain("aggregate");
  const modules = [...chunks.values()].flatMap(({ moduleIds }) => moduleIds);
  expect(modules.filter(id => id.includes("/types/fbs/"))).toEqual([]);
});

test("no sandbox begins with the parser of schemas' text", async () => {
  const build = await rolldown({
    input: "src/sandbox/world/sealed.ts",
    cwd: fileURLToPath(new URL("../", import.meta.url)),
    external: /^jecho:/,
    platform: "neutral",
    treeshake: { moduleSideEffects: false },
  });
  const { output } = await build.generate();
  await build.close();
  const modules = output[0].moduleIds;
  expect(modules.some(id => id.endsWith("/types/encode.ts"))).toBe(true);
  expect(modules.filter(id => id.includes("/types/fbs/"))).toEqual([]);
});
