// A gateway of a cluster, for `cluster`: killed and started again by who measures it.
import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { serve } from "../worker.ts";

let gateway: Gateway;

serve({
  async start(options: GatewayOptions) {
    gateway = await createGateway(options);
    return gateway.port;
  },
  stats: () => gateway.stats(),
});
