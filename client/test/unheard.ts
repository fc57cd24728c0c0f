// A program that listens for nothing, but at its first session for the status. What it says is its console's.
import { connect, modulatorFrom } from "@jecho/client";
import { PATIENT } from "./patient.ts";
import { Tick } from "./tick.ts";

const [heard = "", unheard = ""] = process.argv.slice(2);
connect(heard, { name: "heard" }).onStatus(() => {});
const least = 5;
await connect(unheard, { modulators: PATIENT })
  .channel("a", Tick)
  .subscribe(() => {}, { modulator: modulatorFrom((event: typeof Tick.event) => event.n > least) });
