// A gateway, a producer and a modulator that nobody vouches for, in the Node that runs this; prints what came of it.
import { connect, modulatorFrom, type } from "@jecho/client";
import { createGateway, lineLog } from "@jecho/server";

const Tick = type("Tick", { n: "uint32" });
const lines: string[] = [];
const gateway = await createGateway({ log: lineLog(line => lines.push(line)) });
const session = connect(gateway.address);
const producer = await session.channel("ticks", Tick).produce();
const odd: number[] = [];
const consumer = await session.channel("ticks", Tick).subscribe(({ n }) => void odd.push(n), {
  modulator: modulatorFrom((event: typeof Tick.event) => event.n % 2 === 1),
});
for (let n = 0; n < 10; n++) await producer.publishSync({ n });
const page = await fetch(`${gateway.url}/healthz`);
process.stdout.write(
  JSON.stringify({
    server: gateway.server,
    lines,
    odd,
    at: consumer.placements.map(({ at }) => at),
    health: await page.json(),
  }),
);
await session.close();
await gateway.close();
