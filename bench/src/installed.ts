import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findCommand, findNatsServer, NoNatsServer } from "@jecho/atmosphere/nats-server";

const run = promisify(execFile);
const CACHE = fileURLToPath(new URL("../.cache", import.meta.url));
const INSTALL_TIMEOUT_MS = 300_000;

/** Missing peer: the reason is told, and the run goes on without it. */
export class MissingPeer extends Error {}

/** A program that is no npm package, and what it needs in its environment. */
export interface Program {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
}

/** @throws MissingPeer */
export async function findNats(): Promise<Program> {
  try {
    return { command: await findNatsServer(), env: {} };
  } catch (error) {
    throw error instanceof NoNatsServer ? new MissingPeer(error.message) : error;
  }
}

/** mosquitto where the machine has it, or else unpacked once from Debian's packages. @throws MissingPeer */
export async function findMosquitto(): Promise<Program> {
  const found = findCommand("mosquitto", ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/sbin"]);
  if (found !== undefined) return { command: found, env: {} };
  const [apt, dpkg] = [findCommand("apt-get", []), findCommand("dpkg", [])];
  if (apt === undefined || dpkg === undefined)
    throw new MissingPeer("mosquitto is not installed, and this is no Debian to fetch its packages from");
  const root = join(CACHE, "mosquitto");
  if (!existsSync(root)) await tried("mosquitto could not be fetched", () => unpackMosquitto(root));
  const folders = (await readdir(root, { recursive: true, withFileTypes: true }))
    .filter(({ name }) => name.includes(".so"))
    .map(({ parentPath }) => parentPath);
  const libraries = [...new Set(folders), process.env["LD_LIBRARY_PATH"] ?? ""].filter(Boolean);
  return { command: join(root, "usr/sbin/mosquitto"), env: { LD_LIBRARY_PATH: libraries.join(delimiter) } };
}

/** The package and the libraries that the machine lacks, without a right to install anything. */
async function unpackMosquitto(root: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const folder = await mkdtemp(join(CACHE, "unpacking-"));
  try {
    const kinds = ["recommends", "suggests", "conflicts", "breaks", "replaces", "enhances"];
    const options = ["depends", "--recurse", ...kinds.map(kind => `--no-${kind}`), "mosquitto"];
    const { stdout } = await run("apt-cache", options);
    const needed = [...new Set(stdout.split("\n").filter(line => /^(mosquitto|lib)[\w.+-]*$/.test(line)))];
    const installed = await installedPackages();
    const lacking = needed.filter(name => !installed.has(name));
    await run("apt-get", ["download", ...lacking], { cwd: folder, timeout: INSTALL_TIMEOUT_MS });
    const unpacked = join(folder, "root");
    for (const file of await readdir(folder)) await run("dpkg", ["-x", join(folder, file), unpacked]);
    await rename(unpacked, root);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function installedPackages(): Promise<ReadonlySet<string>> {
  const { stdout } = await run("dpkg", ["--get-selections"], { maxBuffer: 16 << 20 });
  const lines = stdout.split("\n").map(line => line.split(/\s+/));
  // A package of another architecture is named NAME:ARCHITECTURE.
  return new Set(
    lines.filter(([, state]) => state === "install").map(([name = ""]) => name.split(":")[0] ?? ""),
  );
}

async function tried(failure: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new MissingPeer(`${failure}: ${(error as Error).message.split("\n")[0]}`);
  }
}
