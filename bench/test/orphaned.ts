// For processes.test.ts: starts a program, tells its id, and stays until it is killed.
import { CommandProcess } from "../src/processes.ts";

const { pid } = await CommandProcess.start({
  command: process.execPath,
  args: ["-e", "setInterval(() => {}, 1000)"],
  env: {},
});
process.send?.(pid);
