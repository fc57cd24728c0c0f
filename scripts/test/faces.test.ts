import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { FACES, facesReport } from "../faces.ts";

const folder = mkdtempSync(join(tmpdir(), "jecho-faces-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The client's part of a report, where its face is this and all others are empty. */
function reportOn(
  session: string,
  face = `export { type Options, Session } from "./session.ts";\n`,
): string[] {
  for (const source of Object.values(FACES)) {
    const file = join(folder, source.replace(/\.ts$/, ".d.ts"));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, "");
  }
  writeFileSync(join(folder, "client/src/mod.d.ts"), face);
  writeFileSync(join(folder, "client/src/session.d.ts"), session);
  return facesReport(folder).split("\n\n")[0]?.split("\n").slice(1) ?? [];
}

const SESSION = `/** What it may. */
export interface Options {
    /** Milliseconds. */
    readonly waitMs?: number;
}
export declare class Session {
    #private;
    private constructor();
    /** Ends. */
    close(force?: boolean): Promise<void>;
}
export declare function hidden(): void;
`;

test("the report names what a face exports, with its members, and nothing that it keeps to itself", () => {
  expect(reportOn(SESSION)).toEqual([
    expect.stringMatching(/^ {2}Options: interface waitMs\? [0-9a-f]{8}$/),
    expect.stringMatching(/^ {2}Session: class close [0-9a-f]{8}$/),
  ]);
  expect(reportOn(SESSION, `export { connect } from "@jecho/other";\n`)).toEqual([
    "  connect: of @jecho/other",
  ]);
});

test("another signature changes the line of its name alone; comments and private members change none", () => {
  const [options, session] = reportOn(SESSION);
  const [sameOptions, otherSession] = reportOn(SESSION.replace("force?: boolean", "force?: string"));
  expect(sameOptions).toBe(options);
  expect(otherSession).not.toBe(session);
  const said = SESSION.replace("Milliseconds.", "Milliseconds, at most.").replace(
    "    private constructor();\n",
    "",
  );
  expect(reportOn(said)).toEqual([options, session]);
});
