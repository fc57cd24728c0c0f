/** Coastlines and the graticule, as lines above the field. */
import { mesh } from "topojson-client";
import fineUrl from "world-atlas/land-50m.json?url";
import coarseUrl from "world-atlas/land-110m.json?url";
import {
  type Camera,
  degreesPerPixel,
  formatLatitude,
  formatLongitude,
  type GlobeCamera,
  type MapCamera,
  modulo,
  type Place,
  toScreen,
} from "./projection.ts";

/** Longitude and latitude in turn, degrees. */
type Line = Float32Array;

type Topology = Parameters<typeof mesh>[0];

interface Coast {
  readonly lines: readonly Line[];
  /** In degrees, y upwards; for maps. */
  readonly path: Path2D;
}

/** Finer than this, the coarse lines look like polygons. */
const FINE_DEGREES_PER_PIXEL = 0.12;
const RADIANS = Math.PI / 180;
/** Distances of the graticule's lines in degrees, and how near to each other they may be on the screen. */
const SPACINGS = [0.5, 1, 2, 5, 10, 30];
const LEAST_SPACING_PX = 70;
/** On the whole earth the coasts say where one is. */
const LABELLED_DEGREES = 10;

const RETRY_MS = 5000;

/** Requests by address, until what they are for is there or may be asked for again. */
const loading = new Map<string, Promise<void>>();
const loaded = new Map<string, Coast>();

/** The lines that suit a scale, or coarser ones until those are there; then `onLoaded` is called. */
function coastFor(camera: Camera, onLoaded: () => void): Coast | undefined {
  const wanted = degreesPerPixel(camera) < FINE_DEGREES_PER_PIXEL ? fineUrl : coarseUrl;
  for (const url of new Set([coarseUrl, wanted])) {
    if (loaded.has(url)) continue;
    let request = loading.get(url);
    if (request === undefined) {
      // Without coastlines the field is still right: what did not come is asked for again in a while.
      request = load(url)
        .catch(() => new Promise<void>(resolve => setTimeout(resolve, RETRY_MS)))
        .then(() => void loading.delete(url));
      loading.set(url, request);
    }
    void request.then(onLoaded);
  }
  return loaded.get(wanted) ?? loaded.get(coarseUrl);
}

async function load(url: string): Promise<void> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
  const topology = (await response.json()) as Topology;
  const lines = mesh(topology, topology.objects["land"] as Parameters<typeof mesh>[1]).coordinates.flatMap(
    ring => withoutSeams(ring as [number, number][]),
  );
  const path = new Path2D();
  for (const line of lines) {
    path.moveTo(line[0] as number, line[1] as number);
    for (let i = 2; i < line.length; i += 2) path.lineTo(line[i] as number, line[i + 1] as number);
  }
  loaded.set(url, { lines, path });
}

/** Land that crosses the date line is cut there, and Antarctica at the pole: those cuts are no coasts. */
function withoutSeams(ring: readonly (readonly [number, number])[]): Line[] {
  const lines: number[][] = [];
  let line: number[] = [];
  ring.forEach(([longitude, latitude], i) => {
    const before = ring[i - 1];
    const alongDateLine = before !== undefined && Math.abs(longitude) > 179.9 && Math.abs(before[0]) > 179.9;
    const alongPole = before !== undefined && latitude < -89.9 && before[1] < -89.9;
    const acrossDateLine = before !== undefined && Math.abs(longitude - before[0]) > 180;
    if (alongDateLine || acrossDateLine || alongPole) {
      lines.push(line);
      line = [];
    }
    line.push(longitude, latitude);
  });
  lines.push(line);
  return lines.filter(part => part.length >= 4).map(part => Float32Array.from(part));
}

export interface LineStyle {
  readonly coast: string;
  readonly graticule: string;
  readonly label: string;
}

/** Draws on a context whose unit is the CSS pixel. */
export function drawEarthLines(
  context: CanvasRenderingContext2D,
  camera: Camera,
  style: LineStyle,
  onLoaded: () => void,
): void {
  const coast = coastFor(camera, onLoaded);
  context.lineJoin = "round";
  context.lineWidth = 0.75;
  context.strokeStyle = style.graticule;
  const spacing = graticuleSpacing(degreesPerPixel(camera));
  if (camera.kind === "map") drawMapGraticule(context, camera, spacing);
  else for (const line of graticule(spacing)) traceOnGlobe(context, camera, line);
  context.strokeStyle = style.coast;
  context.lineWidth = 1;
  if (camera.kind === "map") strokeOnMap(context, camera, coast?.path);
  else for (const line of coast?.lines ?? []) traceOnGlobe(context, camera, line);
  if (spacing <= LABELLED_DEGREES) drawLabels(context, camera, spacing, style.label);
}

/** Degrees between the lines of the graticule at a scale. */
export function graticuleSpacing(degreesPerPixel: number): number {
  return SPACINGS.find(spacing => spacing / degreesPerPixel >= LEAST_SPACING_PX) ?? 30;
}

