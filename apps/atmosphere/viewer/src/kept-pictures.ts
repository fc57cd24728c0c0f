/** The last picture of each view, kept by the browser: a start without a connection shows that, with its date, and not nothing. */
import type { SavedPicture } from "./drawing/picture.ts";

export interface KeptPicture {
  readonly picture: SavedPicture;
  /** When it was seen, as `Date.now()` gives it. */
  readonly at: number;
}

const CACHE = "pictures";
const ABOUT = "x-about";

/** Keeps the picture of one part of the page in the place of the one before. */
export async function keepPicture(part: string, { picture, at }: KeptPicture): Promise<void> {
  const { values, ...about } = picture;
  const headers = { [ABOUT]: JSON.stringify({ about, at }) };
  await withCache(cache => cache.put(keyOf(part), new Response(new Float32Array(values), { headers })));
}

/** Undefined where none was kept. */
export function keptPicture(part: string): Promise<KeptPicture | undefined> {
  return withCache(async cache => {
    const kept = await cache.match(keyOf(part));
    const text = kept?.headers.get(ABOUT);
    if (kept === undefined || !text) return undefined;
    const { about, at } = JSON.parse(text) as { about: Omit<SavedPicture, "values">; at: number };
    const values = new Float32Array(await kept.arrayBuffer());
    const isWhole = values.length === about.geometry.columns * about.geometry.rows;
    return isWhole ? { picture: { ...about, values }, at } : undefined;
  });
}

function keyOf(part: string): string {
  return `/kept/${encodeURIComponent(part)}`;
}

/** Uses the cache; undefined where the browser keeps nothing for the page. */
async function withCache<T>(use: (cache: Cache) => Promise<T>): Promise<T | undefined> {
  try {
    return await use(await caches.open(CACHE));
  } catch {
    return undefined;
  }
}
