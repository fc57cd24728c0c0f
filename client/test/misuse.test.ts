import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import {
  type ConsumerOptions,
  connect,
  modulatorFrom,
  type ProduceOptions,
  type SubscribeOptions,
} from "@jecho/client";
import { expect, inject, test } from "vitest";
import { startRig, Tick } from "./rig.ts";

/** As a program without types may call it. */
const untyped = <T>(value: unknown) => value as T;

test("what is no handler, no modulator, no place and no policy is refused where it is given, and what would be right is said", async () => {
  await using rig = await startRig();
  const channel = rig.session().channel("a", Tick);
  const subscribe = (options: unknown) => channel.subscribe(() => {}, untyped<SubscribeOptions>(options));
  const produce = (options: unknown) => channel.produce(untyped<ProduceOptions>(options));
  await expect(channel.subscribe(untyped<() => void>({ modulator: undefined }))).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("function"),
  });
  for (const modulator of [() => true, "event => true", {}])
    await expect(subscribe({ modulator })).rejects.toMatchObject({
      code: "MODULATOR_INVALID",
      message: expect.stringContaining("modulatorFrom"),
    });
  await expect(subscribe({ from: "yesterday" })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining('"last"'),
  });
  await expect(subscribe({ queue: { whenFull: "error" } })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("latest"),
  });
  await expect(produce({ queue: { whenFull: "latest" } })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining("drop-oldest"),
  });
});

test("an event that is no bytes names json() on an untyped channel; a function in a shared object is named", async () => {
  await using rig = await startRig();
  const session = rig.session();
  await session.channel("a").subscribe(() => {});
  const producer = await session.channel("a").produce();
  expect(() => producer.publish(untyped<Uint8Array>({ n: 1 }))).toThrow("json()");
  expect(() => session.share({ wanted: () => 1 })).toThrow('"wanted" is a function');
});

test("a modulator that fails is told to onError where nobody listens to the status, with the place in its text", async () => {
  await using rig = await startRig();
  const channel = rig.session().channel("a", Tick);
  const errors: unknown[] = [];
  const options: ConsumerOptions = { onError: error => errors.push(error) };
  const least = 5;
  const modulator = modulatorFrom((event: typeof Tick.event) => event.n > least);
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {}, { modulator, ...options });
  const producer = await channel.produce();
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 9, note: "" });
  await expect.poll(() => consumer.status.state).toBe("refused");
  await expect.poll(() => errors).toEqual([consumer.status.error]);
  expect(consumer.status.error).toMatchObject({
    code: "MODULATOR_FAILED",
    message: expect.stringMatching(/least is not defined \(line 1, column \d+ of its source\)/),
  });
});

test("a session that reaches no gateway says where it looks for one", async () => {
  const other = createServer(socket => socket.destroy()).listen(0, "127.0.0.1");
  try {
    await once(other, "listening");
    const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
    await using session = connect(address, { place: inject("place") });
    await expect.poll(() => session.status.error?.message).toContain(address);
    expect(session.status).toMatchObject({ state: "connecting", error: { code: "CONNECTION_LOST" } });
  } finally {
    other.close();
  }
});
