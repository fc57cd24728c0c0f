import { expect, test } from "vitest";
import { NatsCarrier, type SendPacket } from "../../src/cluster/nats-carrier.ts";
import { End } from "./joined.ts";

/** Longer than what may be under way waits for an answer. */
const LATER_MS = 2100;

/** Two ends, and a way between them that loses packets. @param loses whether it loses the one with this number, from 0 on */
function connected(loses: (packet: number) => boolean) {
  let sent = 0;
  const across = (to: () => NatsCarrier): SendPacket => {
    return (kind, count, parts) => {
      const bytes = Buffer.concat(parts);
      if (!loses(sent++)) queueMicrotask(() => to().packet(kind, count, bytes));
    };
  };
  const make = (other: () => NatsCarrier): NatsCarrier =>
    new NatsCarrier(
      across(other),
      () => 1000,
      () => {},
    );
  const near: NatsCarrier = make(() => far);
  const far: NatsCarrier = make(() => near);
  const [nearEnd, farEnd] = [new End(near), new End(far)];
  near.begin(nearEnd.events);
  far.begin(farEnd.events);
  return { near: nearEnd, far: farEnd, carriers: [near, far] as const };
}

const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

test("CLU-7: a message that is larger than NATS takes at once comes whole", async () => {
  const { near, far } = connected(() => false);
  const message = Uint8Array.from({ length: 5000 }, (_, i) => i);
  near.carrier.send([message]);
  await settled();
  expect(far.messages).toEqual([message]);
});

test("CLU-7: when a packet is lost both sides end before anything behind it is handed on", async () => {
  const { near, far } = connected(packet => packet === 1);
  for (let i = 0; i < 5; i++) near.carrier.send([new Uint8Array(900).fill(i)]);
  await settled();
  expect(far.messages.map(([first]) => first)).toEqual([0]);
  expect([near.hasEnded, far.hasEnded]).toEqual([true, true]);
});

test("CLU-7: that the last packet was lost is found by a question", async () => {
  const { near, far, carriers } = connected(packet => packet === 0);
  near.carrier.send([Uint8Array.of(1)]);
  await settled();
  expect([near.hasEnded, far.hasEnded]).toEqual([false, false]);
  carriers[0].look(performance.now() + LATER_MS);
  await settled();
  expect([near.hasEnded, far.hasEnded]).toEqual([true, true]);
});

test("CLU-7: where all has come the same question ends nothing", async () => {
  const { near, far, carriers } = connected(() => false);
  near.carrier.send([Uint8Array.of(1)]);
  await settled();
  carriers[0].look(performance.now() + LATER_MS);
  await settled();
  for (const carrier of carriers) carrier.look(performance.now() + LATER_MS);
  await settled();
  expect([near.hasEnded, far.hasEnded]).toEqual([false, false]);
});

test("CLU-7: a carrier whose other side answers nothing any more ends", async () => {
  const { near, carriers } = connected(() => true);
  const begun = performance.now() + LATER_MS;
  for (let look = 0; look < 20; look++) carriers[0].look(begun + 100 * look);
  await settled();
  expect(near.hasEnded).toBe(false);
  for (let look = 20; look < 30; look++) carriers[0].look(begun + 100 * look);
  await settled();
  expect(near.hasEnded).toBe(true);
});

test("CLU-7: a gateway that itself stood still does not take the other side for gone", async () => {
  const { near, carriers } = connected(packet => packet === 0);
  const begun = performance.now() + LATER_MS;
  carriers[0].look(begun);
  // The answer waits in its socket, and timers come first.
  carriers[0].look(begun + 10 * LATER_MS);
  await settled();
  for (let look = 1; look < 30; look++) carriers[0].look(begun + 10 * LATER_MS + look);
  await settled();
  expect(near.hasEnded).toBe(false);
});
