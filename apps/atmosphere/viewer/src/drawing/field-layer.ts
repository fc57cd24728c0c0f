/** Paints rasters with WebGL 2: values go up as they came in, and the graphics processor does the rest. */

import { fragmentShader, VERTEX_SHADER } from "./field-shader.ts";
import { degreesPerPixel } from "./projection.ts";
import { goesRound, type Raster } from "./raster.ts";
import { type FieldPainter, QUIET_BRIGHTNESS, type Scene, type SectionCamera } from "./scene.ts";

const UNITS = { uValues: 0, uChangedAt: 1, uColours: 2, uLayers: 3 } as const;
const COMPILE_POLL_MS = 20;
const RADIANS = Math.PI / 180;
/** Number of pixels that a graphics processor in software can paint without holding up the page. */
const SOFTWARE_PIXELS = 90_000;

interface Held {
  readonly values: WebGLTexture;
  changedAt: WebGLTexture | undefined;
  revision: number;
}

/** Undefined where there is no WebGL 2. `onReady` is called when it can paint, and when everything is to be painted anew. */
export function createFieldLayer(
  canvas: HTMLCanvasElement,
  camera: Scene["camera"]["kind"],
  onReady: () => void,
): FieldPainter | undefined {
  const gl = canvas.getContext("webgl2", {
    antialias: false,
    depth: false,
    premultipliedAlpha: true,
    powerPreference: "low-power",
  });
  return gl === null ? undefined : new FieldLayer(canvas, gl, camera, onReady);
}

class FieldLayer implements FieldPainter {
  readonly kind = "webgl2";
  readonly isSoftware: boolean;
  readonly #canvas: HTMLCanvasElement;
  readonly #gl: WebGL2RenderingContext;
  readonly #camera: Scene["camera"]["kind"];
  readonly #onReady: () => void;
  readonly #mostPixels: number;
  readonly #held = new Map<Raster, Held>();
  readonly #uniforms = new Map<string, WebGLUniformLocation | null>();
  readonly #events = new AbortController();
  #program: WebGLProgram | undefined;
  #compiling: ReturnType<typeof setTimeout> | undefined;
  #colours: WebGLTexture | undefined;
  #table: Uint8Array | undefined;
  #layers: { texture: WebGLTexture; of: Float32Array } | undefined;

  constructor(
    canvas: HTMLCanvasElement,
    gl: WebGL2RenderingContext,
    camera: Scene["camera"]["kind"],
    onReady: () => void,
  ) {
    this.#canvas = canvas;
    this.#gl = gl;
    this.#camera = camera;
    this.#onReady = onReady;
    this.isSoftware = isSoftware(gl);
    this.#mostPixels = this.isSoftware ? SOFTWARE_PIXELS : Number.POSITIVE_INFINITY;
    this.#build();
    const { signal } = this.#events;
    canvas.addEventListener("webglcontextlost", event => event.preventDefault(), { signal });
    canvas.addEventListener(
      "webglcontextrestored",
      () => {
        this.#held.clear();
        this.#uniforms.clear();
        this.#layers = undefined;
        this.#program = undefined;
        this.#build();
      },
      { signal },
    );
  }

