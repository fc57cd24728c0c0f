import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";

const SESSIONS = 200;
const Block = type("Block", { n: "uint32", payload: "uint8[]" });
/** More than one consumer is sent in one turn, of a past that many ask for at once. */
const PAYLOAD = new Uint8Array(16 << 10);
const EVENTS = 30;

test("CON-6, HIST-5: hundreds of sessions come back to a gateway that is started again, and each gets its past, in order", async () => {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  const historyFile = join(folder, "history.sqlite");
  let gateway = await createGateway({ historyFile });
  const { port, address } = gateway;
  const quick = { place: "here", backoff: { firstMs: 20, mostMs: 100 } } as const;
  const sessions = Array.from({ length: SESSIONS }, (_, i) =>
    connect(address, { ...quick, name: `viewer ${i}` }),
  );
  await using producing = connect(address, { ...quick, name: "producer" });
  try {
    const seen: number[][] = sessions.map(() => []);
    const consumers = await Promise.all(
      sessions.map((session, i) => session.channel("a", Block).subscribe(({ n }) => void seen[i]?.push(n))),
    );
    const producer = await producing.channel("a", Block).produce({ history: { events: 2 * EVENTS } });
    await gateway.close();
    await expect.poll(() => producing.status.state).toBe("reconnecting");
    for (let n = 0; n < EVENTS; n++) producer.publish({ n, payload: PAYLOAD });
    gateway = await createGateway({ port, historyFile });
    await expect.poll(() => seen.every(({ length }) => length >= EVENTS)).toBe(true);
    for (const numbers of seen) expect(numbers).toEqual(Array.from({ length: EVENTS }, (_, n) => n));
    expect(consumers.every(({ stats }) => stats.missed === 0)).toBe(true);
    await expect.poll(() => consumers.every(({ status }) => status.state === "live")).toBe(true);
  } finally {
    await Promise.all(sessions.map(session => session.close()));
    await producing.close();
    await gateway.close();
    await rm(folder, { recursive: true });
  }
});
