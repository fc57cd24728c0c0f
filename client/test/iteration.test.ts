import { connect, JechoError, json, modulatorFrom } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";

interface Tick {
  readonly n: number;
}

async function rig() {
  const gateway = await createGateway();
  const session = connect(gateway.address, { place: "here" });
  const channel = session.channel("ticks", json<Tick>());
  const producer = await channel.produce();
  const close = async (): Promise<void> => {
    await session.close();
    await gateway.close();
  };
  return { session, channel, producer, [Symbol.asyncDispose]: close };
}

test("for await goes through the events in order, and closes the consumer when it is left", async () => {
  await using all = await rig();
  const got: number[] = [];
  const loop = (async () => {
    for await (const { n } of all.channel.events()) if (got.push(n) === 3) break;
  })();
  await expect.poll(() => all.producer.demand.total).toBe(1);
  for (let n = 0; n < 10; n++) all.producer.publish({ n });
  await loop;
  expect(got).toEqual([0, 1, 2]);
  await expect.poll(() => all.producer.demand.total).toBe(0);
});

test("SYNC-1: an event counts as handled when the next one is asked for", async () => {
  await using all = await rig();
  const events = all.channel.events();
  const first = events.next();
  await expect.poll(() => all.producer.demand.total).toBe(1);
  let isHandled = false;
  const published = all.producer.publishSync({ n: 1 }).then(() => {
    isHandled = true;
  });
  expect((await first).value).toEqual({ n: 1 });
  // Whatever is handled by itself has been by now.
  await all.session.flush();
  expect(isHandled).toBe(false);
  const second = events.next();
  await published;
  all.producer.publish({ n: 2 });
  expect((await second).value).toEqual({ n: 2 });
  await events.return();
});

test("its signal ends the loop quietly, while it waits and before it is open", async () => {
  await using all = await rig();
  const abort = new AbortController();
  const got: Tick[] = [];
  const loop = (async () => {
    for await (const event of all.channel.events({ signal: abort.signal })) got.push(event);
  })();
  await expect.poll(() => all.producer.demand.total).toBe(1);
  all.producer.publish({ n: 1 });
  await expect.poll(() => got).toEqual([{ n: 1 }]);
  abort.abort();
  await loop;
  for await (const _ of all.channel.events({ signal: abort.signal })) expect.unreachable();
  await expect.poll(() => all.producer.demand.total).toBe(0);
});

test("a session that is closed ends the loop, and what refuses or ends the consumer is thrown", async () => {
  await using all = await rig();
  const loop = (async () => {
    for await (const _ of all.channel.events());
  })();
  await expect.poll(() => all.producer.demand.total).toBe(1);
  const failing = (async () => {
    const modulator = modulatorFrom(() => nothing);
    for await (const _ of all.channel.events({ modulator }));
  })();
  const failed = expect(failing).rejects.toThrow(/nothing'? is not defined/);
  await expect.poll(() => all.producer.demand.total).toBe(2);
  all.producer.publish({ n: 2 });
  await failed;
  await expect(all.channel.events({ nope: 1 } as never).next()).rejects.toThrow(JechoError);
  await all.session.close();
  await loop;
});

declare const nothing: boolean;
