// A process of its own that produces on the channel "a" what it is told to, until its parent has gone.
import { connect } from "@jecho/client";
import { Tick } from "./tick.ts";

const session = connect(process.argv[2] as string);
const producer = await session.channel("a", Tick).produce();
process.on("message", (n: number) => producer.publish({ n, note: "child" }));
process.on("disconnect", () => process.exit());
process.send?.("open");
