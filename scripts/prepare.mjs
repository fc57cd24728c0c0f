// Installs the packages and generates the files that are not in git, where that is not done yet. Runs before `npm start`,
// `npm test`, `npm run check` and `npm run bench`, on whatever Node the machine has and with nothing installed: so it is plain
// JavaScript and imports only what Node brings.
// @ts-check
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { generate, isGenerated } from "./generate.mjs";

/**
 * One entry of a package-lock.json.
 * @typedef {{ version?: string, link?: boolean, optional?: boolean, os?: string[] | string, cpu?: string[] | string, libc?: string[] | string }} LockEntry
 * @typedef {{ packages: Record<string, LockEntry> }} Lock
 * @typedef {{ platform: string, arch: string }} Machine
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const stampFile = join(root, "node_modules", ".jecho-prepared");
const lockFile = join(root, ".cache", "prepare.pid");

const abi = "127";
const served = "Linux (x64, arm64; glibc), macOS (arm64, x64) and Windows (x64)";

/**
 * What npm has to put on this machine, as paths from the root: everything but links to our own packages and what is
 * optional, except the packages for this very platform. Those for one C library are left to npm's judgement.
 * @param {Lock} lock
 * @param {Machine} machine
 */
export function wanted(lock, machine) {
  return Object.entries(lock.packages).filter(([path, entry]) => {
    if (!path.includes("node_modules/") || entry.link) return false;
    if (!entry.optional) return true;
    return (
      (entry.os || entry.cpu) &&
      !entry.libc &&
      serves(entry.os, machine.platform) &&
      serves(entry.cpu, machine.arch)
    );
  });
}

/**
 * @param {string[] | string | undefined} list
 * @param {string} value
 */
function serves(list, value) {
  const names = list === undefined ? [] : [list].flat();
  if (names.includes(`!${value}`)) return false;
  const positive = names.filter(name => !name.startsWith("!"));
  return positive.length === 0 || positive.includes(value);
}

/**
 * Decides what is to be done: "ready" (the stamp fits), "adopt" (somebody ran npm himself, and all is there) or "install".
 * @param {{ lockText: string, machine: Machine, stamp: string | undefined, installedText: string | undefined }} found
 *   `installedText` is npm's own note of what it put into node_modules (node_modules/.package-lock.json)
 */
export function decide({ lockText, machine, stamp, installedText }) {
  if (installedText === undefined) return "install";
  if (stamp === stampOf(lockText, machine)) return "ready";
  /** @type {Lock} */
  const installed = JSON.parse(installedText);
  const complete = wanted(JSON.parse(lockText), machine).every(
    ([path, entry]) => installed.packages[path]?.version === entry.version,
  );
  return complete ? "adopt" : "install";
}

/**
 * @param {string} lockText
 * @param {Machine} machine
 */
export function stampOf(lockText, machine) {
  return `${machine.platform}-${machine.arch} ${createHash("sha256").update(lockText).digest("hex")}`;
}

/** @param {string} file */
function readText(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** @param {string} line */
function say(line) {
  process.stderr.write(`${line}\n`);
}

const machine = { platform: process.platform, arch: process.arch };

function look() {
  const lockText = readText(join(root, "package-lock.json"));
  if (lockText === undefined) {
    say("package-lock.json is missing: this folder is not a whole copy of JEcho.");
    process.exit(1);
  }
  const installedText = readText(join(root, "node_modules", ".package-lock.json"));
  const decision = decide({ lockText, machine, stamp: readText(stampFile), installedText });
  return { lockText, decision };
}

/** @type {import("node:child_process").ChildProcess | undefined} */
let installing;
/** @type {string | undefined} */
let held;

/** @param {NodeJS.Signals} signal */
function stop(signal) {
  installing?.kill(signal);
  if (held !== undefined) rmSync(held, { force: true });
  process.exit(128 + constants.signals[signal]);
}

/**
 * Two first commands at once (`npm start` here, `npm test` there) must not write into the same folders.
 * @param {string} file
 */
async function takeTurn(file) {
  mkdirSync(join(root, ".cache"), { recursive: true });
  for (let told = false; ; told = true) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      held = file;
      return;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "EEXIST") throw error;
    }
    const owner = Number(readText(file));
    if (owner > 0 && !isAlive(owner)) rmSync(file, { force: true });
    else if (!told) say("Another command is preparing this folder; waiting for it.");
    await delay(200);
  }
}

/**
 * Does the work while no other command does.
 * @template T
 * @param {() => T | Promise<T>} work
 * @param {string} [file] tells others whose turn it is
 */
