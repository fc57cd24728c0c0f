import type { Producer } from "@jecho/client";

/** Asynchronous events between two synchronous ones. */
const BURST = 1023;
/** Bursts that may be under way. */
const BURSTS = 3;

export interface Published {
  readonly events: number;
  readonly usPerEvent: number;
}

/**
 * As fast as they go, until the last has been handled by everyone: each burst ends with a synchronous event, whose
 * acknowledgement makes room for another. This bounded window is the only thing that holds a producer back.
 *
 * @param next what the next event goes to; asked once for each event
 */
export async function publishFlatOut(
  next: () => Producer<Uint8Array>,
  ordinary: Uint8Array,
  awaited: Uint8Array,
  ms: number,
): Promise<Published> {
  const start = performance.now();
  let events = 0;
  const under: Promise<unknown>[] = [];
  while (performance.now() - start < ms) {
    for (let i = 0; i < BURST; i++) next().publish(ordinary);
    under.push(next().publishSync(awaited, { timeoutMs: 30_000 }));
    events += BURST + 1;
    if (under.length >= BURSTS) await under.shift();
  }
  await Promise.all(under);
  return published(events, start);
}

export async function publishInTurn(
  producer: Producer<Uint8Array>,
  event: Uint8Array,
  ms: number,
): Promise<Published> {
  const start = performance.now();
  let events = 0;
  while (performance.now() - start < ms) {
    await producer.publishSync(event, { timeoutMs: 30_000 });
    events++;
  }
  return published(events, start);
}

function published(events: number, start: number): Published {
  return { events, usPerEvent: (1000 * (performance.now() - start)) / events };
}
