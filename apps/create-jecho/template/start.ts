// `npm start`: builds the page, starts a gateway that serves it, and runs the model. `npm start -- --lan` lets phones in the same network in, too.
import { networkInterfaces } from "node:os";
import { createGateway, lineLog } from "@jecho/server";
import { build } from "vite";
import { produce } from "./producer.ts";

const lan = process.argv.includes("--lan");
// `npm run build` says more.
await build({ logLevel: "error" });
const gateway = await createGateway({
  host: lan ? "0.0.0.0" : "127.0.0.1",
  // Without keys whoever reaches it may do anything.
  open: lan,
  port: Number(process.env["PORT"] ?? 8080),
  staticFolder: "dist",
  log: lineLog(line => console.error(line)),
});
await produce(gateway.address);
console.log(`The page is at ${gateway.url}/`);
if (lan)
  for (const { family, internal, address } of Object.values(networkInterfaces())
    .flat()
    .map(found => found!))
    if (family === "IPv4" && !internal)
      console.log(`and in this network at http://${address}:${gateway.port}/`);
