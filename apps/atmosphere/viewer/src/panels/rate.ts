/** Bytes that a view receives, beside those that the simulation makes. */

/** Totals at one moment. */
export interface Sample {
  /** Milliseconds on any one clock. */
  readonly at: number;
  readonly receivedBytes: number;
  readonly producedBytes: number;
}

export interface Rates {
  readonly receivedPerSecond: number;
  readonly producedPerSecond: number;
  /** Received of produced over the window; undefined where nothing was produced. */
  readonly share: number | undefined;
}

const KEPT_SAMPLES = 61;

/** Adds a sample and forgets the oldest beyond a minute of seconds. Totals that fall begin a new series. */
export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  const last = samples.at(-1);
  if (last && (sample.receivedBytes < last.receivedBytes || sample.producedBytes < last.producedBytes)) {
    return [sample];
  }
  return [...samples, sample].slice(-KEPT_SAMPLES);
}

/** Over the last `windowMs`, or as much of it as there are samples. */
export function ratesOf(samples: readonly Sample[], windowMs: number): Rates {
  const last = samples.at(-1);
  // Timers are late by a little: a sample just outside of the window is still the one that is meant.
  const first = samples.find(sample => last !== undefined && last.at - sample.at <= windowMs + 100);
  if (first === undefined || last === undefined || last.at <= first.at)
    return { receivedPerSecond: 0, producedPerSecond: 0, share: undefined };
  const seconds = (last.at - first.at) / 1000;
  const received = last.receivedBytes - first.receivedBytes;
  const produced = last.producedBytes - first.producedBytes;
  return {
    receivedPerSecond: received / seconds,
    producedPerSecond: produced / seconds,
    share: produced > 0 ? received / produced : undefined,
  };
}

/** Received bytes per second between neighbouring samples. */
export function seriesOf(samples: readonly Sample[]): number[] {
  return samples.slice(1).map((sample, i) => {
    const before = samples[i] as Sample;
    return ((sample.receivedBytes - before.receivedBytes) / Math.max(1, sample.at - before.at)) * 1000;
  });
}

/** A window that holds a few steps, however slow they come. */
export function windowMsFor(intervalMs: number): number {
  return Math.min(60_000, Math.max(5000, 4 * intervalMs));
}

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** Three digits with a decimal unit. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value.toFixed(unit === 0 ? 0 : digitsFor(value))} ${UNITS[unit]}`;
}

export function formatShare(share: number | undefined): string {
  return share === undefined ? "–" : `${(share * 100).toFixed(digitsFor(share * 100))} %`;
}

function digitsFor(value: number): number {
  return value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
}
