import { expect, test } from "vitest";
import {
  alignWindow,
  clampMap,
  type GlobeCamera,
  isWithin,
  type MapCamera,
  normaliseLongitude,
  suitedStride,
  toEarth,
  toScreen,
  visibleWindow,
  zoomMap,
} from "../../viewer/src/drawing/projection.ts";

const MAP: MapCamera = {
  kind: "map",
  latitude: 10,
  longitude: 170,
  degreesPerPixel: 0.2,
  width: 800,
  height: 400,
};
const GLOBE: GlobeCamera = {
  kind: "globe",
  latitude: 35,
  longitude: -120,
  radius: 200,
  width: 500,
  height: 420,
};
const STEPS = { latStep: 2.5, lonStep: 2.5 };

test("longitudes are taken into one turn", () => {
  expect([180, -180, 540, 190, -190, 359].map(normaliseLongitude)).toEqual([-180, -180, -180, -170, 170, -1]);
});

for (const camera of [MAP, GLOBE]) {
  test(`a pixel of the ${camera.kind} and the place under it belong together`, () => {
    for (const [x, y] of [
      [camera.width / 2, camera.height / 2],
      [camera.width / 2 + 90, camera.height / 2 - 60],
      [camera.width / 2 - 120, camera.height / 2 + 100],
    ] as const) {
      const place = toEarth(camera, x, y);
      if (place === undefined) throw new Error("there is a place");
      const back = toScreen(camera, place);
      expect(back?.x).toBeCloseTo(x, 6);
      expect(back?.y).toBeCloseTo(y, 6);
    }
  });
}

test("there is no place beside the globe, beyond the poles, or behind the globe", () => {
  expect(toEarth(GLOBE, 2, 2)).toBeUndefined();
  expect(toEarth({ ...MAP, degreesPerPixel: 0.45 }, 400, -10)).toBeUndefined();
  expect(toScreen(GLOBE, { latitude: -35, longitude: 60 })).toBeUndefined();
});

test("zooming keeps the place under the pointer", () => {
  const before = toEarth(MAP, 600, 120);
  const nearer = zoomMap(MAP, 2.5, 600, 120);
  const after = toEarth(nearer, 600, 120);
  expect(nearer.degreesPerPixel).toBeCloseTo(0.08);
  expect(after?.latitude).toBeCloseTo(before?.latitude ?? Number.NaN, 6);
  expect(after?.longitude).toBeCloseTo(before?.longitude ?? Number.NaN, 6);
});

test("the map never shows more than one turn, nor the void where the earth would fill it", () => {
  const far = clampMap({ ...MAP, degreesPerPixel: 5, latitude: 80 });
  expect(far.degreesPerPixel).toBeCloseTo(360 / 800);
  expect(far.latitude).toBe(0);
  const near = clampMap({ ...MAP, latitude: 89, degreesPerPixel: 0.1 });
  expect(visibleWindow(near).north).toBeCloseTo(90);
});

test("the window of a map may go over the date line", () => {
  const { south, north, west, east } = visibleWindow(MAP);
  expect([south, north, west, east]).toEqual([-30, 50, 90, 250]);
});

test("the window of a whole globe is its visible half, or all round where a pole is seen", () => {
  expect(visibleWindow({ ...GLOBE, latitude: 0, longitude: 0 })).toEqual({
    south: -87,
    north: 87,
    west: expect.closeTo(-87, 6),
    east: expect.closeTo(87, 6),
  });
  const tilted = visibleWindow(GLOBE);
  expect(tilted).toEqual({ south: 35 - 87, north: 90, west: -180, east: 180 });
});

test("every visible place of a zoomed globe lies in its window", () => {
  const camera = { ...GLOBE, radius: 900 };
  const window = visibleWindow(camera);
  for (let x = 0; x <= camera.width; x += 10) {
    for (let y = 0; y <= camera.height; y += 10) {
      const place = toEarth(camera, x, y);
      if (place === undefined) continue;
      const { latitude, longitude } = place;
      const point = { south: latitude, north: latitude, west: longitude, east: longitude };
      expect(isWithin(point, window), `${latitude} ${longitude}`).toBe(true);
    }
  }
});

test("an aligned window holds the one that was asked for and its margin, on whole cells of the grid", () => {
  const asked = { south: -31.2, north: 48.9, west: 91, east: 251.3 };
  for (const stride of [1, 2, 3]) {
    const window = alignWindow(asked, STEPS, stride, 2);
    const cell = 2.5 * stride;
    expect(isWithin(asked, window)).toBe(true);
    expect((90 - window.north) % cell).toBeCloseTo(0);
    expect(window.north - asked.north).toBeGreaterThanOrEqual(2 * cell);
    expect(window.north - asked.north).toBeLessThan(3 * cell);
    expect((((window.east - window.west) % cell) + cell) % cell).toBeCloseTo(0);
  }
});

test("a small move asks for nothing new", () => {
  const window = { south: -31, north: 48, west: 91, east: 116 };
  const moved = { south: -30.5, north: 48.5, west: 91.4, east: 116.4 };
  expect(alignWindow(moved, STEPS, 1, 2)).toEqual(alignWindow(window, STEPS, 1, 2));
});

test("a window of nearly everything is all round, and none goes beyond the poles", () => {
  const window = alignWindow({ south: -90, north: 90, west: -178, east: 178 }, STEPS, 1, 2);
  expect(window).toEqual({ south: -90, north: 90, west: -180, east: 180 });
});

test("a grid that is finer than pixels is thinned", () => {
  expect(suitedStride(0.45, STEPS)).toBe(1);
  expect(suitedStride(0.45, { latStep: 0.5, lonStep: 0.5 })).toBe(2);
  expect(suitedStride(0.45, { latStep: 0.25, lonStep: 0.25 })).toBe(4);
  expect(suitedStride(1e-3, STEPS)).toBe(1);
});
