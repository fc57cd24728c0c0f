/* A gateway whose clock is set otherwise than this machine's: so many milliseconds ahead. */
import { createGateway } from "@jecho/server";

const ahead = Number(process.argv[2]);
const now = Date.now;
Date.now = () => now() + ahead;
const gateway = await createGateway();
process.send?.(gateway.address);
process.once("disconnect", () => process.exit());
