import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type Gateway } from "@jecho/server";
import { encodeControl, encodeRun, FROM, type Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);
const modulator = { source: "", parameters: "", key: "", objects: [], capabilities: [], compares: false };
const history = { events: 100, seconds: 0, latest: false, onDemand: true };
const EVENTS = 3;

const installed = (request: number, derived: number): Uint8Array =>
  encodeControl({ kind: "Installed", request, derived, schema, needs: [], reads: schema });

async function produce(gateway: Gateway): Promise<RawClient & { readonly number: number }> {
  const producer = await RawClient.connect(gateway);
  producer.send(
    encodeControl({ kind: "OpenProducer", request: 1, channel: "a", schema, modulates: true, history }),
  );
  const { producer: number } = await producer.next("ProducerOpened");
  return Object.assign(producer, { number });
}

test("DEL-7, HIST-5: who is cut off again while its modulator is being installed at the next gateway finds its past there when it comes back", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  try {
    let place = { epoch: 0, seq: 0n };
    {
      await using first = await createGateway({ historyFile });
      using producer = await produce(first);
      using consumer = await RawClient.connect(first);
      consumer.send(encodeControl({ kind: "OpenConsumer", request: 1, channel: "a", schema, modulator }));
      const { request, derived } = await producer.next("Install");
      producer.send(installed(request, derived));
      const { epoch } = await consumer.next("ConsumerOpened");
      const events = Array.from({ length: EVENTS }, (_, i) => {
        const bytes = new Uint8Array([i, 0, 0, 0, 0, 0, 0, 0]);
        return { bytes, start: 0, end: bytes.byteLength };
      });
      const header = {
        channel: derived,
        producer: producer.number,
        raised: 1,
        token: 0n,
        parameters: 0,
        flags: 0,
      };
      producer.send(encodeRun(header, events));
      const { seq } = await consumer.next("Events");
      // It has handled the first of them.
      place = { epoch, seq: BigInt(seq) };
    }
    await using second = await createGateway({ historyFile });
    using producer = await produce(second);
    const from = { ...place, from: FROM.resume, at: 0, speed: 0 };
    const opening: Outgoing = { kind: "OpenConsumer", request: 1, channel: "a", schema, modulator, from };
    const cut = await RawClient.connect(second);
    cut.send(encodeControl(opening));
    const { request, derived } = await producer.next("Install");
    await cut.cut();
    producer.send(installed(request, derived));
    await producer.isAlive();
    using back = await RawClient.connect(second);
    back.send(encodeControl(opening));
    const opened = await back.next("ConsumerOpened");
    expect(opened).toMatchObject({ recovered: true, missing: 0n, channel: derived, seq: place.seq + 1n });
    expect(await back.next("Events")).toMatchObject({ channel: opened.replay, seq: 1, count: EVENTS });
  } finally {
    await rm(folder, { recursive: true });
  }
});
