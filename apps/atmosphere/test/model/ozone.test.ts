import { expect, test } from "vitest";
import { monthLabel } from "../../src/model/calendar.ts";
import { approximateHeightKm, LAYER_PRESSURES_HPA, ozonePerPpmv } from "../../src/model/layers.ts";
import { equilibriumOzone, relaxationTime } from "../../src/model/ozone.ts";

test("there are 37 layers, from the ground up", () => {
  expect(LAYER_PRESSURES_HPA).toHaveLength(37);
  expect(LAYER_PRESSURES_HPA.every((p, k) => k === 0 || p < (LAYER_PRESSURES_HPA[k - 1] as number))).toBe(
    true,
  );
  expect([LAYER_PRESSURES_HPA[0], LAYER_PRESSURES_HPA[36]]).toEqual([1000, 1]);
});

test("the layers together hold the mass of the atmosphere", () => {
  const kgPerSquareMetre = ozonePerPpmv(LAYER_PRESSURES_HPA).reduce((sum, kg) => sum + kg, 0);
  const airKg = (kgPerSquareMetre / 1e-6 / (47.998 / 28.965)) * 4 * Math.PI * 6.371e6 ** 2;
  expect(airKg).toBeGreaterThan(5.1e18);
  expect(airKg).toBeLessThan(5.4e18);
});

test("heights are those of a standard atmosphere, nearly", () => {
  expect(approximateHeightKm(1013.25)).toBe(0);
  expect(approximateHeightKm(200)).toBeCloseTo(11.4, 1);
  expect(approximateHeightKm(10)).toBeCloseTo(32.3, 1);
  expect(() => approximateHeightKm(0)).toThrow(RangeError);
});

test("ozone's equilibrium has the features of the observed climate", () => {
  expect(equilibriumOzone(0, 10, 0)).toBeGreaterThan(8);
  expect(equilibriumOzone(0, 10, 0)).toBeLessThan(10.5);
  const column = LAYER_PRESSURES_HPA.map(pressure => equilibriumOzone(0, pressure, 3));
  expect(LAYER_PRESSURES_HPA[column.indexOf(Math.max(...column))]).toBe(10);
  for (const latitude of [-80, -30, 0, 45, 80]) expect(equilibriumOzone(latitude, 700, 6)).toBeLessThan(0.1);
  expect(equilibriumOzone(70, 100, 2)).toBeGreaterThan(4 * equilibriumOzone(0, 100, 2));
  expect(equilibriumOzone(10, 10, 6)).toBeGreaterThan(equilibriumOzone(10, 10, 0));
  expect(equilibriumOzone(60, 100, 2)).toBeGreaterThan(equilibriumOzone(60, 100, 8));
  expect(equilibriumOzone(-85, 70, 9)).toBeLessThan(equilibriumOzone(-85, 70, 5) / 2);
});

test("ozone's equilibrium is positive and continuous over the year and the equator", () => {
  for (const pressure of LAYER_PRESSURES_HPA) {
    for (let latitude = -90; latitude <= 90; latitude += 2.5) {
      for (let month = 0; month < 12; month++) {
        const here = equilibriumOzone(latitude, pressure, month);
        expect(here).toBeGreaterThan(0.01);
        expect(Math.abs(equilibriumOzone(latitude, pressure, month + 1e-6) - here)).toBeLessThan(1e-4);
      }
    }
    expect(equilibriumOzone(1e-9, pressure, 2)).toBeCloseTo(equilibriumOzone(-1e-9, pressure, 2), 6);
    expect(equilibriumOzone(20, pressure, 12)).toBeCloseTo(equilibriumOzone(20, pressure, 0), 9);
  }
});

test("ozone lives days at the stratopause and months in the lower stratosphere", () => {
  expect(relaxationTime(1)).toBe(2 * 86400);
  expect(relaxationTime(10)).toBe(20 * 86400);
  expect(relaxationTime(100)).toBe(120 * 86400);
});

test("months have their names", () => {
  expect(monthLabel(0)).toBe("January");
  expect(monthLabel(0.49)).toBe("January");
  expect(monthLabel(0.5)).toBe("February");
  expect(monthLabel(11.9)).toBe("January");
  expect(monthLabel(11.4)).toBe("December");
  expect(() => monthLabel(Number.NaN)).toThrow(RangeError);
});
