import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** The addon, and the package by which it finds its binary. */
const ADDON = "isolated-vm";
const FINDER = "node-gyp-build";
/** File whose existence tells isolated-vm's loader which C library there is. */
const ALPINE = "/etc/alpine-release";

/** `prlimit` of util-linux: lowers the system's limits and then executes the given program. */
const PRLIMIT = "/usr/bin/prlimit";
/** No core dump, and no byte to any file. */
const SYSTEM_LIMITS = ["--core=0", "--fsize=0"];

// The sandbox library asks for the first, and compiles code that is called often only with the second. The rest is a second
// wall: what got out of a sandbox could still neither write files, nor start programs, nor read more than its own code.
const FLAGS = [
  "--no-node-snapshot",
  "--no-concurrent-recompilation",
  "--no-warnings",
  "--permission",
  "--allow-addons",
  "--allow-worker",
];

export interface Command {
  readonly file: string;
  readonly flags: readonly string[];
}

/**
 * Command that starts Node with so few permissions that a flaw in a sandbox is worth little.
 *
 * @param main the program that is to be run: it may read its own folder, and load isolated-vm
 */
export function confined(main: string): Command {
  const readable = [
    dirname(main),
    ...foldersOf(ADDON, main).flatMap(folder => [folder, ...finderOf(folder)]),
  ];
  const reads = readable.flatMap(folder => [folder, join(folder, "*")]);
  const flags = [...FLAGS, ...[...reads, ALPINE].map(path => `--allow-fs-read=${path}`)];
  return lowersLimits()
    ? { file: PRLIMIT, flags: [...SYSTEM_LIMITS, process.execPath, ...flags] }
    : { file: process.execPath, flags };
}

let isLowering: boolean | undefined;

/** Whether `prlimit` is there and works: in a container it may not. */
function lowersLimits(): boolean {
  if (isLowering !== undefined) return isLowering;
  if (!existsSync(PRLIMIT)) return false;
  const { error, status } = spawnSync(PRLIMIT, [...SYSTEM_LIMITS, "true"]);
  // This may fail for want of file descriptors, and succeed later.
  if (error === undefined) isLowering = status === 0;
  return status === 0;
}

function finderOf(addon: string): string[] {
  return foldersOf(FINDER, join(addon, "package.json"));
}

/** The folder of an installed package, and the one that it links to; empty where it is not installed. */
function foldersOf(name: string, from: string): string[] {
  for (const folder of createRequire(from).resolve.paths(name) ?? []) {
    const found = join(folder, name);
    if (existsSync(found)) return [...new Set([found, realpathSync(found)])];
  }
  return [];
}
