import { JechoError } from "@jecho/shared";
import { checkOptions, type OptionNames } from "@jecho/shared/internal";
import {
  checkAggregate,
  checkCluster,
  checkCompress,
  checkCrop,
  checkCropWindow,
  checkDiff,
  checkDownsample,
  checkLatestPerKey,
  checkPriority,
  checkQuantise,
  checkRateLimit,
  checkSample,
} from "../../standard/parameters.js";
import { checkView } from "../../standard/window.js";
import type { Demodulator, HandlerPair, Json, Modulator, SharedReference } from "../authoring/modulator.ts";
import { AGGREGATE_SOURCE } from "../generated/standard/aggregate.ts";
import { CLUSTER_SOURCE } from "../generated/standard/cluster.ts";
import { COMPRESS_SOURCE } from "../generated/standard/compress.ts";
import { CROP_SOURCE } from "../generated/standard/crop.ts";
import { DIFF_SOURCE } from "../generated/standard/diff.ts";
import { DOWNSAMPLE_SOURCE } from "../generated/standard/downsample.ts";
import { FIFO_SOURCE } from "../generated/standard/fifo.ts";
import { LATEST_PER_KEY_SOURCE } from "../generated/standard/latest-per-key.ts";
import { PACKED_VIEW_SOURCE } from "../generated/standard/packed-view.ts";
import { PRIORITY_SOURCE } from "../generated/standard/priority.ts";
import { QUANTISE_SOURCE } from "../generated/standard/quantise.ts";
import { RATE_LIMIT_SOURCE } from "../generated/standard/rate-limit.ts";
import { SAMPLE_SOURCE } from "../generated/standard/sample.ts";
import { VIEW_FILTER_SOURCE } from "../generated/standard/view-filter.ts";
import { ClusterDemodulator } from "./cluster-demodulator.ts";
import { GridDemodulator } from "./grid-demodulator.ts";
import { PackedGridDemodulator } from "./packed-grid-demodulator.ts";
import { CompressDemodulator, QuantiseDemodulator } from "./stream-demodulators.ts";

/** A viewer's view: layers, and a window of rows and columns. A cell that touches the window is in it. */
export interface View {
  /** Inclusive; 0 is the lowest layer. */
  readonly firstLayer: number;
  /** Inclusive. */
  readonly lastLayer: number;
  /** Degrees north of the equator. */
  readonly south: number;
  /** Degrees, not less than `south`. */
  readonly north: number;
  /** Degrees, taken modulo 360. */
  readonly west: number;
  /** Degrees; less than `west`: the window crosses the date line; `west` + 360 or more: it goes all round. */
  readonly east: number;
  /** N takes every Nth row and column, from the window's first. */
  readonly stride: number;
}

/** One layer of a field on a grid of latitudes and longitudes, in degrees. */
export interface GridData {
  /** The producer's count of steps. */
  readonly step: number;
  /** 0 is the lowest. */
  readonly layer: number;
  /** The producer's time, in its unit. */
  readonly time: number;
  /** Latitude of the first row's centre. */
  readonly latFirst: number;
  /** Degrees from row to row; negative where rows run from north to south. */
  readonly latStep: number;
  /** Number of rows. */
  readonly rows: number;
  /** Longitude of the first column's centre. */
  readonly lonFirst: number;
  /** Degrees from column to column. */
  readonly lonStep: number;
  /** Number of columns. */
  readonly columns: number;
  /** Row by row. */
  readonly values: Float32Array;
}

/** A grid whose values are packed, without loss. */
export interface PackedGrid extends Omit<GridData, "values"> {
  /** The values' own bits, packed as `standard/packed-floats.js` says; as many values as there are cells. */
  readonly words: Uint32Array;
}

/** The cells of a grid that changed. */
export interface GridChange extends GridData {
  /** Each sandbox makes a stream of its own, and counts its events from 1. */
  readonly stream: number;
  /** The event's count in that stream. */
  readonly n: number;
  /** The event that left the layer as it was before this change; 0 where all cells are here. */
  readonly since: number;
  /** Cells that `values` belong to: row * columns + column. */
  readonly cells: Uint32Array;
}

