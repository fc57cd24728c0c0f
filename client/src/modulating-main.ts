/* The process beside a gateway that runs modulators: see modulating.ts. */
import { connect } from "./mod.ts";
import type { ModulatingOrder } from "./modulating.ts";

process.once("message", ({ address, token, modulators }: ModulatingOrder) => {
  const session = connect(address, { name: "modulators", place: "here", modulating: token, modulators });
  session.ready().then(
    () => process.send?.("ready"),
    (error: Error) => {
      console.error(`modulators are not run: ${error.message}`);
      process.exit(1);
    },
  );
  const end = (): void => {
    void session.close().finally(() => process.exit());
  };
  process.once("SIGTERM", end);
  // The gateway's process has gone.
  process.once("disconnect", end);
});
