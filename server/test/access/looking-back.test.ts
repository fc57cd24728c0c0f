import { createGateway, createToken, createTokenKeys } from "@jecho/server";
import { FROM } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "../raw-client.ts";

const { signing, checking } = await createTokenKeys();
const history = { events: 100, seconds: 0, latest: false, onDemand: false, durable: false };

test("RIGHT-5: who may not look back goes on with what came while it was away, and no earlier", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking }, resumeWindowMs: 500 });
  const enter = async (can: string[]) =>
    RawClient.connect(gateway, await createToken(signing, { subject: "ana", can }));
  using producer = await enter(["publish:a"]);
  producer.say({ kind: "OpenProducer", request: 1, channel: "a", history });
  const { channel, producer: number, epoch } = await producer.next("ProducerOpened");
  let head = 0n;
  const raise = async (): Promise<void> => {
    const event = new Uint8Array(8);
    const header = { channel, producer: number, raised: Number(head) + 1 };
    producer.send(encodedRun(header, event, event, event));
    await producer.isAlive();
    head += 3n;
  };
  const comeBack = async (can: string[], seq = head - 2n) => {
    using consumer = await enter(can);
    const from = { from: FROM.resume, at: 0, epoch, seq, speed: 0 };
    consumer.say({ kind: "OpenConsumer", request: 1, channel: "a", from });
    const { seq: first, missing, recovered } = await consumer.next("ConsumerOpened");
    return { first, missing, recovered };
  };
  const whole = () => ({ first: head - 1n, missing: 0n, recovered: true });
  // A busy machine may take longer than the window.
  const isRecovered = async (): Promise<boolean> => {
    await raise();
    const back = await comeBack(["subscribe:a"]);
    if (back.recovered) expect(back).toEqual(whole());
    return back.recovered;
  };
  await expect.poll(isRecovered).toBe(true);
  await expect
    .poll(() => comeBack(["subscribe:a"]))
    .toEqual({ first: head + 1n, missing: 2n, recovered: false });
  expect(await comeBack(["subscribe:a", "history:a"])).toEqual(whole());
  expect(await comeBack(["subscribe:a"], head)).toEqual({ first: head + 1n, missing: 0n, recovered: true });
});
