import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { declaring, exportedBy, FACES } from "../faces.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
let folder: string;
let program: string;

/** A program's folder, with what `npm run packages` makes installed in it. What the packages need is found in folders above. */
beforeAll(() => {
  mkdirSync(join(root, ".cache"), { recursive: true });
  folder = mkdtempSync(join(root, ".cache", "packages-"));
  const packed = join(folder, "packed");
  run(process.execPath, [join(root, "scripts/packages.ts"), packed]);
  program = join(folder, "program");
  for (const file of globSync("*.tgz", { cwd: packed })) {
    const name = basename(file).replace(/-[\d.]+\.tgz$/, "");
    const place = join(program, "node_modules", name.replace(/^jecho-/, "@jecho/"));
    mkdirSync(place, { recursive: true });
    run("tar", ["-xzf", join(packed, file), "-C", place, "--strip-components=1"]);
  }
  write("package.json", JSON.stringify({ type: "module" }));
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The command `jecho`, in a program's folder. */
const COMMAND = "node_modules/jecho/src/main.js";

/** Returns what it printed. */
function run(command: string, args: readonly string[], cwd = root): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: "utf8" });
  expect(status, `${command} ${args.join(" ")}\n${stdout}${stderr}`).toBe(0);
  return stdout;
}

function write(file: string, text: string): void {
  mkdirSync(dirname(join(program, file)), { recursive: true });
  writeFileSync(join(program, file), text);
}

/** The code between fences of one language, in a document of this repository. */
function blocksOf(document: string, language: string): string[] {
  const text = readFileSync(join(root, document), "utf8");
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "gm"))].map(
    ([, code]) => code as string,
  );
}

/** Each fragment is a block of its own, in which no import can stand. */
const IMPORTS = /^import .*\n/gm;

/** Declarations that stand around the fragments of code in the documents. */
const TAKEN_FOR_GRANTED = [
  `import * as jecho from "@jecho/client";`,
  `import { FifoModulator } from "@jecho/client/moe";`,
  `import { Reading } from "./reading.ts";`,
  `declare const { aggregate, cluster, connect, compress, crop, diff, downsample, encrypt, fifo, keyPair, latestPerKey }: typeof jecho;`,
  `declare const { modulatorFrom, modulatorFromFile, priority, quantise, rateLimit, sample, viewFilter }: typeof jecho;`,
  `declare const session: jecho.Session;`,
  `declare const channel: jecho.EventChannel<Reading>;`,
  `declare const view: jecho.SharedObject<jecho.View>;`,
  `declare const draw: (event: Reading) => void;`,
  `type Aggregate = jecho.Aggregate;`,
  `type CropWindow = jecho.CropWindow;`,
  `declare const show: (mean: number, histogram: Uint32Array) => void;`,
];

/** A block whose first line names the file that it stands in. */
function fileOf(code: string): string | undefined {
  return /^\/\/ ([\w.-]+\.m?[jt]s)\b/.exec(code)?.[1];
}

interface Said {
  out: string;
}