  resize(width: number, height: number): void {
    const shrink = Math.min(1, Math.sqrt(this.#mostPixels / Math.max(1, width * height)));
    const [columns, rows] = [Math.round(width * shrink), Math.round(height * shrink)];
    if (this.#canvas.width === columns && this.#canvas.height === rows) return;
    this.#canvas.width = columns;
    this.#canvas.height = rows;
  }

  setColours(table: Uint8Array): void {
    this.#table = table;
    if (this.#program === undefined) return;
    const gl = this.#gl;
    this.#colours ??= this.#texture();
    gl.bindTexture(gl.TEXTURE_2D, this.#colours);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.LINEAR);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, table.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, table);
  }

  paint(scene: Scene): boolean {
    if (this.#gl.isContextLost() || this.#program === undefined) return false;
    this.#paintWith(this.#program, scene);
    return true;
  }

  #paintWith(program: WebGLProgram, scene: Scene): void {
    const gl = this.#gl;
    const { camera, rasters, range, smooth, nowSeconds, fadeSeconds } = scene;
    const { width, height } = this.#canvas;
    const scale = width / camera.width;
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    this.#forgetAllBut(rasters.map(({ raster }) => raster));
    // biome-ignore lint/correctness/useHookAtTopLevel: WebGL's, not React's
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.uniform2f(this.#at("uSize"), width, height);
    gl.uniform2f(this.#at("uRange"), range.low, range.high);
    gl.uniform1i(this.#at("uSmooth"), smooth ? 1 : 0);
    if (camera.kind === "section") this.#bindLayers(camera);
    else {
      const size = camera.kind === "map" ? degreesPerPixel(camera) / scale : camera.radius * scale;
      gl.uniform3f(this.#at("uCamera"), camera.longitude, camera.latitude, size);
      const tilt = camera.latitude * RADIANS;
      gl.uniform2f(this.#at("uTilt"), Math.sin(tilt), Math.cos(tilt));
    }
    this.#bind("uColours", this.#colours);
    for (const { raster, dim } of rasters) {
      const held = this.#hold(raster);
      this.#bind("uValues", held.values);
      this.#bind("uChangedAt", held.changedAt ?? held.values);
      const { xFirst, xStep, yFirst, yStep, columns, rows, period } = raster;
      gl.uniform2i(this.#at("uCells"), columns, rows);
      gl.uniform4f(this.#at("uGrid"), xFirst, xStep, yFirst, yStep);
      gl.uniform1f(this.#at("uPeriod"), period);
      gl.uniform1i(this.#at("uRound"), goesRound(raster) ? 1 : 0);
      gl.uniform1f(this.#at("uDim"), dim);
      const fade = raster.changedAt === undefined ? 0 : fadeSeconds;
      gl.uniform3f(this.#at("uChange"), nowSeconds, fade, QUIET_BRIGHTNESS);
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  close(): void {
    this.#events.abort();
    clearTimeout(this.#compiling);
    this.#forgetAllBut([]);
    const gl = this.#gl;
    gl.deleteTexture(this.#colours ?? null);
    gl.deleteTexture(this.#layers?.texture ?? null);
    gl.deleteProgram(this.#program ?? null);
    // Browsers allow few contexts, and would keep that of a canvas that has left the page until it is collected as garbage.
    if (!this.#canvas.isConnected) gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  /** Compiling may take long and goes on beside; `onReady` is called when there is something to paint with. */
  #build(): void {
    const gl = this.#gl;
    const program = gl.createProgram();
    for (const [type, source] of [
      [gl.VERTEX_SHADER, VERTEX_SHADER],
      [gl.FRAGMENT_SHADER, fragmentShader(this.#camera)],
    ] as const) {
      const shader = gl.createShader(type);
      if (shader === null) throw new Error("WebGL 2 makes no shader");
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
      gl.deleteShader(shader);
    }
    gl.linkProgram(program);
    const parallel = gl.getExtension("KHR_parallel_shader_compile");
    const look = (): void => {
      if (this.#events.signal.aborted || gl.isContextLost()) return;
      const isDone = parallel === null || gl.getProgramParameter(program, parallel.COMPLETION_STATUS_KHR);
      if (isDone) this.#take(program);
      else this.#compiling = setTimeout(look, COMPILE_POLL_MS);
    };
    look();
  }

  #take(program: WebGLProgram): void {
    const gl = this.#gl;
    if (!gl.getProgramParameter(program, gl.LINK_STATUS))
      throw new Error(`the field's shader does not link: ${gl.getProgramInfoLog(program)}`);
    this.#program = program;
    // biome-ignore lint/correctness/useHookAtTopLevel: WebGL's, not React's
    gl.useProgram(program);
    for (const [name, unit] of Object.entries(UNITS)) gl.uniform1i(this.#at(name), unit);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    this.#colours = undefined;
    if (this.#table !== undefined) this.setColours(this.#table);
    this.#onReady();
  }

  #at(name: string): WebGLUniformLocation | null {
    let location = this.#uniforms.get(name);
    if (location === undefined) {
      location = this.#gl.getUniformLocation(this.#program as WebGLProgram, name);
      this.#uniforms.set(name, location);
    }
    return location;
  }

  #bind(name: keyof typeof UNITS, texture: WebGLTexture | undefined): void {
    this.#gl.activeTexture(this.#gl.TEXTURE0 + UNITS[name]);
    this.#gl.bindTexture(this.#gl.TEXTURE_2D, texture ?? null);
  }

  #bindLayers({ layers }: SectionCamera): void {
    if (this.#layers?.of !== layers) {
      const texture = this.#layers?.texture ?? this.#texture();
      this.#upload(texture, layers.length, 1, layers);
      this.#layers = { texture, of: layers };
    }
    this.#bind("uLayers", this.#layers.texture);
  }

  /** The textures of a raster, with its newest values in them. */
  #hold(raster: Raster): Held {
    let held = this.#held.get(raster);
    if (held === undefined) {
      held = { values: this.#texture(), changedAt: undefined, revision: -1 };
      this.#held.set(raster, held);
    }
    if (held.revision === raster.revision) return held;
    const { columns, rows, values, changedAt } = raster;
    this.#upload(held.values, columns, rows, values);
    if (changedAt !== undefined) {
      held.changedAt ??= this.#texture();
      this.#upload(held.changedAt, columns, rows, changedAt);
    }
    held.revision = raster.revision;
    return held;
  }

  #forgetAllBut(rasters: readonly Raster[]): void {
    for (const [raster, { values, changedAt }] of this.#held) {
      if (rasters.includes(raster)) continue;
      this.#gl.deleteTexture(values);
      this.#gl.deleteTexture(changedAt ?? null);
      this.#held.delete(raster);
    }
  }

  #texture(): WebGLTexture {
    const gl = this.#gl;
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0 + 7);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    // Float textures are fetched by the cell; filtering them is an extension that phones lack.
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
      gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    for (const wrap of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T])
      gl.texParameteri(gl.TEXTURE_2D, wrap, gl.CLAMP_TO_EDGE);
    return texture;
  }

  #upload(texture: WebGLTexture, columns: number, rows: number, values: Float32Array): void {
    const gl = this.#gl;
    gl.activeTexture(gl.TEXTURE0 + 7);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, columns, rows, 0, gl.RED, gl.FLOAT, values);
  }
}

function isSoftware(gl: WebGL2RenderingContext): boolean {
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = names === null ? "" : String(gl.getParameter(names.UNMASKED_RENDERER_WEBGL));
  return /swiftshader|llvmpipe|software|basic render/i.test(renderer);
}
