// biome-ignore-all lint/style/noNonNullAssertion: every index below is in range by construction of the loops
import { SECONDS_PER_MONTH, wrapMonth } from "./calendar.ts";
import { Circulation } from "./circulation.ts";
import { Grid } from "./grid.ts";
import { approximateHeightKm, LAYER_PRESSURES_HPA, ozonePerPpmv } from "./layers.ts";
import { equilibriumOzone, relaxationTime } from "./ozone.ts";
import { type ActiveSource, checkSource, type Footprint, footprintOf, type Source } from "./source.ts";
import { Transport } from "./transport.ts";
import { randomOf } from "./waves.ts";
import { checkWinds, type MonthlyWinds } from "./winds.ts";

/** How many sources may be active at once. */
export const LARGEST_SOURCE_COUNT = 64;

export interface ModelOptions {
  /** Monthly mean winds at 200 hPa: those of `readWinds`, or any other. */
  winds: MonthlyWinds;
  /** Degrees between grid points in both directions, 2.5 by default; it must divide 180. */
  resolution?: number;
  /** The grid's size instead of a resolution; both together. */
  rows?: number;
  columns?: number;
  /** Month at time 0, in 0..12 (0 = mid January); 0 by default. */
  month?: number;
  /** Whether ozone relaxes towards its equilibrium; true by default. */
  chemistry?: boolean;
  /** Whether travelling waves are added to the monthly mean winds; true by default. */
  weather?: boolean;
  /** Chooses the phases of the waves in the first field and in the wind, 1 by default. */
  seed?: number;
}

/** All that a model goes on from, besides what it was made with. */
export interface ModelState {
  readonly time: number;
  readonly month: number;
  readonly steps: number;
  readonly nextSourceId: number;
  readonly sources: readonly ActiveSource[];
  /** Mixing ratios of each layer, as `Model.layer` has them. */
  readonly fields: readonly Float32Array[];
}

/**
 * Ozone in 37 layers of the atmosphere: carried by the wind, made and destroyed by sunlight, set free by
 * sources.
 *
 * Each layer is a field of volume mixing ratios in ppmv on a latitude-longitude grid. Air and ozone stay in
 * their layer: there is no vertical motion; what the slow overturning does to ozone is contained in its
 * equilibrium. A step is transport (`Transport`, with the winds of `Circulation`), then chemistry
 * (`equilibriumOzone`, exact over the step), then sources. The same options and calls give the same numbers,
 * bit for bit, on the same engine.
 *
 *     const model = new Model({ winds: await readWinds() });
 *     model.step(7200);
 *     const tenHectopascal = model.layer(31);
 */
export class Model {
  readonly grid: Grid;
  /** Pressure of each layer in hPa, layer 0 = lowest. */
  readonly layers: readonly number[] = LAYER_PRESSURES_HPA;
  readonly #circulation: Circulation;
  readonly #transport: Transport;
  readonly #chemistry: boolean;
  readonly #fields: readonly Float32Array[];
  readonly #stream: Float64Array;
  readonly #kgPerPpmv: Float64Array;
  #sources: Emission[] = [];
  #nextSourceId = 1;
  #time = 0;
  #month: number;
  #steps = 0;
  #stepping = false;
  /** When what is added now begins to count: the end of the step under way, if any. */
  #nextStepAt = 0;

  /** Throws RangeError, naming the cause, where an option is out of its range. */
  constructor(options: ModelOptions) {
    const { winds, month = 0, chemistry = true, weather = true, seed = 1 } = options;
    checkMonth(month);
    if (!Number.isInteger(seed)) throw new RangeError(`seed must be an integer, not ${seed}`);
    checkWinds(winds);
    this.grid = gridOf(options);
    const { rows, columns } = this.grid;
    this.#circulation = new Circulation(this.grid, this.layers, winds, { weather, seed });
    this.#transport = new Transport(this.grid);
    this.#chemistry = chemistry;
    this.#month = wrapMonth(month);
    this.#stream = new Float64Array((rows - 1) * columns);
    this.#kgPerPpmv = ozonePerPpmv(this.layers);
    this.#fields = firstFields(this.grid, this.layers, this.#month, seed);
  }

  /** Model seconds since the start. */
  get time(): number {
    return this.#time;
  }

  /** The time of the year in [0, 12); 0 = mid January. */
  get month(): number {
    return this.#month;
  }

  /** The sources that are active now, oldest first. */
  get sources(): readonly ActiveSource[] {
    return this.#sources.map(({ source }) => source);
  }