/** A gateway by its command, as the packages have it, and a way to start programs beside it; all of them end with `use`. */
async function withGateway(
  use: (address: string, start: (...args: string[]) => Said) => Promise<void>,
): Promise<void> {
  const children: ChildProcess[] = [];
  const start = (...args: string[]): Said => {
    const child = spawn(process.execPath, args, { cwd: program, stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    const said = { out: "" };
    child.stdout.on("data", chunk => (said.out += chunk));
    // On a busy machine the gateway may be as long in coming as one that is not there.
    child.stderr.on(
      "data",
      chunk => (said.out += `${chunk}`.replace(/^JEcho: no gateway has answered.*\n/m, "")),
    );
    return said;
  };
  try {
    const gateway = start(COMMAND, "gateway", "--port", "0");
    await expect.poll(() => gateway.out).toMatch(/listening at \S+\n/);
    await use(/listening at (\S+)/.exec(gateway.out)?.[1] as string, start);
  } finally {
    for (const child of children) child.kill();
  }
}

test("what README.md says to put into files runs in a folder of its own, on the packed packages", () =>
  withGateway(async (address, start) => {
    const files = new Map<string | undefined, string>();
    for (const code of [...blocksOf("README.md", "ts"), ...blocksOf("README.md", "js")])
      files.set(fileOf(code), code);
    expect([...files.keys()].sort()).toEqual(["count.mjs", "producer.ts", "viewer.ts"]);
    for (const [file, code] of files) write(file as string, code.replaceAll("localhost:8080", address));
    const producer = start("producer.ts");
    const viewer = start("viewer.ts");
    const count = start("count.mjs");
    // That it began with station 7 is not seen where the producer needs longer to start than the viewer watches that.
    await expect.poll(() => viewer.out).toMatch(/station 8: \d\d\.\d degrees/);
    expect(viewer.out).not.toMatch(/station [^78]:/);
    await expect.poll(() => count.out).toMatch(/[1-9]\d* events/);
    expect(producer.out).toBe("");
  }));

test("the tutorial's simulation and watcher do what it says", () =>
  withGateway(async (address, start) => {
    for (const code of blocksOf("docs/tutorial.md", "ts"))
      write(fileOf(code) as string, code.replaceAll("localhost:8080", address));
    const simulation = start("simulate.ts");
    const watcher = start("watch.ts");
    await expect.poll(() => watcher.out).toMatch(/^step \d+: [3-9]\d\d\.\d K at most\n/m);
    expect(simulation.out).toBe("");
  }));

/** A part that an SDK for OpenTelemetry registers, as far as the program needs it: it prints the spans that are begun. */
const TRACING = `import { trace } from "@opentelemetry/api";
const span = { end() {}, spanContext: () => ({ traceId: "0".repeat(32), spanId: "0".repeat(16), traceFlags: 0 }) };
const tracer = {
  startActiveSpan: (name, run) => run(tracer.startSpan(name)),
  startSpan: (name, _, within) => (console.log(name, within && trace.getSpanContext(within).traceId), span),
};
trace.setGlobalTracerProvider({ getTracer: () => tracer });`;

test("the program that traces has one trace of what it publishes and is handed", () =>
  withGateway(async (address, start) => {
    const [code = ""] = blocksOf("docs/operations.md", "ts");
    write("traced.ts", code.replaceAll("localhost:8080", address));
    write("tracing.mjs", TRACING);
    const said = start("--import", "./tracing.mjs", "traced.ts");
    await expect
      .poll(() => said.out)
      .toMatch(
        /^measure undefined\npublish weather\/traced (\w{32})\ndeliver weather\/traced \1\ndraw undefined\n24\.5 degrees, trace \1\n$/,
      );
  }));

/** The one program of a package's README, in its file, and what the README says that it prints. */
function programOf(folder: string, address: string): { readonly file: string; readonly prints: string } {
  const [code, ...more] = blocksOf(`${folder}/README.md`, "ts");
  const [prints] = blocksOf(`${folder}/README.md`, "text");
  expect(more).toEqual([]);
  const file = fileOf(code as string) as string;
  write(file, (code as string).replaceAll("localhost:8080", address));
  return { file, prints: prints as string };
}

test.for(["shared", "modulators", "client", "server"])(
  "the program in the README of %s prints what it says there",
  folder =>
    withGateway(async (address, start) => {
      const { file, prints } = programOf(folder, address);
      const said = start(file);
      await expect.poll(() => said.out).toBe(prints);
    }),
);

test("the commands in jecho's README print what it says there", () =>
  withGateway(async (address, start) => {
    const { file, prints } = programOf("apps/jecho", address);
    const said = start(file);
    await expect.poll(() => said.out).not.toBe("");
    const commands = blocksOf("apps/jecho/README.md", "sh").flatMap(
      block => block.match(/^npx jecho (types|sub) .*$/gm) ?? [],
    );
    expect(commands).toHaveLength(2);
    let printed = "";
    for (const command of commands) {
      const args = [...command.matchAll(/'([^']+)'|(\S+)/g)]
        .slice(2)
        .map(([, quoted, word]) => (quoted ?? word) as string);
      printed += run(process.execPath, [COMMAND, ...args, "--gateway", address], program);
    }
    expect(printed.trimEnd()).toBe(prints.trimEnd());
  }));

test("the command says to an older Node which one it needs, and loads nothing before", () => {
  const manifest = JSON.parse(readFileSync(join(program, "node_modules/jecho/package.json"), "utf8"));
  const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } })`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(older)}`, COMMAND, "--help"],
    { cwd: program, encoding: "utf8" },
  );
  const needs = (manifest.engines.node as string).replace(/^>=(.*)$/, "Node $1 or newer");
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: "",
    stderr: `jecho: it needs ${needs}, and this is Node 20.20.2\n`,
  });
  expect(readFileSync(join(program, COMMAND), "utf8")).not.toMatch(/^import\b/m);
});

