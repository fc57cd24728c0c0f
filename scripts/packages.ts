// `npm run packages [-- FOLDER] [-- --platforms]`: the packages as programs outside this repository install them, as JavaScript with types:
// `npm install FOLDER/*.tgz`. Without an argument FOLDER is `dist`. Of the gateway's binaries those of this machine's platform are packed; with
// `--platforms` the others come into `FOLDER/platforms`.
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { compilePackages } from "./compiled-packages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const [folder = join(root, "dist")] = process.argv
  .slice(2)
  .filter(argument => !argument.startsWith("-"))
  .map(path => resolve(path));

function pack(name: string, to: string): void {
  mkdirSync(to, { recursive: true });
  const { status, error } = spawnSync("npm", ["pack", "--silent", "--pack-destination", to], {
    cwd: join(folder, name),
    stdio: ["ignore", "ignore", "inherit"],
    shell: process.platform === "win32",
  });
  if (status !== 0) throw error ?? new Error(`npm could not pack ${name}`);
}

const { here, elsewhere } = compilePackages(folder);
for (const name of here) pack(name, folder);
if (process.argv.includes("--platforms")) for (const name of elsewhere) pack(name, join(folder, "platforms"));
for (const file of globSync("*.tgz", { cwd: folder }).sort()) console.log(join(folder, file));
