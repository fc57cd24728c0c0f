import { createGateway, createToken, createTokenKeys, type Gateway } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { FROM } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

const { signing, checking } = await createTokenKeys();
const schema = new Uint8Array(0);

async function enter(gateway: Gateway, subject: string, ...can: string[]): Promise<RawClient> {
  return RawClient.connect(gateway, await createToken(signing, { subject, can }));
}

const resume = (epoch: number, seq: number) => ({
  from: FROM.resume,
  epoch,
  seq: BigInt(seq),
  at: 0,
  speed: 0,
});

test("DEL-12: what a producer said of its end is told to who comes back, however many ends others tell of", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  using sim = await enter(gateway, "sim", "publish:sim/**");
  const end = { raised: 9n, raisedUrgent: 0n };
  sim.say({ kind: "Departed", channel: "sim/a", source: 5n, ...end, agoMs: 3000 });
  await sim.isAlive();
  using eve = await enter(gateway, "eve", "publish:eve/**");
  const others = Array.from({ length: 4097 }, (_, i) => `eve/${i}`);
  eve.say(...others.map(channel => ({ kind: "Departed" as const, channel, source: 6n, ...end, agoMs: 0 })));
  await eve.isAlive();
  using ana = await enter(gateway, "ana", "subscribe:**");
  ana.say({ kind: "OpenConsumer", request: 1, channel: "sim/a", schema, from: resume(1, 3) });
  await ana.isAlive();
  const told = { kind: "Position", source: 5n, urgent: false, raised: 9n };
  expect(ana.frames).toContainEqual(expect.objectContaining(told));
});

test("DEL-12: an end at a count that no number holds is refused, and told to nobody", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  using sim = await enter(gateway, "sim", "publish:sim/**");
  const end = { raised: 2n ** 53n, raisedUrgent: 0n };
  sim.say({ kind: "Departed", channel: "sim/a", source: 5n, ...end, agoMs: 0 });
  expect(await sim.next("Fault")).toMatchObject({ code: ERRORS.FRAME_MALFORMED[0] });
  using ana = await enter(gateway, "ana", "subscribe:**");
  ana.say({ kind: "OpenConsumer", request: 1, channel: "sim/a", schema, from: resume(1, 3) });
  await ana.isAlive();
  expect(ana.frames.map(({ kind }) => kind)).not.toContain("Position");
});

test("DEL-5: for who was cut off producers go on, though another subject says that it is back", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  using sim = await enter(gateway, "sim", "publish:a");
  sim.say({ kind: "OpenProducer", request: 1, channel: "a", schema, source: 5n });
  const { producer, channel } = await sim.next("ProducerOpened");
  let raised = 0;
  const raise = async (): Promise<void> => {
    sim.send(encodedRun({ channel, producer, raised: ++raised }));
    await sim.isAlive();
  };
  using ana = await enter(gateway, "ana", "subscribe:a");
  ana.say({ kind: "OpenConsumer", request: 1, channel: "a", schema });
  const { epoch } = await ana.next("ConsumerOpened");
  await raise();
  const { seq } = await ana.next("Events");
  await ana.cut();
  using eve = await enter(gateway, "eve", "subscribe:a");
  eve.say({ kind: "OpenConsumer", request: 1, channel: "a", schema, from: resume(1, 0) });
  const { consumer } = await eve.next("ConsumerOpened");
  eve.say({ kind: "CloseEndpoint", endpoint: consumer });
  await eve.isAlive();
  for (let i = 0; i < 3; i++) await raise();
  using back = await enter(gateway, "ana", "subscribe:a");
  back.say({ kind: "OpenConsumer", request: 1, channel: "a", schema, from: resume(epoch, seq) });
  expect(await back.next("ConsumerOpened")).toMatchObject({ recovered: true, missing: 0n });
  // The return of the same subject's consumer ends the waiting.
  sim.frames.length = 0;
  back[Symbol.dispose]();
  expect(await sim.next("Demand")).toMatchObject({ channel, consumers: 0 });
});
