// Finds a Chromium on any machine, and fetches one where there is none.
import { spawnSync } from "node:child_process";
import { accessSync, constants, copyFileSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium } from "@playwright/test";

/** Place where a browser was found. */
export type BrowserPlace = "environment" | "playwright" | "system" | "package";

/** A Chromium, and how it has to be started. */
export interface Chromium {
  place: BrowserPlace;
  executablePath: string;
  args: string[];
  /** Environment variables it needs beyond the ones that are set. */
  env: Record<string, string>;
}

const cache = fileURLToPath(new URL("../../node_modules/.cache/jecho-browser", import.meta.url));
const manifest = fileURLToPath(new URL("../chromium", import.meta.url));

const version = "147.0.0";
const names = [
  "chromium",
  "chromium-browser",
  "google-chrome-stable",
  "google-chrome",
  "chrome",
  "microsoft-edge",
];

/**
 * Looks in this order: the environment variable JECHO_CHROMIUM, Playwright's own download, the system's browsers, and last
 * the npm package @sparticuz/chromium (Linux x64), which is fetched once (66 MB) into node_modules/.cache.
 *
 * @param choice a path to a Chromium, or the only place to look: "playwright", "system" or "package"
 * @param say where the lines go that tell of a download
 * @throws Error where there is none, with the ways to get one
 */
export function findChromium(
  choice = process.env["JECHO_CHROMIUM"],
  say: (line: string) => void = line => process.stderr.write(`${line}\n`),
): Chromium {
  const places: Record<string, () => Found | undefined> = {
    playwright: fromPlaywright,
    system: fromSystem,
    package: () => fromPackage(say),
  };
  if (choice && !places[choice]) {
    if (!isProgram(choice)) throw new Error(`JECHO_CHROMIUM is ${choice}, and there is no program there.`);
    return complete("environment", { executablePath: choice });
  }
  for (const [place, find] of Object.entries(places)) {
    if (choice && place !== choice) continue;
    const found = find();
    if (found) return complete(place as BrowserPlace, found);
  }
  throw new Error(
    `No Chromium was found (${choice ? `JECHO_CHROMIUM=${choice}` : "Playwright's, the system's, the package's"}). ` +
      "Install Chromium or Chrome, or name one in JECHO_CHROMIUM, or run `npx playwright install chromium`.",
  );
}

/** Starts the Chromium that findChromium finds, without a window. WebGL 2 is drawn in software. */
export async function launchChromium(choice?: string): Promise<Browser> {
  return chromium.launch(launchOptions(findChromium(choice)));
}

/** The same as Playwright's `launchOptions`, for a configuration file. */
export function launchOptions({ executablePath, args, env }: Chromium) {
  return { executablePath, args, env: { ...environment(), ...env } };
}

interface Found {
  executablePath: string;
  env?: Record<string, string>;
}

function complete(place: BrowserPlace, { executablePath, env = {} }: Found): Chromium {
  return { place, executablePath, args: flags(), env };
}

function flags(): string[] {
  const args = [
    "--use-gl=angle",
    // Without a graphics card a page is put together by half the work where that is not done by way of OpenGL.
    "--disable-gpu-compositing",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-pings",
    "--no-first-run",
    // A hidden page must draw and receive as a visible one does.
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    // Containers give 64 MB of shared memory, too little for a page with large buffers.
    "--disable-dev-shm-usage",
  ];
  // Chromium refuses to start as root with its sandbox on.
  if (process.getuid?.() === 0) args.push("--no-sandbox");
  return args;
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => !!entry[1]),
  );
}

function fromPlaywright(): Found | undefined {
  const executablePath = chromium.executablePath();
  return isProgram(executablePath) ? { executablePath } : undefined;
}

function fromSystem(): Found | undefined {
  const executablePath = candidates().find(isProgram);
  return executablePath ? { executablePath } : undefined;
}

function candidates(): string[] {
  if (process.platform === "darwin") {
    const applications = ["Chromium", "Google Chrome", "Microsoft Edge"];
    return ["/Applications", join(homedir(), "Applications")].flatMap(folder =>
      applications.map(name => join(folder, `${name}.app`, "Contents", "MacOS", name)),
    );
  }
  if (process.platform === "win32") {
    const roots = ["PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"].map(name => process.env[name] ?? "");
    const programs = ["Chromium\\Application\\chrome.exe", "Google\\Chrome\\Application\\chrome.exe"];
    const edge = "Microsoft\\Edge\\Application\\msedge.exe";
    return roots.filter(Boolean).flatMap(root => [...programs, edge].map(program => join(root, program)));
  }
  // Ubuntu's /usr/bin/chromium-browser only tells to install a snap; snaps themselves stand in /snap/bin, last.
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    "/usr/bin",
    "/usr/local/bin",
    "/snap/bin",
  ];
  return names.flatMap(name => folders.filter(Boolean).map(folder => join(folder, name)));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function fromPackage(say: (line: string) => void): Found | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return undefined;
  const unpacked = join(cache, "unpacked");
  const executablePath = join(unpacked, "chromium");
  if (!existsSync(join(unpacked, `ready-${version}`))) {
    install(say);
    unpack(unpacked, say);
  }
  // Its own libraries (NSS and the like) would hide the system's newer ones, so they are used only where those are missing.
  const libraries = join(unpacked, "al2023", "lib");
  const fonts = join(unpacked, "fonts");
  const env: Record<string, string> = existsSync("/etc/fonts/fonts.conf") ? {} : { FONTCONFIG_PATH: fonts };
  if (starts(executablePath, {})) return { executablePath, env };
  const path = [libraries, process.env["LD_LIBRARY_PATH"]].filter(Boolean).join(delimiter);
  return { executablePath, env: { ...env, LD_LIBRARY_PATH: path } };
}

function starts(executablePath: string, env: Record<string, string>): boolean {
  return spawnSync(executablePath, ["--version"], { env: { ...process.env, ...env } }).status === 0;
}

/** npm checks every package against the lock file's hashes. */
function install(say: (line: string) => void): void {
  say(`No other Chromium here: fetching the npm package @sparticuz/chromium ${version} (66 MB, once) ...`);
  mkdirSync(cache, { recursive: true });
  for (const file of ["package.json", "package-lock.json"])
    copyFileSync(join(manifest, file), join(cache, file));
  const args = ["ci", "--prefix", cache, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const { status } = spawnSync("npm", args, {
    cwd: cache,
    stdio: ["ignore", "ignore", "inherit"],
    shell: false,
    // Set by the npm that runs the tests; here they would point it back at the workspace.
    env: withoutNpm(),
  });
  if (status !== 0) throw new Error("@sparticuz/chromium could not be fetched; npm says why above.");
}

function withoutNpm(): Record<string, string> {
  const own =
    /^npm_(config_(local_prefix|workspace|workspaces|prefix|include_workspace_root)|package_|lifecycle_)/i;
  return Object.fromEntries(Object.entries(environment()).filter(([name]) => !own.test(name)));
}

/**
 * The package unpacks into the system's temporary folder, and its libraries only where it takes the machine for a
 * function host: so it runs in a process of its own, with an environment that says where and what.
 */
function unpack(folder: string, say: (line: string) => void): void {
  say("Unpacking it ...");
  const program = `
    const { default: chromium } = await import("@sparticuz/chromium");
    await chromium.executablePath();
    const { writeFileSync } = await import("node:fs");
    writeFileSync(process.env.TMPDIR + "/ready-${version}", "");
  `;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: cache,
    env: { ...environment(), TMPDIR: folder, VERCEL: "1" },
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`@sparticuz/chromium could not be unpacked: ${stderr}`);
}
