/** Which views the page shows, and in what grid. */

const KINDS = ["map", "globe", "section"] as const;
export type ViewKind = (typeof KINDS)[number];

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
  const kinds = wanted.filter(name => KINDS.some(kind => kind === name));
  if (kinds.length === 0) return { kinds: KINDS, gridTemplate: undefined };
  const shown = kinds.slice(0, MOST_VIEWS) as ViewKind[];
  const columns = Math.ceil(Math.sqrt(shown.length));
  const rows = Math.ceil(shown.length / columns);
  const tracks = (count: number): string => `repeat(${count}, minmax(0, 1fr))`;
  return { kinds: shown, gridTemplate: `${tracks(rows)} / ${tracks(columns)}` };
}
