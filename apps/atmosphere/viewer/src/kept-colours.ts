/** The colours that somebody chose are that person's own: they are kept for all tabs to come. */
const COLOURS = "atmosphere.colours";

/** Where a browser keeps nothing for the page, every page begins with the usual ones. */
export function keptColours(): string {
  try {
    return localStorage.getItem(COLOURS) ?? "";
  } catch {
    return "";
  }
}

export function keepColours(name: string): void {
  try {
    localStorage.setItem(COLOURS, name);
  } catch {}
}
