import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fuzz, mutated } from "@jecho/e2e/fuzz";
import { createGateway, type Gateway } from "@jecho/server";
import { FROM } from "@jecho/shared/internal";
import { expect, onTestFinished, test } from "vitest";
import { encodedRun, RawClient } from "../raw-client.ts";

const SCHEMA = new Uint8Array(0);
const EVENTS = 100;

test("HIST-5, F27: a history file that is changed in any way is no reason not to start, and what is read of it is as it was", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-fuzz-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const good = join(folder, "good");
  {
    await using gateway = await createGateway({ historyFile: good });
    using client = await RawClient.connect(gateway);
    const history = { events: 0, seconds: 1e9, latest: false, onDemand: false, durable: false };
    client.say({ kind: "OpenProducer", request: 1, channel: "a", schema: SCHEMA, history });
    const { channel, producer } = await client.next("ProducerOpened");
    for (let raised = 1; raised <= EVENTS; raised++) {
      client.send(encodedRun({ channel, producer, raised }, new Uint8Array(64).fill(raised)));
    }
    await client.isAlive();
  }
  const whole = await readFile(good);
  {
    await copyFile(good, join(folder, "copy"));
    await using gateway = await createGateway({ historyFile: join(folder, "copy") });
    expect(await readBack(gateway)).toBe(EVENTS);
  }
  let files = 0;
  await fuzz("history file", 4, async dice => {
    const historyFile = join(folder, `file-${files++}`);
    await copyFile(good, historyFile);
    // A part alone is changed, or else hardly anything of it would be left to be read.
    const at = dice.below(whole.byteLength - 512);
    const part = mutated(dice, whole.subarray(at, at + 512));
    await writeFile(historyFile, Buffer.concat([whole.subarray(0, at), part, whole.subarray(at + 512)]));
    const gateway = await createGateway({ historyFile }).catch((error: { code: string }) => error);
    // Where nothing shows any more that a gateway made it, it is somebody else's.
    if (!("stats" in gateway)) {
      expect(gateway.code).toBe("ARGUMENT_INVALID");
      return 1;
    }
    await using _ = gateway;
    await readBack(gateway);
    return 1;
  });
});

/** Reads the past from its beginning, and compares each event with what was raised. @returns how many there are */
async function readBack(gateway: Gateway): Promise<number> {
  using client = await RawClient.connect(gateway);
  const from = { from: FROM.seq, epoch: 0, seq: 1n, at: 0, speed: 0 };
  client.say({ kind: "OpenConsumer", request: 1, channel: "a", schema: SCHEMA, from });
  const opened = () => client.frames.find(({ kind }) => kind === "ConsumerOpened" || kind === "Refused");
  await expect.poll(opened, { interval: 1 }).toBeDefined();
  const answer = opened();
  if (answer?.kind === "ConsumerOpened" && answer.replay !== 0) await client.next("Replayed");
  let events = 0;
  for (const frame of client.frames)
    if (frame.kind === "Events") {
      const event = frame.bytes.subarray(frame.eventStart(0), frame.eventStart(0) + 64);
      expect(event).toEqual(new Uint8Array(64).fill(frame.seq));
      events++;
    }
  return events;
}
