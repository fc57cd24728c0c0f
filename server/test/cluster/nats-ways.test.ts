import type { NatsConnection } from "@nats-io/transport-node";
import { expect, onTestFinished, test, vi } from "vitest";
import { PACKET } from "../../src/cluster/nats-carrier.ts";
import { NatsWays } from "../../src/cluster/nats-ways.ts";

test("CLU-7: a gateway that lost touch for a moment opens one carrier to each member, not a second one for that of before", () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const asked: number[] = [];
  const publish = (_: string, data: Uint8Array): void => {
    if (data[0] === PACKET.open) asked.push(Buffer.from(data).readDoubleLE(8));
  };
  const connection = { isClosed: () => false, publish } as Partial<NatsConnection> as NatsConnection;
  let self: { index: number; id: string } | undefined = { index: 1, id: "before" };
  const nobody = (): never => {
    throw new Error("nobody answers");
  };
  const ways = new NatsWays(connection, "jecho", {
    self: () => self,
    idOf: () => "other",
    opened: nobody,
    accepted: nobody,
  });
  ways.open(2, "other");
  self = undefined;
  ways.end();
  self = { index: 1, id: "after" };
  ways.open(2, "other");
  vi.runAllTimers();
  expect(asked).toHaveLength(2);
  ways.close(2);
  vi.runOnlyPendingTimers();
  expect(asked).toHaveLength(3);
});
