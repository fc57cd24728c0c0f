/** Views that the page shows, and the grid that they are in. */

export const VIEW_KINDS = ["map", "globe", "section"] as const;
export type ViewKind = (typeof VIEW_KINDS)[number];

const MOST_VIEWS = 16;

export interface Arrangement {
  readonly kinds: readonly ViewKind[];
  /** The grid's, as CSS has it; undefined for the usual three, which the style sheet places. */
  readonly gridTemplate: string | undefined;
}

/**
 * `?views=map,map,section` shows these, at most 16, each with a view and a modulator of its own; a page without that shows one of each
 * kind. What is no kind of view is left out.
 */
export function arrangementOf(search: string): Arrangement {
  const wanted = new URLSearchParams(search).get("views")?.split(",") ?? [];
  const kinds = wanted.filter(name => VIEW_KINDS.some(kind => kind === name));
  if (kinds.length === 0) return { kinds: VIEW_KINDS, gridTemplate: undefined };
  return arrange(kinds.slice(0, MOST_VIEWS) as ViewKind[]);
}

/** These views, in this order. */
export function arrange(kinds: readonly ViewKind[]): Arrangement {
  const isUsual = kinds.length === VIEW_KINDS.length && kinds.every((kind, i) => kind === VIEW_KINDS[i]);
  if (isUsual) return { kinds, gridTemplate: undefined };
  const columns = Math.ceil(Math.sqrt(kinds.length));
  const rows = Math.ceil(kinds.length / columns);
  const tracks = (count: number): string => `repeat(${count}, minmax(0, 1fr))`;
  return { kinds, gridTemplate: `${tracks(rows)} / ${tracks(columns)}` };
}
