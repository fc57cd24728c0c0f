// A producer that raises its events as soon as somebody wants them, and ends as it is told: `flush`, `close` or `leave`.
import { connect } from "@jecho/client";
import { PATIENT } from "./patient.ts";
import { Tick } from "./tick.ts";

const [address = "", how = "", most = "64", events = "0"] = process.argv.slice(2);
const session = connect(address, { modulators: { ...PATIENT, most: Number(most) } });
const producer = await session.channel("a", Tick).produce();
// Whoever is to have them is there when it is told to begin: it says how many it knows of.
producer.onDemand(({ total }) => process.send?.(total));
process.send?.(producer.demand.total);
await new Promise(resolve => process.once("message", resolve));
for (let n = 1; n <= Number(events); n++) {
  if (!producer.isReady) await producer.ready();
  producer.publish({ n, note: "" });
}
if (how === "flush") await session.flush();
else if (how === "close") await session.close();
else await producer.close();
process.kill(process.pid, "SIGKILL");
