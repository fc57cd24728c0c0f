import type { Placement } from "@jecho/client";
import { type ReactNode, useState } from "react";
import { useEvery } from "../page-visibility.ts";
import type { StatusFeed } from "../status-feed.ts";
import { addSample, formatBytes, formatShare, ratesOf, type Sample, seriesOf, windowMsFor } from "./rate.ts";

const SAMPLE_MS = 1000;
const WIDTH = 72;
const HEIGHT = 18;

interface GaugeProps {
  readonly name: string;
  /** Bytes received up to now. */
  readonly received: () => number;
  /** Events that will not come, and how many of them were dropped because this page did not keep up. */
  readonly lost: { readonly missed: number; readonly dropped: number };
  readonly feed: StatusFeed | undefined;
  /** Where the view is cut out of the field. */
  readonly placements: readonly Placement[];
  /** Time between steps. */
  readonly intervalMs: number;
}

/** What is received beside what the simulation makes for the whole field. */
export function Gauge({ name, received, lost, feed, placements, intervalMs }: GaugeProps): ReactNode {
  const samples = useSamples(received, feed);
  const { receivedPerSecond, producedPerSecond, share } = ratesOf(samples, windowMsFor(intervalMs));
  const last = samples.at(-1);
  const [elsewhere] = placements.filter(({ at }) => at !== "producer");
  const totals = `${formatBytes(last?.receivedBytes ?? 0)} of ${formatBytes(last?.producedBytes ?? 0)}`;
  return (
    <div
      className="gauge"
      data-testid={`gauge-${name}`}
      data-received-per-second={Math.round(receivedPerSecond)}
      data-produced-per-second={Math.round(producedPerSecond)}
      data-share={share}
      data-received={last?.receivedBytes ?? 0}
      data-produced={last?.producedBytes ?? 0}
      data-missed={lost.missed}
      data-dropped={lost.dropped}
      data-placements={placements.map(({ at }) => at).join(" ")}
      title={`Received ${totals} since this page began. ${sayLost(lost)} ${sayWhere(elsewhere)}`}
    >
      <Sparkline values={seriesOf(samples)} />
      <span className="gauge-numbers">
        <b>{formatBytes(receivedPerSecond)}/s</b>
        <span className="of"> of {formatBytes(producedPerSecond)}/s</span>
      </span>
      {elsewhere !== undefined && <span className="gauge-elsewhere">{CUT_OUT[elsewhere.at]}</span>}
      {lost.missed > 0 && <span className="gauge-missed">{lost.missed} missed</span>}
      <span className="gauge-share">{formatShare(share)}</span>
    </div>
  );
}

function sayLost({ missed, dropped }: GaugeProps["lost"]): string {
  if (missed === 0) return "No event was missed.";
  const events = `${missed} ${missed === 1 ? "event was" : "events were"} missed`;
  return dropped === 0
    ? `${events}.`
    : `${events}, ${dropped} of them dropped because this page was too slow.`;
}

const CUT_OUT = {
  producer: "",
  gateway: "cut out at the gateway",
  consumer: "cut out here",
  nowhere: "not cut out",
} as const;

function sayWhere(elsewhere: Placement | undefined): string {
  if (elsewhere === undefined) return "The simulation cuts this view out of the field.";
  if (elsewhere.at === "consumer")
    return `This page gets the whole field and cuts this view out of it itself: ${elsewhere.why}.`;
  if (elsewhere.at === "nowhere") return `Nobody cuts this view out of the field: ${elsewhere.why}.`;
  return `A process beside the gateway cuts this view out of the field: ${elsewhere.why}.`;
}

/** A sample of the totals every second that the page is seen, for the last minute. */
export function useSamples(received: () => number, feed: StatusFeed | undefined): readonly Sample[] {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  useEvery(SAMPLE_MS, () => {
    if (feed === undefined) return;
    const { producedBytes } = feed.current;
    setSamples(before =>
      addSample(before, { at: performance.now(), receivedBytes: received(), producedBytes }),
    );
  });
  return samples;
}

/** Bytes per second over the last minute. */
export function Sparkline({ values }: { values: readonly number[] }): ReactNode {
  const most = Math.max(1, ...values);
  const step = WIDTH / 59;
  const points = values.map((value, i) => {
    const x = WIDTH - (values.length - 1 - i) * step;
    return `${x.toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1)}`;
  });
  return (
    <svg
      className="sparkline"
      preserveAspectRatio="none"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      aria-hidden="true"
    >
      <line x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}
