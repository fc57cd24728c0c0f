// biome-ignore-all lint/style/noNonNullAssertion: every index below is in range by construction of the loops
import { EARTH_RADIUS, type Grid } from "./grid.ts";

/** One travelling wave in each hemisphere. */
interface Wave {
  readonly wavenumber: number;
  /** Days in which it moves on by one wavelength; negative for a wave that moves west. */
  readonly periodDays: number;
  /** Largest meridional wind, m/s. */
  readonly speed: number;
}

interface Belt {
  readonly waves: readonly Wave[];
  /** Degrees from the equator at which the waves are strongest, and within which they fall to 1/e. */
  readonly latitude: number;
  readonly width: number;
  /** Radians by which a wave's phase lags ten degrees from its axis: what gives troughs their bow. */
  readonly bow: number;
  /** Strength in mid summer; in mid winter it is 1. */
  readonly summer: number;
}

/** Baroclinic waves of the storm tracks: 4000 to 7000 km long, moving east at 9 to 12 m/s. */
const WEATHER: Belt = {
  waves: [
    { wavenumber: 4, periodDays: 9.1, speed: 8 },
    { wavenumber: 5, periodDays: 6.6, speed: 9 },
    { wavenumber: 6, periodDays: 5, speed: 9 },
    { wavenumber: 7, periodDays: 3.9, speed: 7 },
  ],
  latitude: 46,
  width: 14,
  bow: 0.35,
  summer: 0.6,
};

/** Planetary waves of the winter stratosphere, of about the periods observed: they shake the vortex. */
const VORTEX: Belt = {
  waves: [
    { wavenumber: 1, periodDays: -16, speed: 8 },
    { wavenumber: 2, periodDays: 12, speed: 8 },
    { wavenumber: 3, periodDays: -7, speed: 4 },
  ],
  latitude: 60,
  width: 16,
  bow: 0.2,
  summer: 0.08,
};

/** Easterly waves, as the tropics have at all heights. */
const TROPICS: Belt = {
  waves: [
    { wavenumber: 4, periodDays: -6, speed: 3 },
    { wavenumber: 7, periodDays: -4.5, speed: 3 },
  ],
  latitude: 7,
  width: 13,
  bow: 0.2,
  summer: 0.9,
};

/** The travelling waves that a monthly mean wind does not show, for troposphere and stratosphere. */
export function travellingWaves(grid: Grid, seed: number): { weather: WaveBelt; vortex: WaveBelt } {
  const random = randomOf(seed);
  return {
    weather: new WaveBelt(grid, [WEATHER, TROPICS], random),
    vortex: new WaveBelt(grid, [VORTEX, TROPICS], random),
  };
}

/** The stream function of belts of waves in both hemispheres. */
export class WaveBelt {
  /** m2/s at the corners of the grid's cells, [rows - 1][columns], at the time of the last `moveTo`. */
  readonly stream: Float64Array;
  readonly #columns: number;
  readonly #parts: readonly WavePart[];

  constructor(grid: Grid, belts: readonly Belt[], random: () => number) {
    this.stream = new Float64Array((grid.rows - 1) * grid.columns);
    this.#columns = grid.columns;
    this.#parts = belts.flatMap(belt =>
      belt.waves.flatMap(wave => [
        partOf(grid, belt, wave, 1, 2 * Math.PI * random()),
        partOf(grid, belt, wave, -1, 2 * Math.PI * random()),
      ]),
    );
  }

  /** `northernWinter` is 1 in mid January and 0 in mid July. */
  moveTo(seconds: number, northernWinter: number): void {
    const stream = this.stream;
    const columns = this.#columns;
    stream.fill(0);
    for (const part of this.#parts) {
      const winter = part.hemisphere > 0 ? northernWinter : 1 - northernWinter;
      const strength = part.summer + (1 - part.summer) * winter;
      const turn = part.phase - part.frequency * seconds;
      const along = strength * Math.cos(turn);
      const across = strength * Math.sin(turn);
      for (let c = part.firstRow; c < part.endRow; c++) {
        // cos(m * longitude + turn + lag), its two factors taken apart.
        const real = part.real[c]! * along - part.imaginary[c]! * across;
        const imaginary = part.real[c]! * across + part.imaginary[c]! * along;
        for (let i = 0, n = c * columns; i < columns; i++, n++) {
          stream[n]! += real * part.cosine[i]! - imaginary * part.sine[i]!;
        }
      }
    }
  }
}

interface WavePart {
  hemisphere: 1 | -1;
  summer: number;
  phase: number;
  /** Radians per second. */
  frequency: number;
  firstRow: number;
  endRow: number;
  real: Float64Array;
  imaginary: Float64Array;
  cosine: Float64Array;
  sine: Float64Array;
}

function partOf(grid: Grid, belt: Belt, wave: Wave, hemisphere: 1 | -1, phase: number): WavePart {
  const radians = Math.PI / 180;
  const corners = grid.rows - 1;
  const real = new Float64Array(corners);
  const imaginary = new Float64Array(corners);
  const cosineOfAxis = Math.cos(belt.latitude * radians);
  const amplitude = (wave.speed * EARTH_RADIUS * cosineOfAxis) / wave.wavenumber;
  let firstRow = corners;
  let endRow = 0;
  for (let c = 0; c < corners; c++) {
    const latitude = hemisphere * (grid.latitudes[c]! - grid.latStep / 2);
    const fromAxis = latitude - belt.latitude;
    const envelope = Math.exp(-((fromAxis / belt.width) ** 2));
    if (envelope < 1e-4) continue;
    // The power of the cosine keeps the wave smooth where the meridians meet.
    const towardsPole =
      Math.min(1, Math.cos(latitude * radians) / cosineOfAxis) ** Math.min(wave.wavenumber, 3);
    const lag = hemisphere * belt.bow * (fromAxis / 10) ** 2;
    real[c] = amplitude * envelope * towardsPole * Math.cos(lag);
    imaginary[c] = amplitude * envelope * towardsPole * Math.sin(lag);
    firstRow = Math.min(firstRow, c);
    endRow = c + 1;
  }
  const angle = (i: number) => wave.wavenumber * (grid.longitudes[i]! + grid.lonStep / 2) * radians;
  return {
    hemisphere,
    summer: belt.summer,
    phase,
    frequency: (2 * Math.PI) / (wave.periodDays * 86400),
    firstRow,
    endRow,
    real,
    imaginary,
    cosine: Float64Array.from({ length: grid.columns }, (_, i) => Math.cos(angle(i))),
    sine: Float64Array.from({ length: grid.columns }, (_, i) => Math.sin(angle(i))),
  };
}

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