/*
 * Each makes an eager handler. What its modulator would refuse is refused when it is made: `PARAMETERS_INVALID` naming the parameter, or
 * `ARGUMENT_INVALID` for an option that it does not have.
 */

/** A shared object with a `View` as its state, or a view that stays as it is. */
export type ViewReference = (SharedReference & { readonly state: Readonly<View> }) | View;

/** Passes every event, unchanged and in order. */
export function fifo(): HandlerPair {
  return { modulator: { source: FIFO_SOURCE } };
}

/** Options of `viewFilter`. */
export interface ViewFilterOptions {
  /**
   * Values travel in fewer bytes and come out bit for bit the same: about half the bytes for a smooth field, all of them for noise.
   * Costs some 10 ns per value in the modulator (in QuickJS 0.5 us), and as much in the demodulator. Default: false.
   */
  readonly packed?: boolean;
}

const VIEW_FILTER_OPTIONS: OptionNames<ViewFilterOptions> = { packed: true };

/**
 * Passes, of each layer (`GridData`) in the view, the part in its window, again as `GridData`.
 *
 * @throws JechoError `PARAMETERS_INVALID` naming what is wrong in the view, `ARGUMENT_INVALID` for an option that it does not have
 */
export function viewFilter(
  view: ViewReference,
  options?: ViewFilterOptions & { readonly packed?: false },
): HandlerPair<GridData, GridData>;
export function viewFilter(view: ViewReference, options: ViewFilterOptions): HandlerPair;
export function viewFilter(view: ViewReference, options: ViewFilterOptions = {}): HandlerPair {
  checkOptions<ViewFilterOptions>("viewFilter()", options, VIEW_FILTER_OPTIONS);
  if (!options.packed) return { modulator: withView(VIEW_FILTER_SOURCE, view, {}) };
  return {
    modulator: withView(PACKED_VIEW_SOURCE, view, {}),
    demodulator: new PackedGridDemodulator() as Demodulator,
  };
}

/**
 * Like `viewFilter`, but sends only the cells that differ by more than `threshold` (in the unit of the values) from what was last
 * sent of them. The demodulator rebuilds whole `GridData`, within the threshold. Where nothing changed, nothing is sent and the
 * handler is not called.
 */
export function diff(view: ViewReference, threshold: number): HandlerPair<GridChange, GridData> {
  const parameters = checked(checkDiff, { threshold });
  return { modulator: withView(DIFF_SOURCE, view, parameters), demodulator: new GridDemodulator() };
}

/** Every Nth event of each producer's process, beginning with the first. @param every N, an integer from 1 */
export function sample(every: number): HandlerPair {
  return { modulator: { source: SAMPLE_SOURCE, parameters: checked(checkSample, { every }) } };
}

/**
 * Passes at most one event per `intervalMs` milliseconds, at least 10, of each producer's process: the newest. The
 * first comes at once; the last one of a burst comes when the interval has ended, even if none follows.
 */
export function rateLimit(intervalMs: number): HandlerPair {
  return { modulator: { source: RATE_LIMIT_SOURCE, parameters: checked(checkRateLimit, { intervalMs }) } };
}

/** Options of `latestPerKey`. */
export interface LatestPerKeyOptions {
  /** Milliseconds to gather events for, at least 10, before the newest of each key is sent. Default 0: only until the transport is ready. */
  readonly intervalMs?: number;
  /** Largest number of keys with a waiting event; beyond it, the event that has waited longest is dropped. Default: 1000. */
  readonly keys?: number;
}

const LATEST_PER_KEY_OPTIONS: OptionNames<LatestPerKeyOptions> = { intervalMs: true, keys: true };

