// biome-ignore-all lint/style/noNonNullAssertion: every index below is in range by construction of the loops
import { blendMonths, northernWinter } from "./calendar.ts";
import { EARTH_RADIUS, Grid } from "./grid.ts";
import { approximateHeightKm, pressureProfile } from "./layers.ts";
import { interpolateStream, type StreamFunction, streamFunctionOf } from "./stream-function.ts";
import { travellingWaves, type WaveBelt } from "./waves.ts";
import type { MonthlyWinds } from "./winds.ts";

/** Share of the observed zonal mean wind at 200 hPa. */
const zonalShare = pressureProfile([
  [1000, 0.15],
  [850, 0.25],
  [700, 0.4],
  [500, 0.62],
  [300, 0.92],
  [200, 1],
  [100, 0.7],
  [50, 0.35],
  [20, 0.12],
  [10, 0.05],
  [5, 0],
]);
/** Share of the observed stationary waves 1 to 3. */
const planetaryShare = pressureProfile([
  [1000, 0.25],
  [700, 0.45],
  [300, 0.9],
  [200, 1],
  [50, 0.8],
  [10, 0.8],
  [1, 0.5],
]);
/** Share of the observed shorter stationary waves, which do not reach far into the stratosphere. */
const shortShare = pressureProfile([
  [1000, 0.2],
  [700, 0.45],
  [300, 0.95],
  [200, 1],
  [100, 0.5],
  [50, 0.15],
  [20, 0],
]);
/** Share of the weather: travelling waves of the storm tracks. */
const weatherShare = pressureProfile([
  [1000, 0.4],
  [700, 0.6],
  [300, 1],
  [200, 0.95],
  [100, 0.5],
  [50, 0.2],
  [20, 0],
]);
/** Share of the travelling planetary waves of the stratosphere. */
const vortexShare = pressureProfile([
  [300, 0],
  [100, 0.3],
  [30, 0.8],
  [10, 1],
  [1, 1],
]);
/** How much of a stationary wave depends on winter westerlies: all of it from 30 hPa up, nothing below 150 hPa. */
const winterOnly = pressureProfile([
  [150, 0],
  [30, 1],
]);
const polarNightJet = pressureProfile([
  [150, 0],
  [70, 0.12],
  [30, 0.35],
  [10, 0.65],
  [3, 0.9],
  [1, 1],
]);
const summerEasterlies = pressureProfile([
  [70, 0],
  [30, 0.2],
  [10, 0.45],
  [1, 1],
]);
const tradeWinds = pressureProfile([
  [850, 1],
  [500, 0],
]);
const tropicalEasterlies = pressureProfile([
  [100, 0],
  [50, 0.6],
  [20, 1],
  [5, 0.6],
  [1, 0.2],
]);

/**
 * The wind of every layer, as a stream function, from the observed monthly mean wind at 200 hPa.
 *
 * An idealisation: one observed level stands for all. Its zonal mean, its planetary waves and its shorter
 * waves are scaled over the pressures by the profiles above, whose shapes follow the textbook picture (Holton
 * and Hakim 2013, An Introduction to Dynamic Meteorology, chapters 10 to 12; Randel 1992, NCAR/TN-366): jets
 * strongest near 200 hPa and weak at the ground; stationary waves that lean west with height; only the
 * longest of them above, and only in winter, as Charney and Drazin (1961, Journal of Geophysical Research 66,
 * 83-109) explain. Analytic zonal winds are added where 200 hPa knows nothing: the polar night jet (70 m/s at
 * 60 degrees and 1 hPa), the summer easterlies (-43 m/s), the trades and the easterlies of the tropical
 * stratosphere, in round numbers after the charts of CIRA-86 (Fleming et al. 1990, Advances in Space Research
 * 10, 11-59).
 *
 * A monthly mean knows no weather. So travelling waves, solutions of no equation but of plausible size,
 * length and speed, are added as well (see `waves.ts`): without them air would only go round and round on
 * standing paths.
 *
 * The wind is blended linearly between the middles of the months. Since every part is a stream function, so
 * is the whole: no layer gains or loses air anywhere. Vertical motion is left out.
 */
export class Circulation {
  readonly #grid: Grid;
  readonly #months: readonly StreamFunction[];
  readonly #layers: readonly LayerShares[];
  readonly #weather: WaveBelt | undefined;
  readonly #vortex: WaveBelt | undefined;
  readonly #northness: Float64Array;
  readonly #zonal: Float64Array;
  readonly #rowOffset: Float64Array;
  readonly #planetary: Float64Array;
  readonly #planetaryTurned: Float64Array;
  readonly #short: Float64Array;
  #winter = 0;

