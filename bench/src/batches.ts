/** Does something for each, so many at once: thousands of requests wait for each other only a batch at a time. */
export async function inBatches<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  atOnce = 256,
): Promise<R[]> {
  const results: R[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    results.push(...(await Promise.all(items.slice(from, from + atOnce).map(work))));
  return results;
}
