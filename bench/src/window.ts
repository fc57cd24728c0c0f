import type { Producer } from "@jecho/client";

/** Asynchronous events between two synchronous ones. */
const BURST = 1023;
/** Bursts that may be under way. */
const BURSTS = 3;
/** Events of a first round, before it is known how long one takes. */
const FIRST_EVENTS = 1 << 16;

export interface Published {
  readonly events: number;
  readonly usPerEvent: number;
}

/** So many events take about that long, by what the round before them took. */
export function eventsIn(ms: number, before: Published | undefined): number {
  return before === undefined ? FIRST_EVENTS : Math.ceil((1000 * ms) / before.usPerEvent);
}

/**
 * So many events as fast as the library takes them, until the last has been handled by everyone: it is the only one that is waited
 * for. What holds the producer back is what holds back any user's: consumers that do not keep up, and have it wait.
 *
 * @param next what the next event goes to; asked once for each event
 * @param last the synchronous event at the end
 */
export async function publishFlatOut(
  next: () => Producer<Uint8Array>,
  ordinary: Uint8Array,
  last: Uint8Array,
  events: number,
): Promise<Published> {
  const start = performance.now();
  for (let i = 1; i < events; i++) {
    const producer = next();
    if (!producer.isReady) await producer.ready();
    producer.publish(ordinary);
  }
  await next().publishSync(last, { timeoutMs: 60_000 });
  return published(events, start);
}

/**
 * As fast as acknowledgements allow: each burst ends with a synchronous event, and when everyone has handled that, there is room for
 * another. This bounded window is the only thing that holds a producer back.
 *
 * @param next as above
 */
export async function publishAcknowledged(
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
