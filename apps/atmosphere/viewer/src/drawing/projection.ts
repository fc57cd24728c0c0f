/** Projection of places on the earth to the screen and back, and the part of the earth that is to be seen. Angles in degrees. */

export interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** East may exceed 180 where the window goes over the date line; east - west is at most 360. */
export interface GeoWindow {
  readonly south: number;
  readonly north: number;
  readonly west: number;
  readonly east: number;
}

/** An equirectangular map; sizes in CSS pixels, the place is at its middle. */
export interface MapCamera extends Place {
  readonly kind: "map";
  readonly degreesPerPixel: number;
  readonly width: number;
  readonly height: number;
}

/** An orthographic globe; sizes in CSS pixels, the place is at its middle. */
export interface GlobeCamera extends Place {
  readonly kind: "globe";
  /** Radius of the globe on the screen. */
  readonly radius: number;
  readonly width: number;
  readonly height: number;
}

export type Camera = MapCamera | GlobeCamera;

/** Distance of neighbouring rows and columns of the model's grid, both positive. */
export interface GridSteps {
  readonly latStep: number;
  readonly lonStep: number;
}

const RADIANS = Math.PI / 180;
/** Beyond, the earth is seen so flat that a cell is thinner than a pixel. */
const LIMB_DEGREES = 87;
const STRIDES = [1, 2, 3, 4, 6, 8, 12];
const SMALLEST_CELL_PX = 2.5;

/** Into [-180, 180). */
export function normaliseLongitude(longitude: number): number {
  return modulo(longitude + 180, 360) - 180;
}

export function modulo(value: number, by: number): number {
  const rest = value % by;
  return rest < 0 ? rest + by : rest;
}

export function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/** At most once round the earth, at least a few degrees, and never more beyond the poles than must be. */
export function clampMap(camera: MapCamera): MapCamera {
  const { width, height } = camera;
  const degreesPerPixel = clamp(camera.degreesPerPixel, 4 / Math.max(width, 1), 360 / Math.max(width, 1));
  const reach = Math.max(0, 90 - (height * degreesPerPixel) / 2);
  const latitude = clamp(camera.latitude, -reach, reach);
  return { ...camera, degreesPerPixel, latitude, longitude: normaliseLongitude(camera.longitude) };
}

/** Zooms so that the place under (x, y) stays there; a factor over 1 comes nearer. */
export function zoomMap(camera: MapCamera, factor: number, x: number, y: number): MapCamera {
  const nearer = clampMap({ ...camera, degreesPerPixel: camera.degreesPerPixel / factor });
  const gain = camera.degreesPerPixel - nearer.degreesPerPixel;
  return clampMap({
    ...nearer,
    longitude: camera.longitude + (x - camera.width / 2) * gain,
    latitude: camera.latitude - (y - camera.height / 2) * gain,
  });
}

/** The place under a pixel; undefined where there is none. */
export function toEarth(camera: Camera, x: number, y: number): Place | undefined {
  if (camera.kind === "map") {
    const latitude = camera.latitude - (y - camera.height / 2) * camera.degreesPerPixel;
    const longitude = camera.longitude + (x - camera.width / 2) * camera.degreesPerPixel;
    return Math.abs(latitude) > 90 ? undefined : { latitude, longitude: normaliseLongitude(longitude) };
  }
  const east = (x - camera.width / 2) / camera.radius;
  const up = (camera.height / 2 - y) / camera.radius;
  const rest = 1 - east * east - up * up;
  if (rest < 0) return undefined;
  const out = Math.sqrt(rest);
  const sin = Math.sin(camera.latitude * RADIANS);
  const cos = Math.cos(camera.latitude * RADIANS);
  return {
    latitude: Math.asin(clamp(out * sin + up * cos, -1, 1)) / RADIANS,
    longitude: normaliseLongitude(camera.longitude + Math.atan2(east, out * cos - up * sin) / RADIANS),
  };
}

