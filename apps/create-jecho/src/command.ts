// `npm create jecho FOLDER`: writes a program to begin with.
import { parseArgs } from "node:util";
import { createProgram } from "./create-program.ts";

const USAGE = `npm create jecho FOLDER [-- --packages FOLDER]

  FOLDER                where to write the program; there must be nothing in it
  --packages FOLDER     install JEcho from the archives in this folder, as "npm run packages" writes them, and not from npm

Writes a model that raises an array, a page that shows it, and a filter of the page's that runs inside the model.`;

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { packages: { type: "string" }, help: { type: "boolean", short: "h", default: false } },
  });
  const [folder, ...more] = positionals;
  if (values.help) process.stdout.write(`${USAGE}\n`);
  else if (folder === undefined || more.length > 0) throw new Error(`one folder is wanted\n\n${USAGE}`);
  else {
    createProgram(folder, values.packages);
    process.stdout.write(
      `The program is in ${folder}. Now:\n\n  cd ${folder}\n  npm install\n  npm start\n\nThen put your own model into model.ts.\n`,
    );
  }
} catch (error) {
  console.error(`create-jecho: ${(error as Error).message}`);
  process.exitCode = 2;
}
