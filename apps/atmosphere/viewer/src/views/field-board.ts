/** Common part of the boards of all views: how they look, where they draw, and what they are sent. */
import type { StatusSource } from "../../../src/types.ts";
import { colourTable } from "../drawing/colour-map.ts";
import { type ColourRange, type Scale, spreadOf } from "../drawing/colour-range.ts";
import type { ScaleSource } from "../drawing/colour-scale.tsx";
import type { Picture } from "../drawing/picture.ts";
import type { GridSteps } from "../drawing/projection.ts";
import type { Raster } from "../drawing/raster.ts";
import type { Scene } from "../drawing/scene.ts";
import type { FieldSubscription } from "../field-subscription.ts";
import type { KeptPicture } from "../kept-pictures.ts";
import { type Detail, dateTime, dayLabel, type Look } from "../look.ts";
import type { ViewKind } from "./arrangement.ts";
import { isFading, type ViewElements } from "./board.ts";
import { Stage, type StagePainting } from "./stage.ts";

export abstract class FieldBoard implements StagePainting, ScaleSource {
  abstract readonly camera: StagePainting["camera"];
  protected abstract readonly picture: Picture;
  protected abstract readonly name: ViewKind;
  /** Among the views of the page. */
  protected readonly place: number;
  protected readonly range: ColourRange;
  protected steps: GridSteps = { latStep: 2.5, lonStep: 2.5 };
  protected detail: Detail = "auto";
  protected elements: ViewElements | undefined;
  protected stage: Stage | undefined;
  protected subscription: FieldSubscription | undefined;
  /** Sources that are active now. */
  protected sources: readonly StatusSource[] = [];
  protected pointer: { readonly x: number; readonly y: number } | undefined;
  #look: Look;
  #scale: Scale | undefined;
  readonly #scaleListeners = new Set<() => void>();
  /** When the picture was seen, as `Date.now()` gives it, where it is one of an earlier visit. */
  #keptAt: number | undefined;

  /** @param place among the views of the page */
  constructor(place: number, look: Look, range: ColourRange) {
    this.place = place;
    this.#look = look;
    this.range = range;
  }

  get look(): Look {
    return this.#look;
  }

  /** Draws in these elements until the returned function is called. */
  attach(elements: ViewElements): () => void {
    this.elements = elements;
    const stage = new Stage(elements.field, elements.lines, this);
    this.stage = stage;
    stage.setColours(colourTable(this.#look.colours));
    const stop = this.range.subscribe(() => stage.invalidateField());
    return () => {
      stop();
      stage.close();
      this.stage = undefined;
    };
  }

  follow(subscription: FieldSubscription | undefined): void {
    this.subscription = subscription;
    this.request();
  }

  setLook(look: Look): void {
    const before = this.#look;
    this.#look = look;
    if (look.colours !== before.colours) this.stage?.setColours(colourTable(look.colours));
    this.looked(before);
  }

  setGrid(steps: GridSteps, detail: Detail): void {
    this.steps = steps;
    this.detail = detail;
    this.request();
  }

  setSources(sources: readonly StatusSource[]): void {
    if (JSON.stringify(sources) === JSON.stringify(this.sources)) return;
    this.sources = sources;
    this.stage?.invalidateLines();
  }

  setPointer(at: { x: number; y: number } | undefined): void {
    this.pointer = at;
    this.readOut();
  }

  get scale(): Scale | undefined {
    return this.#scale;
  }

  readonly subscribeScale = (listener: () => void): (() => void) => {
    this.#scaleListeners.add(listener);
    return () => this.#scaleListeners.delete(listener);
  };

  /** Name of this view among the parts of the page. */
  get part(): string {
    return `${this.name} ${this.place}`;
  }

  /** The picture's subject and time, in words; empty before there is anything. */
  caption(): string {
    const { top } = this.picture;
    if (top === undefined) return "";
    const seen = this.#keptAt === undefined ? "" : ` · seen ${dateTime(this.#keptAt)}`;
    return `${this.subject()} · ${dayLabel(top.time)} · step ${top.step}${seen}`;
  }

  /** For a later visit. */
  toKeep(): KeptPicture | undefined {
    const picture = this.#keptAt === undefined ? this.picture.save() : undefined;
    return picture && { picture, at: Date.now() };
  }

  /** Shows what an earlier visit has left, until something newer comes. */
  showKept({ picture, at }: KeptPicture): void {
    if (this.picture.top !== undefined) return;
    this.picture.restore(picture);
    this.#keptAt = at;
    this.range.offer(this.part, this.rangeKey(), spreadOf(picture.values));
    this.stage?.invalidate();
  }

  /** Something newer has come. */
  protected forgetKept(): void {
    if (this.#keptAt === undefined) return;
    this.#keptAt = undefined;
    this.picture.clear();
  }

  /** Words and scale of a picture are those of what was painted, whatever is chosen or on its way. */
  painted(): boolean {
    const { top, changedSeconds } = this.picture;
    if (top !== undefined) {
      const { elements } = this;
      if (elements !== undefined) {
        elements.caption.textContent = this.caption();
        const { step, time } = top;
        Object.assign(elements.host.dataset, { step, time, bytes: this.subscription?.bytes ?? 0 });
        Object.assign(elements.host.dataset, this.drawn(top));
      }
      this.#setScale(this.range.scaleOf(this.rangeKey()));
    }
    this.readOut();
    return isFading(top?.changedAt, changedSeconds);
  }

  #setScale(scale: Scale | undefined): void {
    if (JSON.stringify(scale) === JSON.stringify(this.#scale)) return;
    this.#scale = scale;
    for (const listener of this.#scaleListeners) listener();
  }

  /** A finger is, or was last, at this pixel: unlike a pointer it is not seen to go elsewhere. */
  abstract touch(at: { x: number; y: number }): void;

  /** An event came: says how many have been seen. */
  protected noteSeen(): void {
    if (this.elements !== undefined)
      this.elements.host.dataset["seen"] = this.subscription?.seen.toString() ?? "";
  }

  /** Shows what is under the pointer. */
  protected readOut(): void {
    const readout = this.elements?.readout;
    if (readout !== undefined) readout.textContent = this.read() ?? "";
  }

  /** Layer, or place, and quantity of the picture. */
  protected abstract subject(): string;

  /** Key of the picture's scale. */
  protected abstract rangeKey(): string;

  /** The drawn window, as data-* attributes. */
  protected abstract drawn(top: Raster): Readonly<Record<string, string | number>>;

  /** Asks for the view that the picture needs now. */
  abstract request(): void;

  /** Does what another look asks for, besides its colours. */
  protected abstract looked(before: Look): void;

  /** Words on what is under the pointer; undefined where that is nothing. */
  protected abstract read(): string | undefined;

  abstract scene(width: number, height: number): Scene | undefined;
  abstract lines(context: CanvasRenderingContext2D, width: number, height: number): void;
  abstract resized(width: number, height: number): void;
}