test("importing the client on a server starts nothing and loads no native module", () => {
  const said = run(
    process.execPath,
    [
      "--input-type=module",
      "-e",
      `const before = Object.keys(globalThis);
      for (const face of ["", "/fbs", "/moe", "/modulating"]) await import(\`@jecho/client\${face}\`);
      const { sharedObjects } = process.report.getReport();
      console.log(JSON.stringify([
        process.getActiveResourcesInfo().filter(kind => !/^(Pipe|TTY)/.test(kind)),
        sharedObjects.filter(file => file.endsWith(".node")),
        Object.keys(globalThis).filter(name => !before.includes(name)),
      ]));`,
    ],
    program,
  );
  expect(JSON.parse(said)).toEqual([[], [], []]);
});

test("every link in a packed document leads to something in its package", () => {
  const packages = join(program, "node_modules");
  const documents = globSync("{jecho,@jecho/*}/{*,docs/*}.md", { cwd: packages });
  expect(documents.length).toBeGreaterThan(15);
  const missing = documents.flatMap(document =>
    // Code may look like a link.
    [...readFileSync(join(packages, document), "utf8").matchAll(/`[^`\n]*`|\]\(([^)#]+)/g)]
      .filter(([, target]) => target !== undefined)
      .filter(([, target]) => !existsSync(join(packages, dirname(document), target as string)))
      .map(([, target]) => `${document}: ${target}`),
  );
  expect(missing).toEqual([]);
});

test("the modulators' page's unit test of a modulator in a file runs on recorded events", () => {
  for (const code of blocksOf("modulators/docs/README.md", "ts")) {
    const file = fileOf(code);
    if (file !== undefined) write(file, code);
  }
  const recorded = [20, 30, 24, 25].map((celsius, station) => ({
    event: { station, celsius: [celsius, 1] },
  }));
  write("readings.jsonl", recorded.map(line => `${JSON.stringify(line)}\n`).join(""));
  run(process.execPath, ["--test", "hot.test.ts"], program);
});

test("every block of TypeScript in the READMEs and the modulators' pages fits the packed packages' types", () => {
  const documents = [
    "README.md",
    "docs/tutorial.md",
    "docs/cluster.md",
    "docs/names.md",
    "docs/operations.md",
    ...["shared", "modulators", "client", "server", "apps/jecho"].map(folder => `${folder}/README.md`),
    ...readdirSync(join(root, "modulators/docs")).map(name => `modulators/docs/${name}`),
  ];
  const fragments: string[] = [];
  for (const document of documents) {
    for (const code of blocksOf(document, "ts")) {
      const file = fileOf(code);
      if (file === undefined) fragments.push(`// ${document}\n{\n${code.replace(IMPORTS, "")}}\n`);
      else write(`checked/${file}`, code);
    }
  }
  expect(fragments.length).toBeGreaterThan(10);
  write("checked/fragments.ts", [...TAKEN_FOR_GRANTED, ...fragments].join("\n"));
  write(
    "tsconfig.json",
    JSON.stringify({
      compilerOptions: {
        target: "es2024",
        module: "nodenext",
        strict: true,
        noEmit: true,
        allowImportingTsExtensions: true,
        types: ["node"],
      },
      include: ["checked"],
    }),
  );
  run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", program], program);
});

/** The constructor of what nobody constructs, an error's name, and what a type says by its form. */
const SAID_BY_FORM = /^(constructor\(|readonly name = |readonly \[|private |#)/;

test("everything that a packed package exports has a doc comment, and so has each of its members", () => {
  const modules = join(program, "node_modules/@jecho");
  const all = new Map(
    Object.values(FACES)
      .flatMap(source => exportedBy(join(modules, source.replace(/\.ts$/, ".d.ts"))))
      .filter(({ from }) => !from.startsWith("@"))
      .map(one => [`${one.name} ${one.from}`, one]),
  );
  expect(all.size).toBeGreaterThan(80);
  const silent: string[] = [];
  for (const { name, from } of all.values()) {
    const lines = readFileSync(from, "utf8").split("\n");
    const at = lines.findIndex(line => declaring(name).test(line));
    expect(at, `${name} in ${from}`).toBeGreaterThanOrEqual(0);
    const isSaid = (line: number): boolean => /\*\/$/.test(lines[line - 1] as string);
    if (!isSaid(at)) silent.push(name);
    if (!/(class|interface) /.test(lines[at] as string)) continue;
    for (let line = at + 1; !lines[line]?.startsWith("}"); line++) {
      const member = /^ {4}([^\s*/}].*)/.exec(lines[line] as string)?.[1];
      if (member !== undefined && !SAID_BY_FORM.test(member) && !isSaid(line))
        silent.push(`${name}: ${member}`);
    }
  }
  expect(silent).toEqual([]);
});
