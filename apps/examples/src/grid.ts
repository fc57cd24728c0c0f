import { type Producer, type } from "@jecho/client";

/** One cell of the atmosphere, as the papers' sample programs have it. */
export const GridData = type("GridData", {
  layer: "int32",
  latitude: "int32",
  longitude: "int32",
  ozone: "float64",
});
export type GridData = typeof GridData.event;

/** Raises the cells of two layers, 60 degrees of latitude and 90 of longitude apart; each is handled before the next. */
export async function raiseStep(producer: Producer<GridData>, step: number): Promise<void> {
  for (let layer = 0; layer < 2; layer++) {
    for (let latitude = -60; latitude <= 60; latitude += 60) {
      for (let longitude = 0; longitude < 360; longitude += 90) {
        const ozone = 300 + 10 * layer + latitude / 10 + (longitude === 90 ? step : 0);
        await producer.publishSync({ layer, latitude, longitude, ozone });
      }
    }
  }
}