export async function inTurn(work, file = lockFile) {
  await takeTurn(file);
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
    held = undefined;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === "EPERM";
  }
}

/** @param {string} lockText */
async function install(lockText) {
  const paths = wanted(JSON.parse(lockText), machine).map(([path]) => join(root, path, "package.json"));
  say(`Installing ${paths.length} packages (npm ci --ignore-scripts); this happens once.`);
  const startedAt = Date.now();
  // npm's own script passes its log level down; --silent there must not hide an error here.
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const cli = process.env["npm_execpath"];
  const stdio = /** @type {const} */ (["ignore", 2, 2]);
  // npm_execpath may name yarn or pnpm, which know no `ci`.
  installing =
    cli && /npm-cli\.c?js$/.test(cli)
      ? spawn(process.execPath, [cli, ...args], { cwd: root, stdio: [...stdio] })
      : spawn("npm", args, { cwd: root, stdio: [...stdio], shell: process.platform === "win32" });
  const ticker = setInterval(() => {
    const there = paths.filter(path => existsSync(path)).length;
    say(`  ${there} of ${paths.length} packages, ${Math.round((Date.now() - startedAt) / 1000)} s`);
  }, 3000);
  /** @type {number} */
  const code = await new Promise(resolve => {
    installing?.once("error", error => {
      say(`npm could not be started: ${error.message}`);
      resolve(1);
    });
    installing?.once("close", (code, signal) =>
      resolve(code ?? 128 + constants.signals[signal ?? "SIGTERM"]),
    );
  });
  installing = undefined;
  clearInterval(ticker);
  if (code !== 0) {
    say("The packages could not be installed; npm says why above.");
    return code;
  }
  say(`Installed in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
  return 0;
}

/**
 * Whether a Node runs our TypeScript (from 22.18 on without a flag) and loads the binaries made for Node 22.
 * @param {string} version as in process.versions.node
 * @param {string} modules the ABI, as in process.versions.modules
 */
export function suits(version, modules) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return modules === abi && major === 22 && minor >= 18;
}

/** The Node that npm puts first in the scripts' PATH; else the running one. */
function scriptsNode() {
  const link = join("node_modules", ".bin", process.platform === "win32" ? "node.cmd" : "node");
  return existsSync(join(root, link)) ? link : process.execPath;
}

/** @param {string} node */
function versionsOf(node) {
  // The usual case after the first run: it is the very binary that runs this, and need not be asked.
  if (process.platform !== "win32" && realpathSync(resolve(root, node)) === realpathSync(process.execPath))
    return process.versions;
  const asked = spawnSync(node, ["-p", "JSON.stringify(process.versions)"], {
    cwd: root,
    encoding: "utf8",
    shell: node.endsWith(".cmd"),
  });
  if (asked.status !== 0) return undefined;
  return /** @type {NodeJS.ProcessVersions} */ (JSON.parse(asked.stdout));
}

/** Does what is to be done, and says what cannot be done. @returns the process' exit code */
export async function prepare() {
  if (look().decision !== "ready") {
    const code = await inTurn(async () => {
      const { lockText, decision } = look();
      if (decision === "install") {
        const code = await install(lockText);
        if (code !== 0) return code;
      }
      writeFileSync(stampFile, stampOf(lockText, machine));
      return 0;
    });
    if (code !== 0) return code;
  }
  const node = scriptsNode();
  const versions = versionsOf(node);
  if (!versions || !suits(versions.node, versions.modules ?? "")) {
    sayUnsuited(versions?.node);
    return 1;
  }
  if (isGenerated(root)) return 0;
  if (await inTurn(() => isGenerated(root) || generate(root, node))) return 0;
  say("The files in `generated` folders could not be made; the generator says why above.");
  return 1;
}

/** For Vitest, which may be started directly, with sources that are newer than the generated files. */
export async function setup() {
  if ((await prepare()) !== 0) process.exit(1);
}

/** @param {string | undefined} version */
function sayUnsuited(version) {
  say(
    version
      ? `JEcho needs Node 22 (22.18 or later), and this is Node ${version}.`
      : "The Node 22 that came with the packages does not run on this machine (a system without glibc?).",
  );
  say(`It comes with the packages on ${served}; this machine is ${process.platform}-${process.arch}.`);
  say(
    "Elsewhere, run it with a Node 22 of your own; the gateway's binary (uWebSockets.js) serves the same platforms.",
  );
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) process.on(signal, stop);
  process.exitCode = await prepare();
}
