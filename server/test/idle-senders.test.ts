import type { Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawProducer, schema, start } from "./installing-rig.ts";
import { modulator, RawClient } from "./raw-client.ts";

const RAW = 70n;
const OPEN = { kind: "OpenConsumer", request: 1, channel: "a", schema, modulator } as const;

/** The producer's modulator has been through its events up to this one, and let none through. */
const through = ({ number: producer }: RawProducer, channel: number, count: bigint): Outgoing => {
  const names = { channel, producer, urgent: false, source: RAW + 1n, origin: RAW, process: 0, by: "" };
  return { kind: "Position", ...names, raised: 0n, after: 0n, through: count };
};

test("PROV-6: a modulator's position that was on its way when nobody listened any more is not told to who comes next", async () => {
  await using gateway = await start();
  using producer = await RawProducer.open(gateway, { source: RAW });
  // What is derived stays for the other one, which is where it is made.
  producer.say(OPEN);
  const derived = await producer.installs();
  await producer.next("ConsumerOpened");
  using first = await RawClient.connect(gateway);
  first.say(OPEN);
  const { consumer } = await first.next("ConsumerOpened");
  producer.say(through(producer, derived, 2n));
  expect(await first.next("Position")).toMatchObject({ through: 2n });
  first.say({ kind: "CloseEndpoint", endpoint: consumer });
  await first.isAlive();
  // The demand of 0 and this position have crossed. What its producer raises behind it is made for nobody.
  producer.say(through(producer, derived, 5n));
  await producer.isAlive();
  using next = await RawClient.connect(gateway);
  next.say(OPEN);
  await next.next("ConsumerOpened");
  producer.say(through(producer, derived, 9n));
  expect(await next.next("Position")).toMatchObject({ through: 9n });
});
