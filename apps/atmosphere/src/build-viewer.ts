import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE_FOLDER = fileURLToPath(new URL("../viewer/", import.meta.url));

/** Where the built viewer lies. */
export const VIEWER_FOLDER = join(SOURCE_FOLDER, "dist");

const STAMP = join(VIEWER_FOLDER, ".built-from");

/** What the built page is made of, besides the lock file's packages. */
const INPUTS = ["viewer", "src", "../../client/src", "../../modulators/src", "../../shared/src"];

/** Builds the viewer unless what lies there was built from these very sources. */
export async function buildViewer(say: (line: string) => void): Promise<void> {
  const hash = await hashInputs();
  const built = await readFile(STAMP, "utf8").catch(() => "");
  if (built === hash) return;
  say("building the viewer ...");
  const { build } = await import("vite");
  // What it warns of, a module of Node's that QuickJS names and never loads in a page, is nothing to act on.
  await build({ root: SOURCE_FOLDER, configFile: join(SOURCE_FOLDER, "vite.config.ts"), logLevel: "error" });
  await writeFile(STAMP, hash);
}

async function hashInputs(): Promise<string> {
  const hash = createHash("sha256");
  const base = fileURLToPath(new URL("../", import.meta.url));
  for (const input of INPUTS) {
    const folder = join(base, input);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries
      .filter(entry => entry.isFile())
      .map(entry => join(entry.parentPath, entry.name))
      .filter(file => !file.startsWith(VIEWER_FOLDER))
      .sort();
    for (const file of files) hash.update(file.slice(base.length)).update(await readFile(file));
  }
  return hash.digest("hex");
}
