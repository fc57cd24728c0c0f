/** Choices of the person in front of the page, which all views have in common. */
import { approximateHeightKm, LAYER_PRESSURES_HPA } from "../../src/model/layers.ts";
import type { ColourMap } from "./drawing/colour-map.ts";
import type { Place } from "./drawing/projection.ts";

export interface Look {
  readonly layer: number;
  /** Longitude of the section, degrees east in [-180, 180). */
  readonly longitude: number;
  readonly colours: ColourMap;
  /** Interpolated between the cells' centres, or the cells as they are. */
  readonly smooth: boolean;
  /** Place where a source is about to be set. */
  readonly source: Place | undefined;
  /** The next click on a map or globe says where the source is to be. */
  readonly isPicking: boolean;
}

export const UNIT = "ppmv";

/** How thin a view's picture is: the suited one, or every n-th row and column. */
export type Detail = "auto" | 1 | 2 | 4 | 8;

export const DETAILS: readonly Detail[] = ["auto", 1, 2, 4, 8];

export function pressureLabel(layer: number): string {
  const pressure = LAYER_PRESSURES_HPA[layer];
  return pressure === undefined ? "–" : `${pressure} hPa`;
}

export function heightLabel(layer: number): string {
  const pressure = LAYER_PRESSURES_HPA[layer];
  return pressure === undefined ? "–" : `${Math.abs(approximateHeightKm(pressure)).toFixed(1)} km`;
}

export function layerLabel(layer: number): string {
  return `${pressureLabel(layer)} (${heightLabel(layer)})`;
}

const DAY_SECONDS = 86_400;

/** Model time as the page says it everywhere. */
export function dayLabel(timeSeconds: number): string {
  return `day ${(timeSeconds / DAY_SECONDS).toFixed(1)}`;
}

const DATE_TIME = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** A moment of this machine's clock, in words. */
export function dateTime(at: number): string {
  return DATE_TIME.format(at);
}

/**
 * A number as people type it, with a point or with the comma that the keyboards of many languages have; NaN where it is none. `1,000` is none: nobody knows
 * whether a thousand is meant.
 */
export function typedNumber(text: string): number {
  const typed = text.trim();
  if (typed === "" || /^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(typed)) return Number.NaN;
  return Number(typed.replace(",", "."));
}

/** Three significant digits, as much as a colour can show, and one more to compare. */
export function formatValue(value: number): string {
  return `${value >= 1 ? value.toFixed(3) : value.toPrecision(3)} ${UNIT}`;
}
