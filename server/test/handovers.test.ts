import { createGateway } from "@jecho/server";
import { encodeControl, encodeRun, FROM, PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

test("HAND-1, OBJ-11: a second device that goes before the first has answered takes no master copy with it", async () => {
  await using gateway = await createGateway();
  using first = await RawClient.connect(gateway);
  using other = await RawClient.connect(gateway);
  const opening = {
    kind: "OpenObject",
    request: 1,
    object: "view",
    lazy: false,
    term: 0,
    state: "{}",
  } as const;
  first.send(encodeControl({ ...opening, version: 1 }));
  const { copy } = await first.next("CopyUpdate");
  other.send(encodeControl({ ...opening, version: 0 }));
  expect(await other.next("CopyUpdate")).toMatchObject({ master: false });
  first.send(encodeControl({ kind: "AskHandover", request: 2 }));
  const { token } = await first.next("HandoverToken");
  const second = await RawClient.connect(gateway, false);
  second.send(encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "second", handover: token }));
  const { request } = await first.next("Yield");
  second[Symbol.dispose]();
  await expect.poll(() => gateway.stats().connections).toBe(2);
  first.send(encodeControl({ kind: "Yielded", request, places: [], copies: [copy] }));
  expect(await other.next("CopyUpdate")).toMatchObject({ master: true, term: 2 });
});

test("HAND-1: a first device that has had no event yet hands over all that came meanwhile", async () => {
  await using gateway = await createGateway();
  using producing = await RawClient.connect(gateway);
  using first = await RawClient.connect(gateway);
  const schema = new Uint8Array(0);
  const opening = { request: 1, channel: "a", schema } as const;
  producing.send(encodeControl({ kind: "OpenProducer", modulates: false, ...opening }));
  const { channel, producer } = await producing.next("ProducerOpened");
  first.send(encodeControl({ kind: "OpenConsumer", modulator: undefined, ...opening }));
  const { consumer, epoch } = await first.next("ConsumerOpened");
  first.send(encodeControl({ kind: "AskHandover", request: 2 }));
  const { token } = await first.next("HandoverToken");
  const header = { channel, producer, raised: 0, token: 0n, parameters: 0, flags: 0 };
  const event = { bytes: new Uint8Array(8), start: 0, end: 8 };
  producing.send(encodeRun(header, [event, event]));
  expect(await first.next("Events")).toMatchObject({ count: 2, seq: 1 });
  using second = await RawClient.connect(gateway, false);
  second.send(encodeControl({ kind: "Hello", protocol: PROTOCOL, name: "second", handover: token }));
  const { request } = await first.next("Yield");
  // They were on their way to it.
  const places = [{ consumer, epoch, seq: 0n, sources: [], label: "" }];
  first.send(encodeControl({ kind: "Yielded", request, places, copies: [] }));
  const { subscriptions } = await second.next("Inheritance");
  expect(subscriptions).toMatchObject([{ epoch, seq: 0n }]);
  const from = { from: FROM.resume, at: 0, epoch, seq: 0n, speed: 0 };
  second.send(encodeControl({ kind: "OpenConsumer", modulator: undefined, ...opening, from }));
  expect(await second.next("ConsumerOpened")).toMatchObject({ seq: 1n, recovered: true, missing: 0n });
  expect(await second.next("Events")).toMatchObject({ count: 2, seq: 1 });
});
