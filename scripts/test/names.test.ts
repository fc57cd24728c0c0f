import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sharedNames } from "../names.ts";

test("names each class, interface and type that two files declare, exported or not", () => {
  const root = mkdtempSync(join(tmpdir(), "jecho-names-"));
  onTestFinished(() => rmSync(root, { recursive: true }));
  writeFileSync(
    join(root, "a.ts"),
    "export class Link {}\ninterface Lane {}\ntype Own = 1;\nclass Modulator {}\n",
  );
  writeFileSync(
    join(root, "b.ts"),
    "type Link<T> = T;\nexport interface Lane {}\nexport abstract class Modulator {}\n",
  );
  writeFileSync(join(root, "c.ts"), "// class Own\nconst text = `\n  class Own {}`;\n");
  expect(sharedNames(root, ["a.ts", "b.ts", "c.ts"])).toEqual([
    "Lane is declared in a.ts and b.ts",
    "Link is declared in a.ts and b.ts",
  ]);
});
