// Makes what is in the packages' `generated` folders, none of which is in git. Part of `prepare.mjs`, so plain JavaScript, too.
// @ts-check
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** In this order: each but the first three imports files that those before it write. */
const GENERATORS = [
  "shared/scripts/generate-field-readers.ts",
  "shared/scripts/generate-accessor-classes.ts",
  "shared/scripts/generate-property-places.ts",
  "shared/scripts/generate-schema.ts",
  "shared/scripts/generate-control-tables.ts",
  "modulators/scripts/generate-sources.ts",
];
/** Files and folders that the generators, and the libraries they bundle, come from. */
const SOURCES = [
  "package-lock.json",
  "shared/package.json",
  "shared/schema",
  "shared/scripts",
  "shared/src",
  "modulators/package.json",
  "modulators/scripts",
  "modulators/src",
  "modulators/standard",
];
const OUTPUTS = ["shared/src/generated", "modulators/src/generated"];
const STAMP = ".cache/generated";

/**
 * Whether the generated files are there and are those that the sources give.
 * @param {string} root
 */
export function isGenerated(root) {
  try {
    return (
      readFileSync(join(root, STAMP), "utf8") === stampOf(digestOf(root, SOURCES), digestOf(root, OUTPUTS))
    );
  } catch {
    return false;
  }
}

/**
 * Generates all files anew.
 * @param {string} root
 * @param {string} node the Node 22 that runs the generators
 * @returns whether all generators succeeded; one that fails writes why to the error output
 */
export function generate(root, node) {
  // Hashed before they are read: a file that is changed meanwhile is newer than what is made of it.
  const sources = digestOf(root, SOURCES);
  for (const folder of OUTPUTS) {
    rmSync(join(root, folder), { recursive: true, force: true });
    mkdirSync(join(root, folder), { recursive: true });
  }
  for (const generator of GENERATORS) {
    const shell = node.endsWith(".cmd");
    const { status } = spawnSync(node, [generator], { cwd: root, stdio: ["ignore", 2, 2], shell });
    if (status !== 0) return false;
  }
  mkdirSync(join(root, ".cache"), { recursive: true });
  writeFileSync(join(root, STAMP), stampOf(sources, digestOf(root, OUTPUTS)));
  return true;
}

/**
 * @param {string} sources
 * @param {string} outputs
 */
function stampOf(sources, outputs) {
  return `${sources}\n${outputs}\n`;
}

/**
 * One hash of the names and bytes of all these files and folders; of the outputs only where they are named themselves.
 * @param {string} root
 * @param {readonly string[]} paths
 */
export function digestOf(root, paths) {
  const hash = createHash("sha256");
  /** @param {string} path */
  const addFolder = path => {
    const entries = readdirSync(join(root, path), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const inner = `${path}/${entry.name}`;
      if (!entry.isDirectory()) addFile(inner);
      else if (!OUTPUTS.includes(inner)) addFolder(inner);
    }
  };
  /** @param {string} path */
  const addFile = path => {
    const bytes = readFileSync(join(root, path));
    hash.update(`${path}\n${bytes.byteLength}\n`).update(bytes);
  };
  for (const path of paths) path.endsWith(".json") ? addFile(path) : addFolder(path);
  return hash.digest("hex");
}
