import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const SOURCE_FOLDER = fileURLToPath(new URL("../viewer/", import.meta.url));

/** Folder of the built viewer. */
export const VIEWER_FOLDER = join(SOURCE_FOLDER, "dist");

const STAMP = ".built-from";

/** Inputs of the built page, besides the lock file's packages. */
const INPUTS = [
  "viewer/index.html",
  "viewer/vite.config.ts",
  "viewer/public",
  "viewer/src",
  "src",
  "../../client/src",
  "../../modulators/src",
  "../../shared/src",
];

/**
 * Builds the viewer unless what lies in the folder was built from these very sources. Who serves the folder meanwhile, or
 * builds at the same time, finds a whole page there, the old one or the new one.
 */
export async function buildViewer(say: (line: string) => void, folder = VIEWER_FOLDER): Promise<void> {
  const hash = await hashInputs();
  const builtFrom = await readFile(join(folder, STAMP), "utf8").catch(() => "");
  if (builtFrom === hash) return;
  say("building the viewer ...");
  // On the same disk, so that files move from there.
  const work = join(dirname(folder), ".cache");
  await mkdir(work, { recursive: true });
  const outDir = await mkdtemp(join(work, "viewer-"));
  try {
    // In a process of its own: whoever builds may run all day, and a bundler leaves some 400 MB behind. What it warns of, a module of Node's
    // that QuickJS names and never loads in a page, is nothing to act on.
    const vite = fileURLToPath(new URL("bin/vite.js", import.meta.resolve("vite/package.json")));
    await promisify(execFile)(process.execPath, [
      vite,
      "build",
      SOURCE_FOLDER,
      ...["--logLevel", "error", "--outDir", outDir],
    ]);
    await rm(join(folder, STAMP), { force: true });
    await moveFiles(outDir, folder);
    await writeFile(join(folder, STAMP), hash);
  } finally {
    await rm(outDir, { recursive: true, force: true });
  }
}

/** In place of all that was there: first what others name, then what names it, and only then goes what nobody names any more. */
async function moveFiles(from: string, to: string): Promise<void> {
  const files = await filesOf(from);
  const isFirst = (file: string): boolean => file.startsWith("assets");
  for (const file of [...files.filter(isFirst), ...files.filter(file => !isFirst(file))]) {
    await mkdir(dirname(join(to, file)), { recursive: true });
    await rename(join(from, file), join(to, file));
  }
  const isOld = (file: string): boolean => !files.includes(file) && file !== STAMP;
  for (const file of (await filesOf(to)).filter(isOld)) await rm(join(to, file), { force: true });
}

async function hashInputs(): Promise<string> {
  const hash = createHash("sha256");
  const base = fileURLToPath(new URL("../", import.meta.url));
  for (const input of INPUTS) {
    for (const file of await filesOf(join(base, input)))
      hash.update(join(input, file)).update(await readFile(join(base, input, file)));
  }
  return hash.digest("hex");
}

/** The files of a folder, relative to it, in a fixed order; of a file itself its own, which is empty. */
async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(error => {
    if (error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (entries === undefined) return [""];
  return entries
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
