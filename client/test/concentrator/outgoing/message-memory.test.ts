import { type Session, type } from "@jecho/client";
import { expect, test } from "vitest";
import { MessageMemory } from "../../../src/concentrator/outgoing/message-memory.ts";
import { Inbox, startRig } from "../../rig.ts";

test("memory that is given back is taken again, of its size and whatever is in it", () => {
  const memory = new MessageMemory();
  const first = memory.take(100_000).fill(7);
  expect(memory.take(100_000).buffer).not.toBe(first.buffer);
  memory.giveBack(first);
  expect(memory.take(300_000).buffer).not.toBe(first.buffer);
  const again = memory.take(120_000);
  expect(again.buffer).toBe(first.buffer);
  expect([again.byteLength, again[0]]).toEqual([120_000, 7]);
  expect(memory.take(100_000).buffer).not.toBe(first.buffer);
});

test("what is short, too long or not of it is left to the engine, and so is more than is under way at one time", () => {
  const memory = new MessageMemory();
  for (const bytes of [1000, 4000, 5 << 20]) {
    const taken = memory.take(bytes);
    memory.giveBack(taken);
    expect(memory.take(bytes).buffer).not.toBe(taken.buffer);
  }
  const foreign = new Uint8Array(1 << 17);
  memory.giveBack(foreign);
  expect(memory.take(1 << 17).buffer).not.toBe(foreign.buffer);
  const many = Array.from({ length: 20 }, () => memory.take(1 << 20));
  for (const taken of many) memory.giveBack(taken);
  const again = new Set(Array.from({ length: 20 }, () => memory.take(1 << 20).buffer));
  expect(many.filter(({ buffer }) => again.has(buffer))).toHaveLength(8);
});

const Block = type("Block", { n: "uint32", payload: "uint32[]" });
const EVENTS = 12_000;

interface BlockEvent {
  readonly n: number;
  readonly payload: ArrayLike<number>;
}

/** Is it the very event that was raised? */
function isWhole({ n, payload }: BlockEvent): boolean {
  for (let i = 0; i < payload.length; i++) if (payload[i] !== n) return false;
  return payload.length === 250;
}

const SOURCE = `import { FifoModulator } from "jecho:moe";
  export default class Even extends FifoModulator {
    static keepsEvents = false;
    enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }
  }`;

test.each([
  ["here", { trusted: [SOURCE] }],
  ["in a host", { local: false }],
])(
  "events of many messages arrive whole as they are and through a modulator %s, and stay so for who keeps them",
  async (_, modulators) => {
    await using rig = await startRig();
    const own = rig.session({ modulators });
    const queue = { whenFull: "block" } as const;
    const producer = await own.channel("blocks", Block).produce({ queue: { whenFull: "block" } });
    const whole = async (session: Session, modulated: boolean): Promise<Inbox<BlockEvent>> => {
      const inbox = new Inbox<BlockEvent>();
      const options = modulated ? { modulator: { source: SOURCE }, queue } : { queue };
      await session.channel("blocks", Block).subscribe(inbox.put, options);
      return inbox;
    };
    const elsewhere = [await whole(rig.session(), false), await whole(rig.session(), true)] as const;
    const raise = async (from: number, to: number): Promise<void> => {
      for (let n = from; n < to; n++) {
        producer.publish({ n, payload: new Uint32Array(250).fill(n) });
        // Some hundred in one message, whose memory is there for the next one then.
        if (n % 200 === 199) await own.flush();
      }
    };
    const half = EVENTS / 2;
    await raise(0, half);
    // From here on there are consumers in this process, too.
    const here = [await whole(own, false), await whole(own, true)] as const;
    await raise(half, EVENTS);
    for (const [inbox, from, step] of [
      [elsewhere[0], 0, 1],
      [elsewhere[1], 0, 2],
      [here[0], half, 1],
      // It may begin with what the modulator still had before it.
      [here[1], undefined, 2],
    ] as const) {
      await expect.poll(() => inbox.all.at(-1)?.n).toBe(EVENTS - step);
      const first = from ?? (inbox.all[0] as BlockEvent).n;
      expect(inbox.all.map(({ n }) => n)).toEqual(
        Array.from({ length: (EVENTS - first) / step }, (_, i) => first + step * i),
      );
      expect(inbox.all.filter(event => !isWhole(event)).map(({ n }) => n)).toEqual([]);
    }
  },
);