  /** A copy of all that another model, made with the same options, goes on from. Throws Error while a step is under way. */
  get state(): ModelState {
    if (this.#stepping) throw new Error("a step is under way");
    return {
      time: this.#time,
      month: this.#month,
      steps: this.#steps,
      nextSourceId: this.#nextSourceId,
      sources: this.sources,
      fields: this.#fields.map(field => field.slice()),
    };
  }

  /**
   * Goes on from the state of a model that was made with the same options. Throws RangeError where its grid is another one,
   * and Error while a step is under way.
   */
  restore({ time, month, steps, nextSourceId, sources, fields }: ModelState): void {
    if (this.#stepping) throw new Error("a step is under way");
    const isOurs = this.#fields.every((field, k) => fields[k]?.length === field.length);
    if (!isOurs || fields.length !== this.#fields.length)
      throw new RangeError("the state is of a model with another grid");
    this.#fields.forEach((field, k) => {
      field.set(fields[k]!);
    });
    this.#time = this.#nextStepAt = time;
    this.#month = month;
    this.#steps = steps;
    this.#nextSourceId = nextSourceId;
    this.#sources = sources.map(source => this.#emissionOf(source));
  }

  /** Moves the calendar, not the time. Throws RangeError outside 0..12. */
  setMonth(month: number): void {
    checkMonth(month);
    this.#month = wrapMonth(month);
  }

  /**
   * A live, row-major view of a layer's mixing ratios in ppmv, rows from north to south. It is of one time
   * only between steps. Throws RangeError where there is no such layer.
   */
  layer(k: number): Float32Array {
    const field = this.#fields[k];
    if (!field)
      throw new RangeError(`layer must be an integer from 0 to ${this.layers.length - 1}, not ${k}`);
    return field;
  }

  /** Kilograms of ozone in one layer, or in all of them. Throws RangeError where there is no such layer. */
  totalMass(k?: number): number {
    if (k !== undefined) return this.grid.integrate(this.layer(k)) * this.#kgPerPpmv[k]!;
    return this.layers.reduce((sum, _, layer) => sum + this.totalMass(layer), 0);
  }

  /**
   * Sets ozone free from now on. Throws RangeError, naming the cause, where a value is out of its range or
   * `LARGEST_SOURCE_COUNT` sources are active already.
   */
  addSource(source: Source): ActiveSource {
    checkSource(source, this.layers.length);
    if (this.#sources.length >= LARGEST_SOURCE_COUNT) {
      throw new RangeError(`no more than ${LARGEST_SOURCE_COUNT} sources may be active at once`);
    }
    const { latitude, longitude, layer, amount, radiusKm = 500, durationHours = 24 } = source;
    const area = Math.PI * (radiusKm * 1000) ** 2;
    const active: ActiveSource = {
      id: this.#nextSourceId++,
      latitude,
      longitude,
      layer,
      amount,
      radiusKm,
      durationHours,
      endsAt: this.#nextStepAt + durationHours * 3600,
      massKg: ((amount * durationHours) / 24) * area * this.#kgPerPpmv[layer]!,
    };
    this.#sources.push(this.#emissionOf(active));
    return active;
  }

  /** Ends a source before its time, from the next step on; what it has set free stays. @returns false where there is none with this id */
  removeSource(id: number): boolean {
    const before = this.#sources.length;
    this.#sources = this.#sources.filter(({ source }) => source.id !== id);
    return this.#sources.length < before;
  }

  #emissionOf(source: ActiveSource): Emission {
    const { latitude, longitude, radiusKm } = source;
    return { source, footprint: footprintOf(this.grid, latitude, longitude, radiusKm) };
  }

  /** Advances all layers. Throws RangeError unless `seconds` is over 0 and up to a month. */
  step(seconds: number): void {
    for (const _ of this.stepInSlices(seconds, this.layers.length));
  }

