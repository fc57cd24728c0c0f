import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildViewer } from "../src/build-viewer.ts";

test("who builds at the same time as another, or looks on, finds a whole page at any moment", async () => {
  const base = await mkdtemp(join(tmpdir(), "viewer-"));
  try {
    const folder = join(base, "dist");
    await mkdir(join(folder, "assets"), { recursive: true });
    await writeFile(join(folder, "index.html"), '<script src="/assets/old.js"></script>');
    await writeFile(join(folder, "assets/old.js"), "");
    const missing: string[] = [];
    let isBuilding = true;
    const looking = (async () => {
      while (isBuilding) missing.push(...(await missingOf(folder)));
    })();
    const said: string[] = [];
    const say = (line: string): number => said.push(line);
    await Promise.all([buildViewer(say, folder), buildViewer(say, folder)]);
    isBuilding = false;
    await looking;
    expect(said).toHaveLength(2);
    expect(missing).toEqual([]);
    expect(await readFile(join(folder, "index.html"), "utf8")).toContain("<title>Atmosphere</title>");
    // What is of no use any more is gone, and so is where it was built.
    expect(await readdir(join(folder, "assets"))).not.toContain("old.js");
    expect(await readdir(join(base, ".cache"))).toEqual([]);
    await buildViewer(say, folder);
    expect(said).toHaveLength(2);
  } finally {
    await rm(base, { recursive: true });
  }
});

test("the service worker keeps every program that those which it keeps import", async () => {
  const folder = await mkdtemp(join(tmpdir(), "viewer-"));
  try {
    await buildViewer(() => {}, join(folder, "dist"));
    const worker = await readFile(join(folder, "dist/service-worker.js"), "utf8");
    const kept = [...worker.matchAll(/"\/(assets\/[^"]+\.js)"/g)].map(([, file]) => file as string);
    expect(kept.some(file => file.includes("/producing-"))).toBe(true);
    for (const file of kept) {
      const program = await readFile(join(folder, "dist", file), "utf8");
      for (const [, name] of program.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g))
        expect(kept, file).toContain(`assets/${name}`);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

/** Files that the page needs and that are not there; none for a page that was replaced meanwhile, which is looked at again. */
async function missingOf(folder: string): Promise<string[]> {
  const read = (): Promise<string> =>
    readFile(join(folder, "index.html"), "utf8").catch((error: Error) => error.message);
  const page = await read();
  const named = [...page.matchAll(/"\/(assets\/[^"]+)"/g)].map(([, file]) => file as string);
  const there = await readdir(join(folder, "assets")).catch((): string[] => []);
  if ((await read()) !== page) return [];
  return named.length === 0 ? [page] : named.filter(file => !there.includes(file.slice("assets/".length)));
}
