import { globSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { ERRORS, type ErrorCode } from "@jecho/shared";

/** A page of the site. */
export interface Page {
  /** Its place, from the folder of all pages as from the root of the repository. */
  readonly path: string;
  readonly text: string;
}

/** The documents in each part of the site. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  Guide: ["README.md", "docs/*.md", "SECURITY.md", "CHANGELOG.md"],
  Packages: ["{shared,modulators,client,react,server,apps/jecho,apps/create-jecho}/README.md"],
  Modulators: ["modulators/docs/*.md"],
  Inside: ["{ARCHITECTURE,CONTRIBUTING,GOVERNANCE,CODE_OF_CONDUCT}.md", "shared/SPEC.md", "bench/README.md"],
  Decisions: ["docs/decisions/*.md"],
};
export const PART_NAMES = Object.keys(PARTS);

const ERRORS_PAGE = "docs/errors.md";
/** The page that is made of a source. */
const MADE_OF: Readonly<Record<string, string>> = { "shared/src/error-table.ts": ERRORS_PAGE };

/** A link, or code, which may look like one. */
const LINK = /`[^`\n]*`|\[([^\]]*)\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)/g;

function slashed(path: string): string {
  return path.split(sep).join("/");
}

/** All pages of the site; `folder` is where they will lie, for links to what is no page. */
export function pagesOf(root: string, folder: string): Page[] {
  const documents = Object.entries(PARTS).flatMap(([part, patterns]) =>
    globSync(patterns as string[], { cwd: root }).map(path => ({
      path: slashed(path),
      part,
      text: readFileSync(join(root, path), "utf8"),
    })),
  );
  documents.push({ path: ERRORS_PAGE, part: "Guide", text: errorsPage() });
  const paths = new Set(documents.map(({ path }) => path));
  const linkTo = (target: string, from: string): string | undefined => {
    const named = slashed(join(dirname(from), target)).replace(/\/$/, "");
    const page = [MADE_OF[named] ?? named, `${named}/README.md`].find(path => paths.has(path));
    if (page !== undefined) return slashed(relative(dirname(from), page));
    if (!statSync(join(root, named)).isFile()) return undefined;
    return slashed(relative(join(folder, dirname(from)), join(root, named)));
  };
  return documents.map(({ path, part, text }) => {
    const title = /^# (.*)$/m.exec(text)?.[1]?.replaceAll("`", "") ?? path;
    const linked = text.replace(LINK, (whole, words: string, target?: string, anchor = "") => {
      if (target === undefined) return whole;
      const link = linkTo(target, path);
      return link === undefined ? words : `[${words}](${link}${anchor})`;
    });
    return { path, text: `---\ntitle: ${JSON.stringify(title)}\ngroup: ${part}\n---\n\n${linked}` };
  });
}

function errorsPage(): string {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).sort((a, b) => ERRORS[a][0] - ERRORS[b][0]);
  const table = (mayRetry: boolean): string =>
    [
      "| code | number | meaning | usual cause | remedy |",
      "| --- | --- | --- | --- | --- |",
      ...codes
        .filter(code => ERRORS[code][0] < 4500 === mayRetry)
        .map(code => `| \`${code}\` | ${ERRORS[code].join(" | ")} |`),
    ].join("\n");
  return `# Errors

Each error of JEcho's has a code, which programs compare (\`error.code\`), and a message, which names the cause in that case.
Numbers stand on the wire, and close connections.

## Try again

Up to 4499 the same thing may be tried again (\`error.retry\`); clients come back by themselves.

${table(true)}

## Do not try again

It will not get better without a change.

${table(false)}
`;
}
