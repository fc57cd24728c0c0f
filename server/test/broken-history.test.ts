import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createGateway } from "@jecho/server";
import { Type } from "@jecho/shared";
import { encodeControl } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "./raw-client.ts";

const schema = new Uint8Array(0);
const modulator = { source: "", parameters: "", key: "", objects: [], capabilities: [], compares: false };
const history = { events: 100, seconds: 0, latest: false, onDemand: true };

/** Opens a producer, and a consumer with a modulator; both are at their events when this resolves. */
async function open(gateway: Awaited<ReturnType<typeof createGateway>>): Promise<Disposable> {
  const producer = await RawClient.connect(gateway);
  const opening = { kind: "OpenProducer", request: 1, channel: "a", modulates: true, history } as const;
  producer.send(
    encodeControl({ ...opening, schema: Type.fromFbs("table Count { n: uint32; } root_type Count;").schema }),
  );
  await producer.next("ProducerOpened");
  const consumer = await RawClient.connect(gateway);
  consumer.send(encodeControl({ kind: "OpenConsumer", request: 1, channel: "a", schema, modulator }));
  const { request, derived } = await producer.next("Install");
  producer.send(encodeControl({ kind: "Installed", request, derived, schema, needs: [], reads: schema }));
  await consumer.next("ConsumerOpened");
  return {
    [Symbol.dispose]: () => {
      producer[Symbol.dispose]();
      consumer[Symbol.dispose]();
    },
  };
}

test.for(["UPDATE types SET schema = x'00'"])(
  "HIST-5: what a file has become unreadable by (%s) keeps nobody from live events, and is told",
  async breaking => {
    const folder = await mkdtemp(join(tmpdir(), "jecho-"));
    const historyFile = join(folder, "history.sqlite");
    const lines: string[] = [];
    try {
      {
        await using first = await createGateway({ historyFile });
        using _ = await open(first);
      }
      const database = new DatabaseSync(historyFile);
      database.exec(breaking);
      database.close();
      await using second = await createGateway({ historyFile, log: line => lines.push(line) });
      using _ = await open(second);
      expect(lines).toEqual([expect.stringContaining("history is not kept any more")]);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
);
