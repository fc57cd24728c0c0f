import { type EventInfo, type JechoError, type } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick, whenState } from "./rig.ts";

test("CHAN-4, CHAN-3: events arrive in the order in which they were raised, numbered without gaps", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<[number, EventInfo]>();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }, info) => inbox.put([n, info]));
  const producer = await rig.session().channel("a", Tick).produce();
  for (let n = 0; n < 10_000; n++) producer.publish({ n, note: "x".repeat(n % 50) });
  const received = await inbox.take(10_000);
  expect(received.map(([n]) => n)).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
  const first = (received[0] as [number, EventInfo])[1].seq;
  expect(received.map(([, { seq }]) => seq - first)).toEqual(Array.from({ length: 10_000 }, (_, n) => n));
});

test("what was raised in one turn goes out as few frames", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<number>();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n));
  const producer = await rig.session().channel("a", Tick).produce();
  for (let n = 0; n < 1000; n++) producer.publish({ n, note: "" });
  await inbox.take(1000);
  // One frame would take 96 bytes and 44 for each event; a thousand of them 152,000.
  expect(consumer.stats.bytes).toBeLessThan(60_000);
});

test("CON-2: a thousand channels share one connection", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<string>();
  const consumers = rig.session();
  const names = Array.from({ length: 1000 }, (_, n) => `many/${n}`);
  await Promise.all(
    names.map(name => consumers.channel(name, Tick).subscribe(({ note }) => inbox.put(note))),
  );
  const producing = rig.session();
  const producers = await Promise.all(names.map(name => producing.channel(name, Tick).produce()));
  producers.forEach((producer, n) => void producer.publish({ n, note: names[n] as string }));
  expect((await inbox.take(1000)).toSorted()).toEqual(names.toSorted());
  expect(rig.gateway.stats()).toMatchObject({ connections: 2, channels: 1000 });
});

test("CHAN-5: consumers in the producer's own process get events without the wire, those elsewhere once", async () => {
  await using rig = await startRig();
  const here = rig.session();
  const inboxes = [new Inbox<number>(), new Inbox<number>()] as const;
  const elsewhere = new Inbox<number>();
  for (const inbox of inboxes) await here.channel("a", Tick).subscribe(({ n }) => inbox.put(n));
  const producer = await here.channel("a", Tick).produce();
  producer.publish({ n: 1, note: "" });
  expect(await Promise.all(inboxes.map(inbox => inbox.take(1)))).toEqual([[1], [1]]);
  const other = rig.session();
  const twins = await Promise.all(
    [1, 2].map(() => other.channel("a", Tick).subscribe(({ n }) => elsewhere.put(n))),
  );
  await expect.poll(() => producer.demand.total).toBe(4);
  producer.publish({ n: 2, note: "" });
  expect(await elsewhere.take(2)).toEqual([2, 2]);
  expect(twins.map(twin => twin.stats.events)).toEqual([1, 1]);
  expect(inboxes.map(inbox => inbox.all)).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test("CHAN-6: a producer knows whether anybody listens", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  expect(producer.demand.total).toBe(0);
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(() => {});
  await expect.poll(() => producer.demand.consumers).toBe(1);
  await consumer.close();
  await expect.poll(() => producer.demand.consumers).toBe(0);
});

test("untyped channels carry bytes", async () => {
  await using rig = await startRig();
  const inbox = new Inbox<number[]>();
  await rig
    .session()
    .channel("bytes")
    .subscribe(bytes => inbox.put([...bytes]));
  const producer = await rig.session().channel("bytes").produce();
  producer.publish(Uint8Array.of(1, 2, 3));
  expect(await inbox.take(1)).toEqual([[1, 2, 3]]);
  expect(() => producer.publish("text" as never)).toThrowError(
    expect.objectContaining({ code: "EVENT_INVALID" }),
  );
});

test("TYPE-2, TYPE-3: a consumer of an older type reads a newer one's events by name", async () => {
  await using rig = await startRig();
  const Newer = type("Tick", { extra: "float32[]", note: "string", n: "uint16" });
  const producer = await rig.session().channel("a", Newer).produce();
  const inbox = new Inbox<typeof Tick.event>();
  await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n, note }) => inbox.put({ n, note }));
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ extra: Float32Array.of(1), note: "new", n: 3 });
  expect(await inbox.take(1)).toEqual([{ n: 3, note: "new" }]);
});

