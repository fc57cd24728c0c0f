// uWebSockets.js brings the binaries of all platforms and of older Nodes, 133 MB. As others install the server it has its few lines inside, and the
// binary of each platform is a package of its own, of which npm installs the one that fits.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const library = fileURLToPath(new URL("../node_modules/uWebSockets.js", import.meta.url));
const { version } = JSON.parse(readFileSync(join(library, "package.json"), "utf8")) as { version: string };
/** The oldest Node's, by which a binary is named. */
const OLDEST_ABI = 127;

/** Files of the library in the server package. */
const PLACE = "src/uws";
const LOADER = `import { createRequire } from "node:module";

const { platform, arch, versions } = process;
export default createRequire(import.meta.url)(\`@jecho/uws-\${platform}-\${arch}/\${versions.modules}.node\`);
`;

/** A platform that there are binaries for, as Node names it. */
interface Platform {
  readonly name: string;
  readonly os: string;
  readonly cpu: string;
  /** By the version of Node's interface. */
  readonly binaries: Map<string, string>;
}

function platforms(): Platform[] {
  const all = new Map<string, Platform>();
  for (const file of readdirSync(join(library, "dist/bin"))) {
    const [, os = "", cpu = "", abi = ""] = /^uws_(\w+)_(\w+)_(\d+)\.node$/.exec(file) ?? [];
    if (Number(abi) < OLDEST_ABI) continue;
    const name = `@jecho/uws-${os}-${cpu}`;
    const platform = all.get(name) ?? { name, os, cpu, binaries: new Map() };
    all.set(name, platform);
    platform.binaries.set(abi, join(library, "dist/bin", file));
  }
  return [...all.values()];
}

/**
 * Writes the library into the server package, and a package for each platform beside it.
 *
 * @param folder of the packages
 * @param published what their manifests say of where they come from
 * @returns the names of those packages' folders: for this machine, and for others
 */
export function writePlatforms(
  folder: string,
  published: object,
): { readonly here: string[]; readonly elsewhere: string[] } {
  const place = join(folder, "server", PLACE);
  mkdirSync(place, { recursive: true });
  copyFileSync(join(library, "dist", "index.mjs"), join(place, "index.mjs"));
  copyFileSync(join(library, "LICENSE"), join(place, "LICENSE"));
  writeFileSync(join(place, "uws.mjs"), LOADER);
  const written = { here: [] as string[], elsewhere: [] as string[] };
  for (const { name, os, cpu, binaries } of platforms()) {
    const own = name.replace("@jecho/", "");
    mkdirSync(join(folder, own), { recursive: true });
    for (const [abi, file] of binaries) copyFileSync(file, join(folder, own, `${abi}.node`));
    const manifest = {
      name,
      version,
      description: `The binary of uWebSockets.js for ${os} ${cpu}.`,
      license: "Apache-2.0",
      ...published,
      os: [os],
      cpu: [cpu],
      ...(os === "linux" && { libc: ["glibc"] }),
    };
    writeFileSync(join(folder, own, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
    written[os === process.platform && cpu === process.arch ? "here" : "elsewhere"].push(own);
  }
  return written;
}

/** The server's manifest with the library inside, and its binaries as packages of their own. */
export function withPlatforms<M extends object>(manifest: M): M {
  const { "uWebSockets.js": _, ...dependencies } =
    (manifest as { dependencies?: Record<string, string> }).dependencies ?? {};
  return {
    ...manifest,
    dependencies,
    // No declaration that a face leads to names it.
    imports: { "#uws": `./${PLACE}/index.mjs` },
    optionalDependencies: Object.fromEntries(platforms().map(({ name }) => [name, version])),
  };
}
