/** The colours that somebody chose are that person's own: they are kept for all tabs to come. */
const COLOURS = "atmosphere.colours";

/** Name of the kept colours; "", for the usual ones, where the browser keeps nothing for the page. */
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
