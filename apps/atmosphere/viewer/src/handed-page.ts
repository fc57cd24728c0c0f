/** Labels that one page gives its subscriptions, so that the page of another device can go on with the same views. */
import type { Inheritance, InheritedSubscription, Session } from "@jecho/client";
import { LAYER_PRESSURES_HPA } from "../../src/model/layers.ts";
import { CHANNELS } from "../../src/types.ts";
import { colourMap } from "./drawing/colour-map.ts";
import { clamp, normaliseLongitude } from "./drawing/projection.ts";
import type { Mode } from "./field-view.ts";
import { DETAILS, type Detail, type Look } from "./look.ts";
import { VIEW_KINDS, type ViewKind } from "./views/arrangement.ts";

/** Aim of a map or a globe: its middle, and what the map spans from left to right in degrees or the globe's zoom. */
export interface Aim {
  readonly latitude: number;
  readonly longitude: number;
  readonly reach: number;
}

/** Label of a view's subscription, besides its mode. */
export interface ViewLabel {
  readonly kind: ViewKind;
  /** Its place among the views of the page. */
  readonly place: number;
  readonly detail: Detail;
  readonly aim?: Aim | undefined;
}

/** A view as it was. */
export interface KeptView extends ViewLabel {
  readonly mode: Mode;
}

/** A view of the page that was handed over. */
export interface HandedView extends KeptView {
  readonly inherited: InheritedSubscription;
  /** Session that took it over. */
  readonly session: Session;
}

/** Contents of the page that was handed over. */
export interface HandedPage {
  readonly session: Session;
  readonly look: Partial<Look>;
  readonly status: InheritedSubscription | undefined;
  readonly views: readonly HandedView[];
}

/** Label of the status' subscription: the choices that all views have in common. */
export function lookLabel({ layer, longitude, colours, smooth }: Look): string {
  return JSON.stringify({ layer, longitude, colours: colours.name, smooth });
}

/** Page that was handed over; subscriptions with labels that are not known here are left out. */
export function handedPage(session: Session, { subscriptions }: Inheritance): HandedPage {
  const named = (name: string): InheritedSubscription[] =>
    subscriptions.filter(({ channel }) => channel.endsWith(`/${name}`));
  const [status] = named(CHANNELS.status);
  const views = named(CHANNELS.ozone).flatMap(inherited => {
    const label = readView(inherited.label);
    return label === undefined ? [] : [{ ...label, inherited, session }];
  });
  views.sort((a, b) => a.place - b.place);
  return { session, look: status === undefined ? {} : readLook(status.label), status, views };
}

/** A view as it was called; undefined where that is not known. */
export function readView(text: string): KeptView | undefined {
  const { kind, place, detail, mode, aim } = read(text);
  const known = VIEW_KINDS.find(each => each === kind);
  if (known === undefined || !isNumber(place)) return undefined;
  return {
    kind: known,
    place,
    detail: DETAILS.find(each => each === detail) ?? "auto",
    mode: modeOf(mode),
    aim: aimOf(aim),
  };
}

function modeOf(mode: unknown): Mode {
  const { kind, threshold } = fields(mode);
  return kind === "alarm" && isNumber(threshold) && threshold >= 0
    ? { kind: "alarm", threshold }
    : { kind: "filter" };
}

function aimOf(aim: unknown): Aim | undefined {
  const { latitude, longitude, reach } = fields(aim);
  if (!isNumber(latitude) || !isNumber(longitude) || !isNumber(reach)) return undefined;
  return { latitude: clamp(latitude, -90, 90), longitude: normaliseLongitude(longitude), reach };
}

/** Choices that all views have in common, from a label; unknown ones are left out. */
export function readLook(text: string): Partial<Look> {
  const { layer, longitude, colours, smooth } = read(text);
  return {
    ...(isNumber(layer) && { layer: clamp(Math.round(layer), 0, LAYER_PRESSURES_HPA.length - 1) }),
    ...(isNumber(longitude) && { longitude: normaliseLongitude(longitude) }),
    ...(typeof colours === "string" && { colours: colourMap(colours) }),
    ...(typeof smooth === "boolean" && { smooth }),
  };
}

function read(text: string): Record<string, unknown> {
  try {
    return fields(JSON.parse(text));
  } catch {
    return {};
  }
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
