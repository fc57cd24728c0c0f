import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { encodeRun, type Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { TrackedSource } from "../../../src/concentrator/incoming/tracked-source.ts";
import type { Link } from "../../../src/concentrator/link.ts";
import { Coverage, type Lane, Lanes } from "../../../src/concentrator/outgoing/lane.ts";
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

test("DEL-3, PROV-5: of what nobody confirms modulators' output is kept up to 16 MiB and a message, and told beyond; producers' events are not dropped here", () => {
  const told: Outgoing[] = [];
  const link: Partial<Link> = { isLive: true, limitBytes: 16 << 20, sendMessage: () => true };
  link.send = message => told.push(message) > 0;
  const outbox = new Outbox(link as Link, {} as MessageMemory);
  const lane = (coverage?: Coverage): Lane => {
    const { usual } = new Lanes();
    usual.address(1, 1);
    usual.isPlaced = true;
    usual.coverage = coverage;
    return usual;
  };
  const made = lane(new Coverage(new TrackedSource(7n, false), 0));
  const event = new Uint8Array(1 << 20);
  const send = (of: Lane, raised: number): boolean => {
    const of7 = of === made && { after: raised - 1, through: raised };
    const header = { channel: 1, producer: 1, raised, token: 0n, parameters: 0, flags: 0, ...of7 };
    const run = encodeRun(header, [{ bytes: event, start: 0, end: event.byteLength }]);
    return outbox.gather(run, [{ lane: of, raised, after: raised - 1 }], false);
  };
  let raised = 0;
  while (raised < 32) expect(send(made, ++raised)).toBe(true);
  expect(send(made, ++raised)).toBe(false);
  expect(told).toMatchObject([{ kind: "Position", raised: 33n, after: 33n, through: 33n }]);
  expect(send(lane(), 1)).toBe(true);
  outbox.taken(2);
  expect(send(made, ++raised)).toBe(true);
  expect(told).toHaveLength(1);
});
