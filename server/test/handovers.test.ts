import { createGateway, createToken, createTokenKeys } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { FROM, PROTOCOL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "./raw-client.ts";

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
  first.say({ ...opening, version: 1 });
  const { copy } = await first.next("CopyUpdate");
  other.say({ ...opening, version: 0 });
  expect(await other.next("CopyUpdate")).toMatchObject({ master: false });
  first.say({ kind: "AskHandover", request: 2 });
  const { token } = await first.next("HandoverToken");
  const second = await RawClient.connect(gateway, false);
  second.say({ kind: "Hello", protocol: PROTOCOL, name: "second", handover: token });
  const { request } = await first.next("Yield");
  second[Symbol.dispose]();
  await expect.poll(() => gateway.stats().connections).toBe(2);
  first.say({ kind: "Yielded", request, places: [], copies: [copy] });
  expect(await other.next("CopyUpdate")).toMatchObject({ master: true, term: 2 });
});

test("HAND-1: a first device that has had no event yet hands over all that came meanwhile", async () => {
  await using gateway = await createGateway();
  using producing = await RawClient.connect(gateway);
  using first = await RawClient.connect(gateway);
  const schema = new Uint8Array(0);
  const opening = { request: 1, channel: "a", schema } as const;
  producing.say({ kind: "OpenProducer", modulates: false, ...opening });
  const { channel, producer } = await producing.next("ProducerOpened");
  first.say({ kind: "OpenConsumer", modulator: undefined, ...opening });
  const { consumer, epoch } = await first.next("ConsumerOpened");
  first.say({ kind: "AskHandover", request: 2 });
  const { token } = await first.next("HandoverToken");
  const event = new Uint8Array(8);
  producing.send(encodedRun({ channel, producer, raised: 0 }, event, event));
  expect(await first.next("Events")).toMatchObject({ count: 2, seq: 1 });
  using second = await RawClient.connect(gateway, false);
  second.say({ kind: "Hello", protocol: PROTOCOL, name: "second", handover: token });
  const { request } = await first.next("Yield");
  // They were on their way to it.
  const places = [{ consumer, epoch, seq: 0n, sources: [], label: "", sinceMs: 700 }];
  first.say({ kind: "Yielded", request, places, copies: [] });
  const { subscriptions } = await second.next("Inheritance");
  expect(subscriptions).toMatchObject([{ epoch, seq: 0n, sinceMs: 700 }]);
  const from = { from: FROM.resume, at: 0, epoch, seq: 0n, speed: 0 };
  second.say({ kind: "OpenConsumer", modulator: undefined, ...opening, from });
  expect(await second.next("ConsumerOpened")).toMatchObject({ seq: 1n, recovered: true, missing: 0n });
  expect(await second.next("Events")).toMatchObject({ count: 2, seq: 1 });
});

test("RIGHT-7: a session is handed over to its own subject alone, and another one's try changes nothing", async () => {
  const { signing, checking } = await createTokenKeys();
  const tokenOf = (subject: string) => createToken(signing, { subject, can: ["*:**"] });
  await using gateway = await createGateway({ tokens: { keys: checking } });
  using first = await RawClient.connect(gateway, await tokenOf("ana"));
  first.say({ kind: "AskHandover", request: 1 });
  const { token: handover } = await first.next("HandoverToken");
  const takes = async (subject: string): Promise<RawClient> => {
    const second = await RawClient.connect(gateway, false);
    second.say({ kind: "Hello", protocol: PROTOCOL, token: await tokenOf(subject), handover });
    return second;
  };
  using eve = await takes("eve");
  expect((await eve.closed).code).toBe(ERRORS.HANDOVER_INVALID[0]);
  using second = await takes("ana");
  const { request } = await first.next("Yield");
  first.say({ kind: "Yielded", request, places: [], copies: [] });
  await second.next("Inheritance");
});

test("RIGHT-7: the second device has its own rights: it gets no state of an object that it may not share, and is no master", async () => {
  const { signing, checking } = await createTokenKeys();
  const enter = async (subject: string, can: readonly string[], handover = ""): Promise<RawClient> => {
    const client = await RawClient.connect(gateway, false);
    const token = await createToken(signing, { subject, can });
    client.say({ kind: "Hello", protocol: PROTOCOL, token, handover });
    await client.next("Welcome");
    return client;
  };
  await using gateway = await createGateway({ tokens: { keys: checking } });
  using first = await enter("ana", ["subscribe:**", "modulate:**", "share:o", "handover:**"]);
  const schema = new Uint8Array(0);
  const objects = [{ name: "view", object: "o", version: 1, state: '{"secret":1}', lazy: false }];
  const modulator = { source: "", parameters: "", key: "", objects, capabilities: [], compares: false };
  first.say({ kind: "OpenConsumer", request: 1, channel: "a", schema, modulator });
  const { consumer, epoch } = await first.next("ConsumerOpened");
  first.say({ kind: "OpenObject", request: 2, object: "o", version: 1, state: '{"secret":1}' });
  const { copy } = await first.next("CopyUpdate");
  using other = await enter("bob", ["share:o"]);
  other.say({ kind: "OpenObject", request: 1, object: "o" });
  expect(await other.next("CopyUpdate")).toMatchObject({ master: false });
  first.say({ kind: "AskHandover", request: 3 });
  const { token } = await first.next("HandoverToken");
  using second = await enter("ana", ["subscribe:**"], token);
  const { request, asked } = await first.next("Yield");
  const places = [{ consumer, epoch, seq: 0n, sources: [], label: "", sinceMs: 0 }];
  first.say({ kind: "Yielded", request, asked, places, copies: [copy], objects: [] });
  const inherited = await second.next("Inheritance");
  expect(inherited.objects).toEqual([]);
  expect(inherited.subscriptions[0]?.modulator?.objects).toMatchObject([{ object: "o", state: "{}" }]);
  second.say({ kind: "ObjectUpdate", object: "o", version: 9, state: '{"by":"second"}' });
  await second.isAlive();
  expect(await other.next("CopyUpdate")).toMatchObject({ master: true, state: '{"secret":1}' });
});

test("CON-6, HAND-1: what a device said before it closed its connection in order is acted on, however much others ask", async () => {
  await using gateway = await createGateway();
  using first = await RawClient.connect(gateway);
  first.say({ kind: "AskHandover", request: 1 });
  const { token } = await first.next("HandoverToken");
  using second = await RawClient.connect(gateway, false);
  second.say({ kind: "Hello", protocol: PROTOCOL, name: "second", handover: token });
  const { request } = await first.next("Yield");
  // So much of it waits for later turns that the end of the connection is heard before.
  first.say(
    ...Array.from({ length: 100_000 }, (_, i) => ({ kind: "CloseEndpoint", endpoint: i + 1 }) as const),
  );
  first.say({ kind: "Yielded", request, places: [], copies: [] });
  first[Symbol.dispose]();
  expect(await second.next("Inheritance")).toMatchObject({ subscriptions: [] });
});