/** Keeps only the newest of the waiting events that have the same value of `field`. */
export function latestPerKey(field: string, options: LatestPerKeyOptions = {}): HandlerPair {
  checkOptions<LatestPerKeyOptions>("latestPerKey()", options, LATEST_PER_KEY_OPTIONS);
  const { intervalMs = 0, keys = 1000 } = options;
  const parameters = checked(checkLatestPerKey, { field, intervalMs, keys });
  return { modulator: { source: LATEST_PER_KEY_SOURCE, parameters } };
}

/** Sends events whose `field` is one of these values first, and marks them urgent for the rest of their way. */
export function priority(field: string, urgent: readonly (string | number | boolean)[]): HandlerPair {
  const parameters = checked(checkPriority, { field, urgent });
  return { modulator: { source: PRIORITY_SOURCE, parameters } };
}

/** Replaces every `factor` values of the vector `field` by one; the last one may stand for fewer. */
export function downsample(
  field: string,
  factor: number,
  method: "stride" | "mean" | "min" | "max" = "mean",
): HandlerPair {
  const parameters = checked(checkDownsample, { field, factor, method });
  return { modulator: { source: DOWNSAMPLE_SOURCE, parameters } };
}

/** A part of a grid, by rows and columns. What lies beyond the grid is left out. */
export interface CropWindow {
  /** The first row and the last one, counted from 0. Default: all. */
  readonly rows?: readonly [first: number, last: number];
  /** The first column and the last one. Default: all. */
  readonly columns?: readonly [first: number, last: number];
  /** N takes every Nth row and column, from the first ones. Default: 1. */
  readonly stride?: number;
}

/** Options of `crop`. */
export interface CropOptions {
  /** The field that holds the grid, row by row: a vector of anything. Default: `"values"`. */
  readonly field?: string;
  /** The grid's numbers of rows and columns, or the fields of the event that have them. Default: `["rows", "columns"]`. */
  readonly shape?: readonly [rows: number | string, columns: number | string];
}

/**
 * Passes, of a grid of any kind, the rows and columns in a window, which may be a shared object with a `CropWindow` as its state. Fields that say
 * the grid's shape say that of the part. Where nothing of the grid is in the window, nothing is sent.
 */
export function crop(
  window: (SharedReference & { readonly state: Readonly<CropWindow> }) | CropWindow,
  options: CropOptions = {},
): HandlerPair {
  checkOptions<CropOptions>("crop()", options, { field: true, shape: true });
  const { field = "values", shape = ["rows", "columns"] } = options;
  const parameters = checked(checkCrop, { field, shape });
  const source = CROP_SOURCE;
  if (typeof window === "object" && window !== null && "state" in window)
    return { modulator: { source, parameters, objects: { window } } };
  const { rows, columns, stride = 1 } = checked(checkCropWindow, window);
  const part = { ...(rows && { rows }), ...(columns && { columns }), stride };
  return { modulator: { source, parameters: { ...parameters, window: part } } };
}

/** Options of `aggregate`. */
export interface AggregateOptions {
  /** An aggregate comes after every so many events. Default: 1. */
  readonly every?: number;
  /** Number of last events that a summary covers, at most 10,000: more than `every` makes a moving average. Default: `every`. */
  readonly window?: number;
  /** Bins of the histogram, at most 1,000. Default 0: no histogram. */
  readonly bins?: number;
  /** Lower end of the histogram, in the unit of the values; values outside of it are in no bin. Required with `bins`. */
  readonly low?: number;
  /** Upper end of the histogram, inclusive. Required with `bins`. */
  readonly high?: number;
}

/** The result of `aggregate` for several events. */
export interface Aggregate {
  /** Number of events that the summary covers. */
  readonly events: number;
  /** Number of finite values in these events. */
  readonly count: number;
  /** NaN where `count` is 0. */
  readonly mean: number;
  /** Infinity where there are none. */
  readonly min: number;
  /** -Infinity where there are none. */
  readonly max: number;
  /** Lower end of the histogram; 0 without one. */
  readonly low: number;
  /** Upper end of the histogram; 0 without one. */
  readonly high: number;
  /** Number of values in each bin, from `low` to `high`. */
  readonly histogram: Uint32Array;
}

