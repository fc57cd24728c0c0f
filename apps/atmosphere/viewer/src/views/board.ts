/** Elements that every view's board draws in, and the fading of changed cells. */

export interface ViewElements {
  /** Carries what is drawn as data-* attributes. */
  readonly host: HTMLElement;
  readonly field: HTMLCanvasElement;
  readonly lines: HTMLCanvasElement;
  readonly readout: HTMLElement;
  /** Says what the picture shows: written when that is painted. */
  readonly caption: HTMLElement;
}

/** How long a changed cell is seen to have changed. */
export const FADE_SECONDS = 3;

const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Do changed cells go on fading now? Who wants less motion sees those of the newest event until the next one. Else it ends a
 * while after the newest change (seconds of the page's clock).
 */
export function isFading(changedAt: Float32Array | undefined, changedSeconds: number): boolean {
  if (changedAt === undefined || reducedMotion.matches) return false;
  return performance.now() / 1000 - changedSeconds < FADE_SECONDS;
}

/** The clock that changed cells are compared with. */
export function fadeClock(changedSeconds: number): number {
  return reducedMotion.matches ? changedSeconds : performance.now() / 1000;
}

const SOURCE_PX = 8;

/** Colour of what is chosen: the section's place, the layer, a source's place. */
export const MARK_COLOUR = "#ffb454";

/** Marks a source by its number; one that is not of this picture's layer, or not near its meridian, only faintly. */
export function drawSource(
  context: CanvasRenderingContext2D,
  { x, y }: { readonly x: number; readonly y: number },
  id: number,
  isHere: boolean,
): void {
  context.save();
  context.globalAlpha = isHere ? 1 : 0.45;
  context.beginPath();
  context.arc(x, y, SOURCE_PX, 0, 2 * Math.PI);
  context.fillStyle = isHere ? MARK_COLOUR : "rgb(9 11 13 / 0.6)";
  context.fill();
  strokeMark(context, () => context.stroke(), isHere ? "#2a1a02" : MARK_COLOUR);
  context.fillStyle = isHere ? "#2a1a02" : MARK_COLOUR;
  context.font = `600 11px ${getComputedStyle(document.body).fontFamily}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(String(id), x, y + 0.5);
  context.restore();
}

/** Strokes something so that it is seen on any colour map, by default in the mark's colour. */
export function strokeMark(
  context: CanvasRenderingContext2D,
  stroke: () => void,
  colour: string = MARK_COLOUR,
): void {
  for (const [style, width] of [
    ["rgb(9 11 13 / 0.45)", 3],
    [colour, 1.5],
  ] as const) {
    context.strokeStyle = style;
    context.lineWidth = width;
    stroke();
  }
}
