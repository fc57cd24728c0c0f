/** The two canvases of a view: the field below, lines and marks above. Paints once per frame, and only what changed. */
import { FieldCanvas } from "../drawing/field-canvas.ts";
import { createFieldLayer } from "../drawing/field-layer.ts";
import type { FieldPainter, Scene } from "../drawing/scene.ts";

const MOST_PIXEL_RATIO = 2;
const lightScheme = matchMedia("(prefers-color-scheme: light)");
/** Fading needs no more pictures than that. */
const FADE_FRAME_MS = 50;

interface Size {
  width: number;
  height: number;
}

export interface StagePainting {
  readonly camera: { readonly kind: Scene["camera"]["kind"] };
  /** Scene to paint of the field now, in CSS pixels of its canvas; undefined before there is any. */
  scene(width: number, height: number): Scene | undefined;
  /** Draws lines and marks; the context's unit is the CSS pixel, and it is clear. */
  lines(context: CanvasRenderingContext2D, width: number, height: number): void;
  /** The field was painted. True where it goes on changing by itself. */
  painted(): boolean;
  resized(width: number, height: number): void;
}

export class Stage {
  readonly #painting: StagePainting;
  readonly #field: HTMLCanvasElement;
  readonly #lines: HTMLCanvasElement;
  readonly #context: CanvasRenderingContext2D | null;
  readonly #painter: FieldPainter;
  readonly #observer: ResizeObserver;
  /** Whether the screen has as many pixels as it had. */
  #ratio: MediaQueryList | undefined;
  #fieldSize: Size = { width: 0, height: 0 };
  #linesSize: Size = { width: 0, height: 0 };
  #frame = 0;
  #fading: ReturnType<typeof setTimeout> | undefined;
  #fieldDirty = false;
  #linesDirty = false;

  constructor(field: HTMLCanvasElement, lines: HTMLCanvasElement, painting: StagePainting) {
    this.#painting = painting;
    this.#field = field;
    this.#lines = lines;
    this.#painter =
      createFieldLayer(field, painting.camera.kind, () => this.invalidate()) ?? new FieldCanvas(field);
    // Coastlines stroked by a graphics processor that is a program take a second; the plain rasteriser takes milliseconds.
    this.#context = lines.getContext("2d", { willReadFrequently: this.#painter.isSoftware });
    field.dataset["painter"] = this.#painter.kind;
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(field);
    this.#observer.observe(lines);
    this.#watchRatio();
    lightScheme.addEventListener("change", this.#schemeChanged);
    this.#resize();
  }

  /** A window that goes to another screen has other pixels at the same size. */
  #watchRatio(): void {
    this.#ratio = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    this.#ratio.addEventListener("change", this.#ratioChanged);
  }

  readonly #ratioChanged = (): void => {
    this.#ratio?.removeEventListener("change", this.#ratioChanged);
    this.#watchRatio();
    this.#resize();
  };

  readonly #schemeChanged = (): void => this.invalidateLines();

  setColours(table: Uint8Array): void {
    this.#painter.setColours(table);
    this.invalidateField();
  }

  /** The camera moved: everything is to be painted. */
  invalidate(): void {
    this.#linesDirty = true;
    this.invalidateField();
  }

  /** New values. */
  invalidateField(): void {
    this.#fieldDirty = true;
    this.#schedule();
  }

  /** New marks. */
  invalidateLines(): void {
    this.#linesDirty = true;
    this.#schedule();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = -1;
    clearTimeout(this.#fading);
    this.#observer.disconnect();
    lightScheme.removeEventListener("change", this.#schemeChanged);
    this.#ratio?.removeEventListener("change", this.#ratioChanged);
    this.#painter.close();
  }

  #schedule(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#paint();
    });
  }

  #paint(): void {
    const { width, height } = this.#linesSize;
    if (width === 0 || height === 0) return;
    if (this.#linesDirty && this.#context !== null) {
      const ratio = this.#lines.width / width;
      this.#context.setTransform(ratio, 0, 0, ratio, 0, 0);
      this.#context.clearRect(0, 0, width, height);
      this.#painting.lines(this.#context, width, height);
      this.#linesDirty = false;
    }
    if (!this.#fieldDirty) return;
    this.#fieldDirty = false;
    const scene = this.#painting.scene(this.#fieldSize.width, this.#fieldSize.height);
    if (scene === undefined) return;
    if (!this.#painter.paint(scene)) return;
    clearTimeout(this.#fading);
    if (this.#painting.painted()) this.#fading = setTimeout(() => this.invalidateField(), FADE_FRAME_MS);
  }

  #resize(): void {
    const ratio = Math.min(MOST_PIXEL_RATIO, devicePixelRatio);
    this.#fieldSize = sizeOf(this.#field);
    this.#linesSize = sizeOf(this.#lines);
    if (this.#fieldSize.width === 0 || this.#fieldSize.height === 0) return;
    this.#painter.resize(
      Math.round(this.#fieldSize.width * ratio),
      Math.round(this.#fieldSize.height * ratio),
    );
    this.#lines.width = Math.round(this.#linesSize.width * ratio);
    this.#lines.height = Math.round(this.#linesSize.height * ratio);
    this.#painting.resized(this.#fieldSize.width, this.#fieldSize.height);
    // A canvas that was resized is empty until it is painted: not one frame of that is to be seen.
    this.#linesDirty = true;
    this.#fieldDirty = true;
    this.#paint();
  }
}

function sizeOf(canvas: HTMLCanvasElement): Size {
  const { width, height } = canvas.getBoundingClientRect();
  return { width, height };
}
