import type { ReactNode } from "react";
import type { PageState } from "../page-state.ts";
import { Sparkline, useSamples } from "./gauge.tsx";
import { formatBytes, formatShare, ratesOf, seriesOf, windowMsFor } from "./rate.ts";
import { expectedIntervalMs } from "./view-state.ts";

/** What all views together receive, beside what the simulation makes. */
export function TrafficPanel({ page }: { page: PageState }): ReactNode {
  const { traffic, feed, latest } = page;
  const samples = useSamples(() => traffic.bytes, feed);
  const interval = expectedIntervalMs(latest.simulation?.speed ?? 1, latest.intervalMs);
  const { receivedPerSecond, producedPerSecond, share } = ratesOf(samples, windowMsFor(interval));
  const { receivedBytes = 0, producedBytes = 0 } = samples.at(-1) ?? {};
  const total = producedBytes > 0 ? receivedBytes / producedBytes : undefined;
  return (
    <section
      className="panel"
      aria-label="Traffic of all views"
      data-testid="traffic"
      data-received={receivedBytes}
      data-produced={producedBytes}
      data-share={share}
    >
      <h2>Traffic of all views</h2>
      <Sparkline values={seriesOf(samples)} />
      <table className="traffic">
        <thead>
          <tr>
            <td />
            <th scope="col">now</th>
            <th scope="col">in all</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Received</th>
            <td>{formatBytes(receivedPerSecond)}/s</td>
            <td>{formatBytes(receivedBytes)}</td>
          </tr>
          <tr>
            <th scope="row">Produced</th>
            <td>{formatBytes(producedPerSecond)}/s</td>
            <td>{formatBytes(producedBytes)}</td>
          </tr>
          <tr className="share">
            <th scope="row">Share</th>
            <td>{formatShare(share)}</td>
            <td>{formatShare(total)}</td>
          </tr>
        </tbody>
      </table>
    </section>
  );
}
