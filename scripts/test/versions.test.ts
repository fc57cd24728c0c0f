import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

function read<T>(file: string): T {
  return JSON.parse(readFileSync(`${root}${file}`, "utf8")) as T;
}

const packages = ["shared", "modulators", "client", "react", "server", "apps/jecho", "apps/create-jecho"].map(
  folder => read<Manifest>(`${folder}/package.json`),
);

test("all packages have one version, and ask for each other in that version", () => {
  const [{ version }] = packages as [Manifest];
  for (const { name, version: its, dependencies, devDependencies } of packages) {
    expect(its, name).toBe(version);
    for (const [needed, asked] of Object.entries({ ...dependencies, ...devDependencies }))
      if (needed.startsWith("@jecho/")) expect(asked, `${name} asks for ${needed}`).toBe(version);
  }
});

test("a changeset of one package gives all packages the next version", () => {
  const { fixed } = read<{ readonly fixed: readonly (readonly string[])[] }>(".changeset/config.json");
  expect(fixed).toHaveLength(1);
  const [patterns = []] = fixed;
  const isFixed = (name: string): boolean =>
    patterns.some(pattern => new RegExp(`^${pattern.replace("*", ".*")}$`).test(name));
  expect(packages.filter(({ name }) => !isFixed(name))).toEqual([]);
});

test("a new program asks for the tools in the versions that it was tried with", () => {
  const tried = {
    ...read<Manifest>("package.json").devDependencies,
    ...read<Manifest>("e2e/package.json").devDependencies,
  };
  const { dependencies, devDependencies } = read<Manifest>("apps/create-jecho/template/package.json");
  for (const [name, asked] of Object.entries({ ...dependencies, ...devDependencies }))
    if (!name.startsWith("@jecho/")) expect(asked, name).toBe(tried[name]);
});
