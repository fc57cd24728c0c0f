/* The process beside a gateway that runs modulators: see modulating.ts. */
import { connect } from "../mod.ts";
import type { ModulatingOrder } from "../modulating.ts";

process.once("message", ({ address, token, modulators }: ModulatingOrder) => {
  const session = connect(address, { name: "modulators", place: "here", modulating: token, modulators });
  session.ready().then(
    // Where the gateway has gone meanwhile, this process ends, too.
    () => process.connected && process.send?.("ready", undefined, undefined, () => {}),
    (error: Error) => {
      console.error(`modulators are not run: ${error.message}`);
      process.exit(1);
    },
  );
  const end = (): void => {
    void session.close().finally(() => process.exit());
  };
  // The gateway ends it, or its process has gone.
  process.once("disconnect", end);
});
// A signal for all of the gateway's processes is the gateway's to act on: it has this one finish first.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
