import { createGateway, createToken, createTokenKeys } from "@jecho/server";
import { encodeRun, FROM } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "../raw-client.ts";

const { signing, checking } = await createTokenKeys();
const history = { events: 100, seconds: 0, latest: false, onDemand: false };

test("RIGHT-5: who may not look back goes on with what came while it was away, and no earlier", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking }, resumeWindowMs: 500 });
  const enter = async (can: string[]) =>
    RawClient.connect(gateway, await createToken(signing, { subject: "ana", can }));
  using producer = await enter(["publish:a"]);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", history });
  const { channel, producer: number, epoch } = await producer.next("ProducerOpened");
  const header = { channel, producer: number, raised: 1, token: 0n, parameters: 0, flags: 0 };
  const event = { bytes: new Uint8Array(8), start: 0, end: 8 };
  producer.send(encodeRun(header, [event, event, event]));
  await producer.isAlive();
  const comeBack = async (can: string[], seq = 1n) => {
    using consumer = await enter(can);
    const from = { from: FROM.resume, at: 0, epoch, seq, speed: 0 };
    consumer.say({ kind: "OpenConsumer", request: 1, channel: "a", from });
    const { seq: first, missing, recovered } = await consumer.next("ConsumerOpened");
    return { first, missing, recovered };
  };
  const whole = { first: 2n, missing: 0n, recovered: true };
  expect(await comeBack(["subscribe:a"])).toEqual(whole);
  await expect.poll(() => comeBack(["subscribe:a"])).toEqual({ first: 4n, missing: 2n, recovered: false });
  expect(await comeBack(["subscribe:a", "history:a"])).toEqual(whole);
  expect(await comeBack(["subscribe:a"], 3n)).toEqual({ first: 4n, missing: 0n, recovered: true });
});
