/** Enters something as the newest of at most so many: beyond that the oldest is forgotten. */
export function keepNewest<K, V>(entries: Map<K, V>, key: K, value: V, most: number): void {
  // Deleted first: a map's order is that in which its keys came.
  entries.delete(key);
  entries.set(key, value);
  if (entries.size > most) entries.delete(entries.keys().next().value as K);
}
