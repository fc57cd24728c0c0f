import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Faces that programs import, each with its source. */
export const FACES: Readonly<Record<string, string>> = {
  "@jecho/client": "client/src/mod.ts",
  "@jecho/client/fbs": "client/src/fbs.ts",
  "@jecho/client/moe": "client/src/moe.ts",
  "@jecho/client/modulating": "client/src/modulating.ts",
  "@jecho/client/opentelemetry": "client/src/opentelemetry.ts",
  "@jecho/modulators": "modulators/src/mod.ts",
  "@jecho/modulators/moe": "modulators/src/moe.ts",
  "@jecho/modulators/testing": "modulators/src/authoring/testing.ts",
  "@jecho/react": "react/src/mod.ts",
  "@jecho/server": "server/src/mod.ts",
  "@jecho/shared": "shared/src/mod.ts",
  "@jecho/shared/fbs": "shared/src/fbs.ts",
};

/** A name that a face exports. */
export interface Exported {
  readonly name: string;
  /** The file of its declaration, or the package that it comes from. */
  readonly from: string;
}

/** Names that a compiled face exports. */
export function exportedBy(face: string): Exported[] {
  const text = readFileSync(face, "utf8");
  const handedOn = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from "([^"]+)"/gm)].flatMap(
    ([, names = "", from = ""]) =>
      names
        .split(",")
        .map(name => name.trim().replace(/^type /, ""))
        .filter(name => name !== "")
        .map(name => ({
          name,
          from: from.startsWith(".") ? join(dirname(face), from.replace(/\.[jt]s$/, ".d.ts")) : from,
        })),
  );
  const own = [...text.matchAll(/^export (?:declare )?(?:class|interface|type|function|const) (\w+)/gm)];
  const all = [...handedOn, ...own.map(([, name = ""]) => ({ name, from: face }))];
  // What is a value and a type stands there twice.
  return [...new Map(all.map(one => [one.name, one])).values()];
}

/** The line that declares a name. */
export function declaring(name: string): RegExp {
  return new RegExp(`^(?:export )?(?:declare )?(class|interface|type|function|const) ${name}\\b`);
}

const COMMENT = /^ *\/\*\*[\s\S]*?\*\/\n/gm;
const PRIVATE = /^ +(#|private )/;
const MEMBER = /^ {4}(?:(?:readonly|static|abstract|get|set) )*(\w+\??|\[[^\]]*\])/;

/** One line on a name: what it is, its members, and a hash that changes with anything that it says. */
function lineOf({ name, from }: Exported): string {
  const lines = readFileSync(from, "utf8").replace(COMMENT, "").split("\n");
  const said: string[] = [];
  let isInside = false;
  for (const line of lines) {
    // A declaration goes on to the next one; there may be several of a function.
    if (/^[a-z]/.test(line)) isInside = declaring(name).test(line);
    if (isInside && line.trim() !== "" && !PRIVATE.test(line)) said.push(line);
  }
  if (said[0] === undefined) throw new Error(`${from} has no declaration of ${name}`);
  const [, kind] = declaring(name).exec(said[0]) as RegExpExecArray;
  const members = new Set(said.map(line => MEMBER.exec(line)?.[1]).filter(member => member !== undefined));
  const hash = createHash("sha256").update(said.join("\n")).digest("hex").slice(0, 8);
  return [`${name}:`, kind, ...members, hash].join(" ");
}

/** All that the packages export, compiled into a folder: one line for each name, by face. */
export function facesReport(folder: string): string {
  return Object.entries(FACES)
    .map(([face, source]) => {
      const exported = exportedBy(join(folder, source.replace(/\.ts$/, ".d.ts")));
      const lines = exported.map(one =>
        one.from.startsWith("@") ? `${one.name}: of ${one.from}` : lineOf(one),
      );
      return `${face}\n${lines
        .sort()
        .map(line => `  ${line}\n`)
        .join("")}`;
    })
    .join("\n");
}
