/** What the boards of all views have in common: how they look, where they draw, and what they are sent. */
import { colourTable } from "../drawing/colour-map.ts";
import type { ColourRange } from "../drawing/colour-range.ts";
import type { GridSteps } from "../drawing/projection.ts";
import type { Scene } from "../drawing/scene.ts";
import type { FieldSubscription } from "../field-subscription.ts";
import type { Detail, Look } from "../look.ts";
import type { ViewElements } from "./board.ts";
import { Stage, type StagePainting } from "./stage.ts";

export abstract class FieldBoard implements StagePainting {
  abstract readonly camera: StagePainting["camera"];
  /** Among the views of the page. */
  protected readonly place: number;
  protected readonly range: ColourRange;
  protected steps: GridSteps = { latStep: 2.5, lonStep: 2.5 };
  protected detail: Detail = "auto";
  protected elements: ViewElements | undefined;
  protected stage: Stage | undefined;
  protected subscription: FieldSubscription | undefined;
  protected pointer: { readonly x: number; readonly y: number } | undefined;
  #look: Look;

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

  setPointer(at: { x: number; y: number } | undefined): void {
    this.pointer = at;
    this.readOut();
  }

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

  /** Asks for the view that the picture needs now. */
  abstract request(): void;

  /** Does what another look asks for, besides its colours. */
  protected abstract looked(before: Look): void;

  /** What is under the pointer, in words; undefined where that is nothing. */
  protected abstract read(): string | undefined;

  abstract scene(width: number, height: number): Scene | undefined;
  abstract lines(context: CanvasRenderingContext2D, width: number, height: number): void;
  abstract painted(): boolean;
  abstract resized(width: number, height: number): void;
}