test("TYPE-3, TYPE-5: types that cannot be matched are refused at open, at the one who opens", async () => {
  await using rig = await startRig();
  const producer = await rig.session().channel("a", Tick).produce();
  const session = rig.session();
  const Other = type("Other", { n: "string" });
  await expect(session.channel("a", Other).subscribe(() => {})).rejects.toMatchObject({
    code: "TYPE_MISMATCH",
    message: expect.stringMatching(/"n".*Tick.*Other/),
  });
  await expect(session.channel("a").produce()).rejects.toMatchObject({ code: "TYPE_MISMATCH" });
  const inbox = new Inbox<number>();
  await session.channel("a", Tick).subscribe(({ n }) => inbox.put(n));
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 5, note: "" });
  expect(await inbox.take(1)).toEqual([5]);
});

test("CHAN-1: bad names are refused where they are asked for", async () => {
  await using rig = await startRig();
  const session = rig.session();
  expect(() => session.channel("../x")).toThrowError(
    expect.objectContaining({ code: "CHANNEL_NAME_INVALID" }),
  );
  expect(() => session.channel("jecho://~elsewhere/x")).toThrowError(
    expect.objectContaining({ code: "CHANNEL_NAME_INVALID" }),
  );
  expect(session.channel(`jecho://${rig.gateway.address}/x/y`).name).toBe(
    `jecho://${rig.gateway.address}/x/y`,
  );
});

test("a handler that throws is told to its owner and the next event comes all the same", async () => {
  await using rig = await startRig();
  const errors = new Inbox<JechoError>();
  const inbox = new Inbox<number>();
  const handler = ({ n }: typeof Tick.event): void => {
    if (n === 1) throw new Error("no ones");
    inbox.put(n);
  };
  await rig.session().channel("a", Tick).subscribe(handler, { onError: errors.put });
  const producer = await rig.session().channel("a", Tick).produce();
  for (const n of [0, 1, 2]) producer.publish({ n, note: "" });
  expect(await inbox.take(2)).toEqual([0, 2]);
  expect(errors.all).toMatchObject([{ message: "no ones" }]);
});

test("closed things say so", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const producer = await session.channel("a", Tick).produce();
  const consumer = await session.channel("a", Tick).subscribe(() => {});
  await producer.close();
  expect(() => producer.publish({ n: 1, note: "" })).toThrowError(
    expect.objectContaining({ code: "CLOSED" }),
  );
  await consumer.close();
  await expect(consumer.reset({})).rejects.toMatchObject({ code: "CLOSED" });
  await session.close();
  expect(session.status.state).toBe("closed");
  await expect(session.channel("a", Tick).produce()).rejects.toMatchObject({ code: "CLOSED" });
});

test("an aborted signal ends what waits and what is open", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const reason = new Error("enough");
  await expect(
    session.channel("a", Tick).subscribe(() => {}, { signal: AbortSignal.abort(reason) }),
  ).rejects.toBe(reason);
  const controller = new AbortController();
  const consumer = await session.channel("a", Tick).subscribe(() => {}, { signal: controller.signal });
  controller.abort();
  await whenState(consumer, "closed");
});

test("CON-4: when the gateway is started again, endpoints open again by themselves", async () => {
  await using rig = await startRig();
  const { port } = rig.gateway;
  const inbox = new Inbox<number>();
  const producing = rig.session();
  const consumer = await rig
    .session()
    .channel("a", Tick)
    .subscribe(({ n }) => inbox.put(n));
  const producer = await producing.channel("a", Tick).produce();
  producer.publish({ n: 1, note: "" });
  await inbox.take(1);
  const interrupted = whenState(consumer, "reconnecting");
  await rig.gateway.close();
  await interrupted;
  await using again = await startRig({ port });
  expect(again.gateway.port).toBe(port);
  await whenState(consumer, "live");
  await expect.poll(() => producer.demand.total).toBe(1);
  producer.publish({ n: 2, note: "" });
  expect(await inbox.take(2)).toEqual([1, 2]);
});
