import { execFileSync } from "node:child_process";
import { open, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Random } from "./random.ts";

/** Room for a history, for a damaged one that is kept beside it, and for what SQLite is about to write. */
const DISK_BYTES = 512 << 20;
const CHUNK = Buffer.alloc(1 << 20);
const FILLER = "filler";
/** Size of the first page, which names the tables. */
const FIRST_PAGE_BYTES = 4096;

/** Disks that have not been taken away again. */
const disks = new Set<string>();
process.on("exit", () => {
  for (const folder of disks) unmount(folder);
});

/** Why no folder can have a disk of its own here; undefined where it can. */
export function whyNoDisk(): string | undefined {
  if (process.platform !== "linux") return "only Linux has small disks in memory";
  return process.getuid?.() === 0 ? undefined : "only root may have a small disk";
}

/** Gives a folder a small disk of its own. */
export function mount(folder: string): void {
  execFileSync("/bin/mount", ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", folder]);
  disks.add(folder);
}

export function unmount(folder: string): void {
  if (disks.delete(folder)) execFileSync("/bin/umount", ["-l", folder]);
}

/** Leaves no room on the disk of a folder. @returns what gives it back */
export async function fill(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, FILLER);
  const file = await open(path, "w");
  try {
    for (;;) await file.write(CHUNK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    await file.close();
  }
  // Another fault may have filled it at the same time.
  return () => rm(path, { force: true });
}

/** Flips a bit somewhere behind the first page of a file. */
export async function flipBit(path: string, random: Random): Promise<void> {
  const { size } = await stat(path);
  if (size <= FIRST_PAGE_BYTES) return;
  const at = random.whole(FIRST_PAGE_BYTES, size - 1);
  const file = await open(path, "r+");
  try {
    const byte = Buffer.alloc(1);
    await file.read(byte, 0, 1, at);
    byte[0] = (byte[0] as number) ^ (1 << random.whole(0, 7));
    await file.write(byte, 0, 1, at);
  } finally {
    await file.close();
  }
}
