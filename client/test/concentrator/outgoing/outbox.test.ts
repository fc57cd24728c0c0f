import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { Link } from "../../../src/concentrator/link.ts";
import type { MessageMemory } from "../../../src/concentrator/outgoing/message-memory.ts";
import { Outbox } from "../../../src/concentrator/outgoing/outbox.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test("DEL-3: of what was sent the memory is kept of what is not confirmed", async () => {
  const link: Partial<Link> = { isLive: true, sendMessage: () => true };
  const outbox = new Outbox(link as Link, {} as MessageMemory);
  const memory = Array.from({ length: 1000 }, () => {
    const bytes = new Uint8Array(1 << 12);
    outbox.send([bytes], []);
    return new WeakRef(bytes.buffer);
  });
  outbox.taken(990);
  // What a WeakRef has shown lives until the end of the turn.
  await setImmediate();
  collect();
  expect(memory.filter(ref => ref.deref() !== undefined)).toHaveLength(10);
  expect(outbox.isEmpty).toBe(false);
});
