/**
 * What the person in front of the page has chosen, kept for this tab: for when it is loaded again, as phones do with pages that
 * nobody looked at for a while, or comes back from another page.
 */
import { type KeptView, readLook, readView } from "./handed-page.ts";
import type { Look } from "./look.ts";
import type { ViewKind } from "./views/arrangement.ts";

const LOOK = "atmosphere.look";
const VIEW = "atmosphere.view.";
const COLOURS = "atmosphere.colours";

/** @param label what the status' subscription is called */
export function keepLook(label: string): void {
  write(() => sessionStorage, LOOK, label);
}

export function keptLook(): Partial<Look> {
  return readLook(read(() => sessionStorage, LOOK));
}

/** @param label what the view's subscription is called */
export function keepView(place: number, label: string): void {
  write(() => sessionStorage, VIEW + place, label);
}

/** The view that was in this place, if it was of this kind. */
export function keptView(place: number, kind: ViewKind): KeptView | undefined {
  const view = readView(read(() => sessionStorage, VIEW + place));
  return view?.kind === kind ? view : undefined;
}

/** Colours are a person's own: they are kept for all tabs to come. */
export function keepColours(name: string): void {
  write(() => localStorage, COLOURS, name);
}

export function keptColours(): string {
  return read(() => localStorage, COLOURS);
}

/** Where a browser keeps nothing for the page, every page begins anew. */
function read(storage: () => Storage, key: string): string {
  try {
    return storage().getItem(key) ?? "";
  } catch {
    return "";
  }
}

function write(storage: () => Storage, key: string, value: string): void {
  try {
    storage().setItem(key, value);
  } catch {}
}
