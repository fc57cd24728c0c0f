import type { Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawProducer, schema, start } from "./installing-rig.ts";
import { encodedRun, RawClient } from "./raw-client.ts";

const RAW = 70n;
const OPEN = { kind: "OpenConsumer", request: 1, channel: "a", schema } as const;

const at = ({ channel, number: producer }: RawProducer, raised: bigint): Outgoing => {
  const names = { channel, producer, urgent: false, source: RAW, origin: 0n, process: 0, by: "" };
  return { kind: "Position", ...names, raised, after: 0n, through: 0n };
};

test("DEL-12: a position that was on its way when nobody listened any more is no beginning for who comes next", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway, { source: RAW });
  using first = await RawClient.connect(gateway);
  first.say(OPEN);
  const { consumer } = await first.next("ConsumerOpened");
  producer.say(at(producer, 2n));
  expect(await first.next("Position")).toMatchObject({ raised: 2n });
  first.say({ kind: "CloseEndpoint", endpoint: consumer });
  await first.isAlive();
  // The demand of 0 and this position have crossed. What is raised behind it nobody is sent.
  producer.say(at(producer, 5n));
  await producer.isAlive();
  using next = await RawClient.connect(gateway);
  next.say(OPEN);
  await next.next("ConsumerOpened");
  producer.say(at(producer, 9n));
  producer.send(
    encodedRun({ channel: producer.channel, producer: producer.number, raised: 10 }, new Uint8Array(8)),
  );
  expect(await next.next("Position", "Events")).toMatchObject({ kind: "Position", raised: 9n });
  expect(await next.next("Position", "Events")).toMatchObject({ kind: "Events", raised: 10 });
});