/** Says at the lines through the middle of the picture which they are: where there is no coast, nothing else says where one is. */
function drawLabels(
  context: CanvasRenderingContext2D,
  camera: Camera,
  spacing: number,
  colour: string,
): void {
  const digits = spacing < 1 ? 1 : 0;
  const { latitude, longitude, width, height } = camera;
  const [south, east] = [snap(latitude, spacing), snap(longitude, spacing)];
  const reach = Math.ceil((Math.max(width, height) * degreesPerPixel(camera)) / spacing / 2) + 1;
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "bottom";
  context.textAlign = "left";
  context.lineWidth = 3;
  context.strokeStyle = "rgb(9 11 13 / 0.6)";
  context.fillStyle = colour;
  const label = (
    place: Place,
    text: string,
    at: (seen: { x: number; y: number }) => [number, number],
  ): void => {
    const seen = Math.abs(place.latitude) >= 90 ? undefined : toScreen(camera, place);
    if (seen === undefined) return;
    const [x, y] = at(seen);
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  };
  for (let i = -reach; i <= reach; i++) {
    const [north, across] = [south + i * spacing, east + i * spacing];
    // At the left and lower edges of a map, and along the lines through the middle of a globe.
    const isMap = camera.kind === "map";
    label({ latitude: north, longitude: isMap ? longitude : east }, formatLatitude(north, digits), seen => [
      isMap ? 4 : seen.x + 4,
      seen.y - 2,
    ]);
    label(
      { latitude: isMap ? latitude : south, longitude: across },
      formatLongitude(across, digits),
      seen => [seen.x + 4, isMap ? height - 4 : seen.y + 14],
    );
  }
}

function snap(degrees: number, spacing: number): number {
  return degrees - modulo(degrees, spacing);
}

/** The degrees path, as often side by side as the map goes round. */
function strokeOnMap(context: CanvasRenderingContext2D, camera: MapCamera, path: Path2D | undefined): void {
  if (path === undefined) return;
  const { width, height, longitude, latitude, degreesPerPixel: scale } = camera;
  for (const turn of [-360, 0, 360]) {
    const left = width / 2 + (turn - 180 - longitude) / scale;
    if (left > width || left + 360 / scale < 0) continue;
    context.save();
    context.translate(width / 2 + (turn - longitude) / scale, height / 2 + latitude / scale);
    context.scale(1 / scale, -1 / scale);
    context.lineWidth = scale;
    context.stroke(path);
    context.restore();
  }
}

function drawMapGraticule(context: CanvasRenderingContext2D, camera: MapCamera, spacing: number): void {
  const { width, height, longitude, latitude, degreesPerPixel: scale } = camera;
  const top = Math.max(0, height / 2 - (90 - latitude) / scale);
  const bottom = Math.min(height, height / 2 + (90 + latitude) / scale);
  context.beginPath();
  const west = longitude - (width / 2) * scale;
  for (let east = Math.ceil(west / spacing) * spacing; east < west + width * scale; east += spacing) {
    const x = width / 2 + (east - longitude) / scale;
    context.moveTo(x, top);
    context.lineTo(x, bottom);
  }
  for (let north = -90; north <= 90; north += spacing) {
    const y = height / 2 - (north - latitude) / scale;
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.stroke();
}

const graticules = new Map<number, Line[]>();

function graticule(spacing: number): Line[] {
  let lines = graticules.get(spacing);
  if (lines === undefined) {
    lines = [];
    for (let east = -180; east < 180; east += spacing) lines.push(meridian(east, 90 - spacing / 3));
    for (let north = spacing - 90; north < 90; north += spacing) {
      lines.push(Float32Array.from({ length: 2 * 121 }, (_, i) => (i % 2 === 0 ? (i / 2) * 3 - 180 : north)));
    }
    graticules.set(spacing, lines);
  }
  return lines;
}

/** A meridian as a line of short pieces, up to a latitude on both sides. */
export function meridian(longitude: number, upTo = 90): Line {
  const pieces = 60;
  return Float32Array.from({ length: 2 * (pieces + 1) }, (_, i) =>
    i % 2 === 0 ? longitude : -upTo + (((i - 1) / 2) * 2 * upTo) / pieces,
  );
}

/** Strokes the part of a line that is on this side of the globe. */
export function traceOnGlobe(context: CanvasRenderingContext2D, camera: GlobeCamera, line: Line): void {
  const { radius, width, height } = camera;
  const [sin, cos] = [Math.sin(camera.latitude * RADIANS), Math.cos(camera.latitude * RADIANS)];
  const [middleX, middleY] = [width / 2, height / 2];
  let drawing = false;
  context.beginPath();
  for (let i = 0; i < line.length; i += 2) {
    const east = ((line[i] as number) - camera.longitude) * RADIANS;
    const north = (line[i + 1] as number) * RADIANS;
    const cosNorth = Math.cos(north);
    const sinNorth = Math.sin(north);
    const forward = cosNorth * Math.cos(east);
    if (sin * sinNorth + cos * forward < 0) {
      drawing = false;
      continue;
    }
    const x = middleX + radius * cosNorth * Math.sin(east);
    const y = middleY - radius * (cos * sinNorth - sin * forward);
    if (drawing) context.lineTo(x, y);
    else context.moveTo(x, y);
    drawing = true;
  }
  context.stroke();
}