  /**
   * Advances all layers, and yields (how many are done) after every few of them, so that the caller can see
   * to other things between. Month and sources may be changed meanwhile; they count from the next step on. A
   * caller that stops early gets the rest of the step at once: the layers are never left at different times.
   *
   * Throws RangeError for `seconds` as `step` does, or where `layersPerSlice` is not a positive integer, and
   * Error while another step is under way.
   */
  *stepInSlices(seconds: number, layersPerSlice = 4): Generator<number, void, void> {
    if (!(seconds > 0 && seconds <= SECONDS_PER_MONTH)) {
      throw new RangeError(`a step must be over 0 and up to ${SECONDS_PER_MONTH} seconds, not ${seconds}`);
    }
    if (!Number.isInteger(layersPerSlice) || layersPerSlice < 1) {
      throw new RangeError(`layers per slice must be a positive integer, not ${layersPerSlice}`);
    }
    if (this.#stepping) throw new Error("a step is under way already");
    this.#stepping = true;
    this.#nextStepAt = this.#time + seconds;
    const month = this.#month;
    const sources = this.#sources.slice();
    this.#circulation.moveTo(this.#time + seconds / 2, month);
    let done = 0;
    try {
      while (done < this.layers.length) {
        const end = Math.min(this.layers.length, done + layersPerSlice);
        while (done < end) this.#stepLayer(done++, seconds, month, sources);
        if (done < this.layers.length) yield done;
      }
    } finally {
      while (done < this.layers.length) this.#stepLayer(done++, seconds, month, sources);
      this.#time = this.#nextStepAt;
      this.#month = wrapMonth(this.#month + seconds / SECONDS_PER_MONTH);
      this.#sources = this.#sources.filter(({ source }) => source.endsAt > this.#time);
      this.#steps++;
      this.#stepping = false;
    }
  }

  #stepLayer(k: number, seconds: number, month: number, emissions: readonly Emission[]): void {
    const field = this.#fields[k]!;
    this.#circulation.streamOf(k, this.#stream);
    this.#transport.advect(field, this.#stream, seconds, this.#steps % 2 === 0);
    if (this.#chemistry) this.#relax(field, this.layers[k]!, seconds, month);
    for (const { source, footprint } of emissions) {
      if (source.layer !== k) continue;
      const added = (source.amount * Math.min(seconds, source.endsAt - this.#time)) / 86400;
      footprint.points.forEach((point, n) => {
        field[point]! += added * footprint.shares[n]!;
      });
    }
  }

  #relax(field: Float32Array, pressureHpa: number, seconds: number, month: number): void {
    const { rows, columns, latitudes } = this.grid;
    const returned = -Math.expm1(-seconds / relaxationTime(pressureHpa));
    for (let j = 0; j < rows; j++) {
      const equilibrium = equilibriumOzone(latitudes[j]!, pressureHpa, month);
      for (let n = j * columns; n < (j + 1) * columns; n++) {
        field[n]! += returned * (equilibrium - field[n]!);
      }
    }
  }
}

interface Emission {
  source: ActiveSource;
  footprint: Footprint;
}

function gridOf({ resolution, rows, columns }: ModelOptions): Grid {
  if (rows === undefined && columns === undefined) return Grid.ofResolution(resolution ?? 2.5);
  if (resolution !== undefined) throw new RangeError("give a resolution, or rows and columns, not both");
  if (rows === undefined || columns === undefined) throw new RangeError("rows and columns belong together");
  return new Grid(rows, columns);
}

function checkMonth(month: number): void {
  if (!(month >= 0 && month <= 12)) throw new RangeError(`month must be 0..12, not ${month}`);
}

/**
 * The equilibrium, each column of it displaced north and south by planetary waves that lean west with height,
 * so that the first picture shows weather already and little spin-up is needed.
 */
function firstFields(
  grid: Grid,
  pressuresHpa: readonly number[],
  month: number,
  seed: number,
): Float32Array[] {
  const { rows, columns, latitudes, longitudes } = grid;
  const random = randomOf(seed ^ 0x5eed);
  const waves = [1, 2, 3, 5, 6].map(wavenumber => ({
    wavenumber,
    degrees: wavenumber < 4 ? 4 : 2.5,
    phase: [2 * Math.PI * random(), 2 * Math.PI * random()] as const,
  }));
  return pressuresHpa.map(pressure => {
    const lean = (approximateHeightKm(pressure) / 10) * (Math.PI / 6);
    const field = new Float32Array(rows * columns);
    for (let j = 0; j < rows; j++) {
      const latitude = latitudes[j]!;
      const belt = Math.sin((2 * latitude * Math.PI) / 180) ** 2;
      for (let i = 0; i < columns; i++) {
        let displaced = latitude;
        for (const { wavenumber, degrees, phase } of waves) {
          const turn = (wavenumber * longitudes[i]! * Math.PI) / 180 + lean + phase[latitude > 0 ? 0 : 1];
          displaced += belt * degrees * Math.cos(turn);
        }
        field[j * columns + i] = equilibriumOzone(Math.max(-90, Math.min(90, displaced)), pressure, month);
      }
    }
    return field;
  });
}
