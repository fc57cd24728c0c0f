// `npm run docs [-- FOLDER]`: the documents, the errors and a reference of the packages as a static site, by TypeDoc, in `FOLDER` (`site`). What that
// takes, more than all else here, is installed apart, in `.cache/docs`, and not before it is asked for.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { FACES } from "./faces.ts";
import { PART_NAMES, pagesOf } from "./site-pages.ts";

/** As much of TypeDoc as is used here. */
interface TypeDoc {
  readonly Application: { bootstrapWithPlugins(options: object): Promise<Application> };
}
interface Application {
  readonly logger: { hasErrors(): boolean; hasWarnings(): boolean };
  convert(): Promise<Project | undefined>;
  validate(project: Project): void;
  generateOutputs(project: Project): Promise<void>;
}
interface Project {
  readonly children?: readonly { name: string }[];
}

const root = fileURLToPath(new URL("..", import.meta.url));
const site = resolve(process.argv[2] ?? join(root, "site"));
const cache = join(root, ".cache/docs");
const pages = join(cache, "pages");

/** TypeDoc does not take the TypeScript that the rest is checked by. */
const TOOLS = { dependencies: { mermaid: "12.3.0", typedoc: "0.28.20", typescript: "5.9.3" }, private: true };
/** Draws the documents' diagrams, with what is in the site. */
const DRAW = `
for (const code of document.querySelectorAll("code.mermaid")) code.parentElement.replaceWith(Object.assign(document.createElement("pre"), { className: "mermaid", textContent: code.textContent }));
mermaid.initialize({ startOnLoad: true, theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "neutral" });
`;

function install(): void {
  const manifest = JSON.stringify(TOOLS, undefined, 2);
  const stamp = join(cache, "installed.json");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === manifest) return;
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, "package.json"), manifest);
  const { status, error } = spawnSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: cache,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) throw error ?? new Error("npm could not install what makes the site");
  writeFileSync(stamp, manifest);
}

install();
rmSync(pages, { recursive: true, force: true });
const written = pagesOf(root, pages);
for (const { path, text } of written) {
  mkdirSync(dirname(join(pages, path)), { recursive: true });
  writeFileSync(join(pages, path), text);
}
const readme = join(pages, "README.md");
const modules = join(cache, "node_modules");
const script = join(cache, "draw.js");
writeFileSync(script, readFileSync(join(modules, "mermaid/dist/mermaid.min.js"), "utf8") + DRAW);
const { Application } = (await import(pathToFileURL(join(modules, "typedoc/dist/index.js")).href)) as TypeDoc;
const application = await Application.bootstrapWithPlugins({
  name: "JEcho",
  entryPoints: Object.values(FACES).map(file => join(root, file)),
  tsconfig: join(root, "tsconfig.json"),
  readme,
  projectDocuments: written.map(({ path }) => join(pages, path)).filter(file => file !== readme),
  out: site,
  basePath: root,
  customJs: script,
  ignoredHighlightLanguages: ["mermaid"],
  headings: { readme: false, document: false },
  navigation: { includeGroups: true },
  groupOrder: [...PART_NAMES, "Modules"],
  sort: ["alphabetical"],
  disableSources: true,
  skipErrorChecking: true,
});
const project = await application.convert();
if (project === undefined) throw new Error("TypeDoc read nothing");
for (const module of project.children ?? [])
  module.name =
    Object.keys(FACES).find(name => FACES[name]?.replace(/\.ts$/, "") === module.name) ?? module.name;
application.validate(project);
await application.generateOutputs(project);
if (application.logger.hasErrors() || application.logger.hasWarnings()) process.exitCode = 1;
else console.log(`The site is in ${site}`);