  /** `weather: false` leaves the travelling waves out; `seed` chooses their phases. */
  constructor(
    grid: Grid,
    pressuresHpa: readonly number[],
    winds: MonthlyWinds,
    options: { weather: boolean; seed: number },
  ) {
    const observed = new Grid(winds.rows, winds.columns);
    const size = winds.rows * winds.columns;
    const corners = grid.rows - 1;
    this.#grid = grid;
    this.#months = Array.from({ length: 12 }, (_, month) => {
      const eastward = winds.eastward.subarray(month * size, (month + 1) * size);
      const northward = winds.northward.subarray(month * size, (month + 1) * size);
      return interpolateStream(streamFunctionOf(observed, eastward, northward), observed, grid);
    });
    this.#layers = pressuresHpa.map(sharesAt);
    const waves = options.weather ? travellingWaves(grid, options.seed) : undefined;
    this.#weather = waves?.weather;
    this.#vortex = waves?.vortex;
    this.#northness = Float64Array.from({ length: corners }, (_, c) =>
      Math.tanh((grid.latitudes[c]! - grid.latStep / 2) / 12),
    );
    this.#zonal = new Float64Array(corners);
    this.#rowOffset = new Float64Array(corners);
    this.#planetary = new Float64Array(corners * grid.columns);
    this.#planetaryTurned = new Float64Array(corners * grid.columns);
    this.#short = new Float64Array(corners * grid.columns);
  }

  /** Sets the time for which `streamOf` answers: seconds for the travelling waves, a month (0..12) for the rest. */
  moveTo(seconds: number, month: number): void {
    const { earlier, later, weight } = blendMonths(month);
    const a = this.#months[earlier]!;
    const b = this.#months[later]!;
    blend(a.zonal, b.zonal, weight, this.#zonal);
    blend(a.planetary, b.planetary, weight, this.#planetary);
    blend(a.planetaryTurned, b.planetaryTurned, weight, this.#planetaryTurned);
    blend(a.short, b.short, weight, this.#short);
    this.#winter = northernWinter(month);
    this.#weather?.moveTo(seconds, this.#winter);
    this.#vortex?.moveTo(seconds, this.#winter);
  }

  /** Writes the stream function (m2/s, [rows - 1][columns]) of layer k into `stream`. */
  streamOf(k: number, stream: Float64Array): void {
    const { columns, rows } = this.#grid;
    const shares = this.#layers[k]!;
    this.#setRowOffset(shares);
    const planetary = this.#planetary;
    const turned = this.#planetaryTurned;
    const short = this.#short;
    const weather = this.#weather?.stream ?? short;
    const vortex = this.#vortex?.stream ?? short;
    const weatherPart = this.#weather ? shares.weather : 0;
    const vortexPart = this.#vortex ? shares.vortex : 0;
    for (let c = 0; c < rows - 1; c++) {
      const winter = (1 + this.#northness[c]! * (2 * this.#winter - 1)) / 2;
      const kept = shares.planetary * (1 - shares.winterOnly * (1 - winter));
      const straight = kept * Math.cos(shares.tilt);
      const crosswise = kept * Math.sin(shares.tilt);
      const offset = this.#rowOffset[c]!;
      for (let n = c * columns; n < (c + 1) * columns; n++) {
        stream[n] =
          offset +
          straight * planetary[n]! +
          crosswise * turned[n]! +
          shares.short * short[n]! +
          weatherPart * weather[n]! +
          vortexPart * vortex[n]!;
      }
    }
  }

  #setRowOffset(shares: LayerShares): void {
    const { rows, latitudes, latStep } = this.#grid;
    const height = (EARTH_RADIUS * latStep * Math.PI) / 180;
    let added = 0;
    this.#rowOffset[0] = shares.zonal * this.#zonal[0]!;
    for (let c = 1; c < rows - 1; c++) {
      added += addedZonalWind(latitudes[c]!, this.#winter, shares) * height;
      this.#rowOffset[c] = shares.zonal * this.#zonal[c]! + added;
    }
  }
}

interface LayerShares {
  zonal: number;
  planetary: number;
  /** Radians by which the stationary waves lean west against 200 hPa. */
  tilt: number;
  winterOnly: number;
  short: number;
  weather: number;
  vortex: number;
  polarNightJet: number;
  summerEasterlies: number;
  tradeWinds: number;
  tropicalEasterlies: number;
}

function sharesAt(pressureHpa: number): LayerShares {
  const above200Km = approximateHeightKm(pressureHpa) - approximateHeightKm(200);
  return {
    zonal: zonalShare(pressureHpa),
    planetary: planetaryShare(pressureHpa),
    tilt: (above200Km / 10) * (Math.PI / 6),
    winterOnly: winterOnly(pressureHpa),
    short: shortShare(pressureHpa),
    weather: weatherShare(pressureHpa),
    vortex: vortexShare(pressureHpa),
    polarNightJet: polarNightJet(pressureHpa),
    summerEasterlies: summerEasterlies(pressureHpa),
    tradeWinds: tradeWinds(pressureHpa),
    tropicalEasterlies: tropicalEasterlies(pressureHpa),
  };
}

/** The analytic zonal wind in m/s; `winter` is 1 in mid January and 0 in mid July. */
function addedZonalWind(latitude: number, winter: number, shares: LayerShares): number {
  const inWinter = (1 + Math.tanh(latitude / 12) * (2 * winter - 1)) / 2;
  const away = Math.abs(latitude);
  const cosine = Math.cos((latitude * Math.PI) / 180);
  const jet = 140 * cosine * Math.exp(-(((away - 60) / 14) ** 2)) * shares.polarNightJet * inWinter ** 1.5;
  const summer =
    -52 * cosine * Math.exp(-(((away - 35) / 22) ** 2)) * shares.summerEasterlies * (1 - inWinter) ** 1.5;
  const trades = -7 * Math.exp(-((latitude / 18) ** 2)) * shares.tradeWinds;
  const tropical = -14 * Math.exp(-((latitude / 12) ** 2)) * shares.tropicalEasterlies;
  return jet + summer + trades + tropical;
}

function blend(
  earlier: Float64Array | Float32Array,
  later: Float64Array | Float32Array,
  weight: number,
  target: Float64Array,
): void {
  for (let n = 0; n < target.length; n++) target[n] = earlier[n]! + weight * (later[n]! - earlier[n]!);
}
