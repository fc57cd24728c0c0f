// A gateway with a process for modulators and its history in a file; it ends in an orderly way when it is told to.
import { startModulating } from "@jecho/client/modulating";
import { createGateway } from "@jecho/server";
import { PATIENT, PATIENT_GATEWAY } from "./patient.ts";

const [port = "0", historyFile = ""] = process.argv.slice(2);
const gateway = await createGateway({
  ...PATIENT_GATEWAY,
  port: Number(port),
  historyFile,
  drainMs: 60_000,
  modulating: (address, token, say) => startModulating(address, token, say, PATIENT),
});
process.send?.(gateway.address);
await new Promise(resolve => process.once("message", resolve));
await gateway.close();
process.exit();