const AGGREGATE_OPTIONS: OptionNames<AggregateOptions> = {
  every: true,
  window: true,
  bins: true,
  low: true,
  high: true,
};

/** Mean, minimum, maximum and histogram of the numbers of `field`, a number or a vector, over several events. */
export function aggregate(field: string, options: AggregateOptions = {}): HandlerPair<Aggregate, Aggregate> {
  checkOptions<AggregateOptions>("aggregate()", options, AGGREGATE_OPTIONS);
  const { every = 1, window = every, bins = 0, low = 0, high = 0 } = options;
  const parameters = checked(checkAggregate, { field, every, window, bins, low, high });
  return { modulator: { source: AGGREGATE_SOURCE, parameters } };
}

/** Options of `cluster`. */
export interface ClusterOptions {
  /** Events in one cluster, at most 65,536. Default: 100. */
  readonly events?: number;
  /** Bytes of events in one cluster, at most 8 MiB. Default: 65,536. */
  readonly bytes?: number;
  /** Time that an event may wait for others, in milliseconds, at least 10. Default: 100. */
  readonly withinMs?: number;
}

/** Sends many small events as one; the demodulator takes them apart again. */
export function cluster(options: ClusterOptions = {}): HandlerPair {
  checkOptions<ClusterOptions>("cluster()", options, { events: true, bytes: true, withinMs: true });
  const { events = 100, bytes = 65_536, withinMs = 100 } = options;
  return {
    modulator: { source: CLUSTER_SOURCE, parameters: checked(checkCluster, { events, bytes, withinMs }) },
    demodulator: new ClusterDemodulator(),
  };
}

/** Options of `compress` and `quantise`. */
export interface StreamOptions {
  /** Number of events of which one is sent whole, for consumers that came late or missed one. Default: 50. */
  readonly refreshEvents?: number;
}

const STREAM_OPTIONS: OptionNames<StreamOptions> = { refreshEvents: true };

/** Lossless compression: sends only what changed from event to event. A consumer sees events from the first whole one on. */
export function compress(options: StreamOptions = {}): HandlerPair {
  checkOptions<StreamOptions>("compress()", options, STREAM_OPTIONS);
  const { refreshEvents = 50 } = options;
  return {
    modulator: { source: COMPRESS_SOURCE, parameters: checked(checkCompress, { refreshEvents }) },
    demodulator: new CompressDemodulator(),
  };
}

/**
 * Lossy compression of the float vector `field`: no number is off by more than `bound` (in the unit of the values), and numbers
 * that are not finite are exact. The rest of each event is as it was.
 */
export function quantise(field: string, bound: number, options: StreamOptions = {}): HandlerPair {
  checkOptions<StreamOptions>("quantise()", options, STREAM_OPTIONS);
  const { refreshEvents = 50 } = options;
  return {
    modulator: {
      source: QUANTISE_SOURCE,
      parameters: checked(checkQuantise, { field, bound, refreshEvents }),
    },
    demodulator: new QuantiseDemodulator(),
  };
}

function withView(source: string, view: ViewReference, parameters: Record<string, Json>): Modulator {
  if (typeof view !== "object" || view === null)
    throw new JechoError(
      "PARAMETERS_INVALID",
      `view: a view, or a shared object with one, is wanted, not ${view}`,
    );
  if ("state" in view) return { source, parameters, objects: { view } };
  checked(checkView, view);
  const { firstLayer, lastLayer, south, north, west, east, stride } = view;
  return {
    source,
    parameters: { ...parameters, view: { firstLayer, lastLayer, south, north, west, east, stride } },
  };
}

/**
 * The parameters, if the modulator takes them: what it would refuse in a producer, perhaps much later, is refused here.
 *
 * @throws JechoError `PARAMETERS_INVALID`
 */
function checked<Parameters>(check: (parameters: Parameters) => void, parameters: Parameters): Parameters {
  try {
    check(parameters);
    return parameters;
  } catch (error) {
    throw JechoError.from(error, "PARAMETERS_INVALID");
  }
}
