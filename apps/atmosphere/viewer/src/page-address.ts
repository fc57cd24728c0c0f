/**
 * The page's address says where one looks: whoever opens it, or loads the page again, sees the same. Views that are as usual are left
 * out. `?hPa=150&lon=16.4&map=48.2,16.4,60&globe=48.2,16.4,2,alarm0.05&scale=0,8`
 */
import { LAYER_PRESSURES_HPA } from "../../src/model/layers.ts";
import { colourMap } from "./drawing/colour-map.ts";
import type { Range } from "./drawing/colour-range.ts";
import { clamp, normaliseLongitude } from "./drawing/projection.ts";
import type { Mode } from "./field-view.ts";
import { type Aim, type KeptView, readView } from "./handed-page.ts";
import { DETAILS, type Look } from "./look.ts";
import { VIEW_KINDS, type ViewKind } from "./views/arrangement.ts";

/** Scales that are held, by whose they are. */
export interface HeldScales {
  /** Scale of maps and globes. */
  readonly scale?: Range | undefined;
  readonly sectionScale?: Range | undefined;
}

type AddressLook = Pick<Look, "layer" | "longitude" | "colours" | "smooth">;

const SCALES = ["scale", "sectionScale"] as const;

/** So long it waits for more changes: browsers take no more than a few a second. */
const WRITE_MS = 400;

/** Keeps the address up to date with what is looked at. */
export class PageAddress {
  readonly #views: Map<number, KeptView>;
  #look: AddressLook | undefined;
  #scales: HeldScales = {};
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param views those that the page begins with, before each has said what it looks at */
  constructor(views: readonly KeptView[]) {
    this.#views = new Map(views.map(view => [view.place, view]));
  }

  setLook(look: AddressLook): void {
    this.#look = look;
    this.#change();
  }

  setScales(scales: HeldScales): void {
    this.#scales = scales;
    this.#change();
  }

  /** @param label what the view's subscription is called */
  setView(label: string): void {
    const view = readView(label);
    if (view === undefined) return;
    this.#views.set(view.place, view);
    this.#change();
  }

  /** Writes what has not been written yet. */
  readonly flush = (): void => {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#look === undefined) return;
    const views = [...this.#views.values()].sort((a, b) => a.place - b.place);
    const search = searchOf(location.search, this.#look, this.#scales, views);
    if (search !== location.search)
      history.replaceState(history.state, "", location.pathname + search + location.hash);
  };

  #change(): void {
    this.#timer ??= setTimeout(this.flush, WRITE_MS);
  }
}

/** Choices that all views have in common, as far as the address says them. */
export function lookOf(search: string): Partial<Look> {
  const query = new URLSearchParams(search);
  const layer = LAYER_PRESSURES_HPA.indexOf(Number(query.get("hPa")));
  const longitude = numberOf(query.get("lon"));
  const colours = query.get("colours");
  return {
    ...(layer >= 0 && { layer }),
    ...(longitude !== undefined && { longitude: normaliseLongitude(longitude) }),
    ...(colours !== null && { colours: colourMap(colours) }),
    ...(query.has("cells") && { smooth: false }),
  };
}

export function scalesOf(search: string): HeldScales {
  const query = new URLSearchParams(search);
  const range = (name: string): Range | undefined => {
    const [low, high] = (query.get(name) ?? "").split(",").map(numberOf);
    return low !== undefined && high !== undefined && low < high ? { low, high } : undefined;
  };
  return { scale: range("scale"), sectionScale: range("sectionScale") };
}

/** The views, in their order on the page; a view that the address says nothing of is as usual. */
export function viewsOf(search: string, kinds: readonly ViewKind[]): readonly KeptView[] {
  const query = new URLSearchParams(search);
  const told = new Map(VIEW_KINDS.map(kind => [kind, query.getAll(kind)]));
  return kinds.map((kind, place) => viewOf(kind, place, told.get(kind)?.shift() ?? ""));
}

function viewOf(kind: ViewKind, place: number, text: string): KeptView {
  const parts = text.split(",");
  const [latitude, longitude, reach] = parts.map(numberOf);
  const aim: Aim | undefined =
    latitude === undefined || longitude === undefined || reach === undefined
      ? undefined
      : { latitude: clamp(latitude, -90, 90), longitude: normaliseLongitude(longitude), reach };
  const told = (word: string): number | undefined =>
    numberOf(parts.find(part => part.startsWith(word))?.slice(word.length));
  const threshold = told("alarm");
  const stride = told("stride");
  const mode: Mode =
    threshold !== undefined && threshold >= 0 ? { kind: "alarm", threshold } : { kind: "filter" };
  return { kind, place, aim, mode, detail: DETAILS.find(detail => detail === stride) ?? "auto" };
}

/** The address for this: the arrangement and all else that it holds stay. */
export function searchOf(
  before: string,
  { layer, longitude, colours, smooth }: AddressLook,
  scales: HeldScales,
  views: readonly KeptView[],
): string {
  const query = new URLSearchParams(before);
  for (const name of ["hPa", "lon", "colours", "cells", ...SCALES, ...VIEW_KINDS]) query.delete(name);
  query.set("hPa", String(LAYER_PRESSURES_HPA[layer]));
  query.set("lon", short(longitude));
  query.set("colours", colours.name);
  if (!smooth) query.set("cells", "");
  for (const name of SCALES) {
    const range = scales[name];
    if (range !== undefined) query.set(name, `${range.low},${range.high}`);
  }
  for (const kind of VIEW_KINDS) {
    const texts = views.filter(view => view.kind === kind).map(textOf);
    if (texts.some(text => text !== "")) for (const text of texts) query.append(kind, text);
  }
  // Commas need no escape in a query, and are easier to read without.
  return `?${query
    .toString()
    .replaceAll("%2C", ",")
    .replace(/=(?=&|$)/g, "")}`;
}

function textOf({ aim, mode, detail }: KeptView): string {
  return [
    ...(aim === undefined ? [] : [short(aim.latitude), short(aim.longitude), short(aim.reach)]),
    ...(mode.kind === "alarm" ? [`alarm${mode.threshold}`] : []),
    ...(detail === "auto" ? [] : [`stride${detail}`]),
  ].join(",");
}

function short(value: number): string {
  return String(Number(value.toFixed(2)));
}

function numberOf(text: string | null | undefined): number | undefined {
  const value = text?.trim() ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : undefined;
}