/** The pixel of a place (on a map, of its copy next to the middle); undefined behind the globe. */
export function toScreen(
  camera: Camera,
  { latitude, longitude }: Place,
): { x: number; y: number } | undefined {
  const east = normaliseLongitude(longitude - camera.longitude);
  if (camera.kind === "map") {
    return {
      x: camera.width / 2 + east / camera.degreesPerPixel,
      y: camera.height / 2 - (latitude - camera.latitude) / camera.degreesPerPixel,
    };
  }
  const [sinLat, cosLat] = [Math.sin(latitude * RADIANS), Math.cos(latitude * RADIANS)];
  const [sin, cos] = [Math.sin(camera.latitude * RADIANS), Math.cos(camera.latitude * RADIANS)];
  const cosEast = Math.cos(east * RADIANS);
  if (sin * sinLat + cos * cosLat * cosEast < 0) return undefined;
  return {
    x: camera.width / 2 + camera.radius * cosLat * Math.sin(east * RADIANS),
    y: camera.height / 2 - camera.radius * (cos * sinLat - sin * cosLat * cosEast),
  };
}

/** The smallest window that holds all that can be seen. */
export function visibleWindow(camera: Camera): GeoWindow {
  const { latitude, longitude, width, height } = camera;
  if (camera.kind === "map") {
    const halfWidth = (width * camera.degreesPerPixel) / 2;
    const halfHeight = (height * camera.degreesPerPixel) / 2;
    return {
      south: Math.max(-90, latitude - halfHeight),
      north: Math.min(90, latitude + halfHeight),
      ...around(longitude, halfWidth),
    };
  }
  const corner = Math.hypot(width, height) / 2 / camera.radius;
  const reach = corner >= 1 ? LIMB_DEGREES : Math.min(LIMB_DEGREES, Math.asin(corner) / RADIANS);
  const south = latitude - reach;
  const north = latitude + reach;
  const seesPole = north >= 90 || south <= -90;
  const halfWidth = seesPole
    ? 180
    : Math.asin(clamp(Math.sin(reach * RADIANS) / Math.cos(latitude * RADIANS), -1, 1)) / RADIANS;
  return { south: Math.max(-90, south), north: Math.min(90, north), ...around(longitude, halfWidth) };
}

function around(longitude: number, half: number): { west: number; east: number } {
  if (half >= 180) return { west: -180, east: 180 };
  const west = normaliseLongitude(longitude - half);
  return { west, east: west + 2 * half };
}

/**
 * Widens a window by a margin of cells to whole cells of the (thinned) grid, whose rows begin at the north pole and whose
 * columns at Greenwich: small moves ask for nothing new, and a thinned grid does not crawl under the map.
 */
export function alignWindow(
  { south, north, west, east }: GeoWindow,
  { latStep, lonStep }: GridSteps,
  stride: number,
  marginCells: number,
): GeoWindow {
  const [height, width] = [latStep * stride, lonStep * stride];
  const first = Math.max(0, Math.floor((90 - north) / height) - marginCells);
  const last = Math.ceil((90 - south) / height) + marginCells;
  const latitudes = { north: 90 - first * height, south: Math.max(-90, 90 - last * height) };
  const from = (Math.floor(west / width) - marginCells) * width;
  const to = (Math.ceil(east / width) + marginCells) * width;
  if (to - from >= 360 - width) return { ...latitudes, west: -180, east: 180 };
  const start = normaliseLongitude(from);
  return { ...latitudes, west: start, east: start + (to - from) };
}

/** The largest thinning at which a cell is still a few pixels wide. */
export function suitedStride(degreesPerPixel: number, { latStep, lonStep }: GridSteps): number {
  const cells = (SMALLEST_CELL_PX * degreesPerPixel) / Math.min(latStep, lonStep);
  return STRIDES.findLast(stride => stride <= cells) ?? 1;
}

/** Degrees that a pixel in the middle of the picture spans. */
export function degreesPerPixel(camera: Camera): number {
  return camera.kind === "map" ? camera.degreesPerPixel : 1 / (camera.radius * RADIANS);
}

/** Does the first window lie inside of the second? */
export function isWithin(inner: GeoWindow, outer: GeoWindow): boolean {
  const slack = 1e-6;
  if (inner.south < outer.south - slack || inner.north > outer.north + slack) return false;
  const room = outer.east - outer.west;
  if (room >= 360 - slack) return true;
  return modulo(inner.west - outer.west + slack, 360) + (inner.east - inner.west) <= room + 2 * slack;
}

export function formatLatitude(latitude: number, digits = 1): string {
  return `${Math.abs(latitude).toFixed(digits)}° ${latitude < 0 ? "S" : "N"}`;
}

export function formatLongitude(longitude: number, digits = 1): string {
  const east = normaliseLongitude(longitude);
  return `${Math.abs(east).toFixed(digits)}° ${east < 0 ? "W" : "E"}`;
}
