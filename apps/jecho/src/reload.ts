import type { Command } from "commander";
import { type Screen, UsageError } from "./screen.ts";

/** `jecho reload` */
export function addReload(program: Command, screen: Screen): void {
  program
    .command("reload")
    .argument("<pid>", "the process that jecho gateway --workers names when it starts")
    .summary("exchanges a gateway's workers one by one")
    .description(
      "Has a gateway with workers end and start them again one by one, with its settings read again; its log says when that is done. No event is lost. The same as SIGHUP; a gateway without workers goes on as it is, and says so in its log.",
    )
    .action((pid: string) => {
      if (!/^[1-9]\d*$/.test(pid)) throw new UsageError(`"${pid}" is no process`);
      try {
        process.kill(Number(pid), "SIGHUP");
      } catch (error) {
        const isOthers = (error as NodeJS.ErrnoException).code === "EPERM";
        throw new UsageError(`${isOthers ? "this user may not tell process" : "there is no process"} ${pid}`);
      }
      screen.note(`process ${pid} exchanges its workers`);
    });
}
