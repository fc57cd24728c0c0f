// A simulation that never yields: it raises an event every now and then until there is a file of this name, and says at the end
// how its session went.
import { existsSync } from "node:fs";
import { connect } from "@jecho/client";
import { Tick } from "./tick.ts";

const [address = "", enough = ""] = process.argv.slice(2);
const session = connect(address);
const producer = await session.channel("busy", Tick).produce();
const states: string[] = [session.status.state];
session.onStatus(({ state }) => states.push(state));
await new Promise<void>(resolve => {
  if (producer.demand.total > 0) resolve();
  else producer.onDemand(({ total }) => total > 0 && resolve());
});
const start = performance.now();
let events = 0;
while (!existsSync(enough)) {
  if (performance.now() - start > 50 * events) producer.publish({ n: events++, note: "" });
}
// What the session was told meanwhile is heard only now.
await session.flush();
process.send?.({ events, states });
await session.close();
process.disconnect();
