/** Colour maps out of published polynomials, so that a page needs no tables. */

type Rgb = readonly [number, number, number];

export interface ColourMap {
  readonly name: string;
  readonly label: string;
  /** Red, green, blue, each 0 to 1, for a place on the scale from 0 to 1. */
  readonly colour: (t: number) => Rgb;
}

/** Coefficients of t^0 ... t^6: M. Zucker's fit to matplotlib's viridis (Shadertoy WlfXRN, CC0). */
const VIRIDIS: readonly Rgb[] = [
  [0.2777273272234177, 0.005407344544966578, 0.3340998053353061],
  [0.1050930431085774, 1.404613529898575, 1.384590162594685],
  [-0.3308618287255563, 0.214847559468213, 0.09509516302823659],
  [-4.634230498983486, -5.799100973351585, -19.33244095627987],
  [6.228269936347081, 14.17993336680509, 56.69055260068105],
  [4.776384997670288, -13.74514537774601, -65.35303263337234],
  [-5.435455855934631, 4.645852612178535, 26.3124352495832],
];

/** The fit of d3-scale-chromatic (ISC) to cividis by J. Nunez, C. Anderton, R. Renslow (PLOS ONE 2018); 0 to 255. */
const CIVIDIS: readonly Rgb[] = [
  [-4.54, 32.49, 81.24],
  [-35.34, 170.73, 442.36],
  [2381.73, 52.82, -2482.43],
  [-6402.7, -131.46, 6167.24],
  [7024.72, 176.58, -6614.94],
  [-2710.57, -67.37, 2475.67],
];

/** The fit of d3-scale-chromatic (ISC) to turbo by A. Mikhailov (Google 2019, Apache-2.0); 0 to 255. */
const TURBO: readonly Rgb[] = [
  [34.61, 23.31, 27.2],
  [1172.33, 557.33, 3211.1],
  [-10793.56, 1225.33, -15327.97],
  [33300.12, -3574.96, 27814],
  [-38394.49, 1073.77, -22569.18],
  [14825.05, 707.56, 6838.66],
];

const ENTRIES = 256;

export const COLOUR_MAPS: readonly ColourMap[] = [
  { name: "viridis", label: "Viridis", colour: polynomial(VIRIDIS, 1) },
  { name: "cividis", label: "Cividis", colour: polynomial(CIVIDIS, 255) },
  { name: "turbo", label: "Turbo", colour: polynomial(TURBO, 255) },
];

function polynomial(coefficients: readonly Rgb[], scale: number): (t: number) => Rgb {
  return t => {
    const x = Math.min(1, Math.max(0, t));
    const channel = (c: 0 | 1 | 2): number => {
      const value = coefficients.reduceRight((sum, term) => sum * x + term[c], 0);
      return Math.min(1, Math.max(0, value / scale));
    };
    return [channel(0), channel(1), channel(2)];
  };
}

/** The map of that name, or the first one. */
export function colourMap(name: string): ColourMap {
  return COLOUR_MAPS.find(map => map.name === name) ?? (COLOUR_MAPS[0] as ColourMap);
}

/** 256 colours as RGBA bytes. */
export function colourTable({ colour }: ColourMap): Uint8Array {
  const table = new Uint8Array(ENTRIES * 4);
  for (let i = 0; i < ENTRIES; i++) {
    const rgb = colour(i / (ENTRIES - 1));
    table.set(
      [...rgb, 1].map(channel => Math.round(channel * 255)),
      i * 4,
    );
  }
  return table;
}

export function cssColour({ colour }: ColourMap, t: number): string {
  const channels = colour(t).map(channel => Math.round(channel * 255));
  return `rgb(${channels.join(" ")})`;
}
