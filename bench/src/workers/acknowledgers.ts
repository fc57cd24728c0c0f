// Consumers for `delivery`, each with a connection of its own, whose handlers take a while.

import { setTimeout as delay } from "node:timers/promises";
import { connect, type } from "@jecho/client";
import { serve } from "../worker.ts";

/** As long as a page that draws takes to its next frame at best. */
const HANDLING_MS = 5;
const Layer = type("Layer", { layer: "int32", values: "float32[]" });

serve({
  async open({ port, consumers }: { port: number; consumers: number }) {
    const address = `127.0.0.1:${port}`;
    await connect(address)
      .channel("delivery/field", Layer)
      .subscribe(({ values }) => {
        if (values.length === 0) throw new Error("an empty field");
      });
    for (let i = 0; i < consumers; i++) {
      const session = connect(address, { name: `consumer ${i}` });
      for (const channel of ["delivery/shared", `delivery/own-${i}`])
        await session.channel(channel).subscribe(() => delay(HANDLING_MS));
    }
  },
});
