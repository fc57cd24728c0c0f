import type { Producer } from "@jecho/client";

/**
 * Resolves when the producer's modulators have this value of a shared object. An update is prompt, but comes another way than
 * the events: a program that counts what it let through has to wait for it, a viewer need not.
 */
export function viewKnown<T>(producer: Producer<T>, name: string, value: object): Promise<void> {
  const expected = JSON.stringify(value);
  const isKnown = (): boolean =>
    producer.demand.derived.some(({ objects }) => JSON.stringify(objects[name]) === expected);
  return new Promise(resolve => {
    if (isKnown()) return resolve();
    const stop = producer.onDemand(() => {
      if (!isKnown()) return;
      stop();
      resolve();
    });
  });
}
