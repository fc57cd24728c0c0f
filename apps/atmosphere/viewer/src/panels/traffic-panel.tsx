import type { Placement } from "@jecho/client";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import type { PageState } from "../page-state.ts";
import { useEvery } from "../page-visibility.ts";
import type { Counted } from "../traffic.ts";
import type { ShownView } from "../views/shown-views.ts";
import {
  addSample,
  formatBytes,
  formatShare,
  type Rates,
  ratesOf,
  type Sample,
  seriesOf,
  windowMsFor,
} from "./rate.ts";
import { Sparkline } from "./sparkline.tsx";
import { clockTime, expectedIntervalMs } from "./view-state.ts";

const SAMPLE_MS = 1000;

/** Bytes of each view, and of all together, beside those that the simulation makes. */
export function TrafficPanel({ page }: { page: PageState }): ReactNode {
  const { traffic, latest, views } = page;
  const { samples, rates } = useRates(page, traffic);
  const shown = useSyncExternalStore(views.subscribe, views.snapshot);
  const { receivedBytes = 0, producedBytes = 0 } = samples.at(-1) ?? {};
  const { layers = 0, bytesPerStep = 0 } = latest.simulation ?? {};
  return (
    <section
      className="panel"
      aria-label="Traffic"
      data-testid="traffic"
      data-received={receivedBytes}
      data-produced={producedBytes}
      data-share={rates.share}
    >
      <h2>Traffic</h2>
      <Sparkline values={seriesOf(samples)} />
      <table className="traffic">
        <thead>
          <tr>
            <td />
            <th scope="col">now</th>
            <th scope="col">in all</th>
            <th scope="col">share</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(each => (
            <ViewRow key={each.part} page={page} view={each} />
          ))}
          <PartRow page={page} label="Status" received={traffic.of("status")} />
        </tbody>
        <tfoot>
          <tr>
            <th scope="row">Received</th>
            <td>{formatBytes(rates.receivedPerSecond)}/s</td>
            <td>{formatBytes(receivedBytes)}</td>
            <td className="share">{formatShare(share(receivedBytes, producedBytes))}</td>
          </tr>
          <tr>
            <th scope="row">Produced</th>
            <td>{formatBytes(rates.producedPerSecond)}/s</td>
            <td>{formatBytes(producedBytes)}</td>
            <td />
          </tr>
        </tfoot>
      </table>
      <p className="hint">
        Since {clockTime(traffic.openedAt)}. <b>Received</b> came to this page; <b>produced</b> is what the
        simulation made meanwhile{layers > 0 && `, ${formatBytes(bytesPerStep)} in ${layers} layers a step`}.
        A view is cut out of that inside the simulation: the rest does not travel.
      </p>
    </section>
  );
}

/** A share of the whole; undefined where there is no whole yet. */
function share(receivedBytes: number, producedBytes: number): number | undefined {
  return producedBytes > 0 ? receivedBytes / producedBytes : undefined;
}

function ViewRow({ page, view }: { page: PageState; view: ShownView }): ReactNode {
  const { part, title, name, subscription } = view;
  const { placements } = useSyncExternalStore(subscription.subscribe, subscription.snapshot);
  const { missed, dropped } = subscription.stats;
  return (
    <PartRow
      page={page}
      label={title}
      testId={`gauge-${name}`}
      received={page.traffic.of(part)}
      placements={placements}
      lost={{ missed, dropped }}
    />
  );
}

interface PartRowProps {
  readonly page: PageState;
  readonly label: string;
  readonly received: Counted;
  readonly testId?: string;
  /** Places where a view is cut out of the field. */
  readonly placements?: readonly Placement[];
  /** Events that will not come, and how many of them were dropped because this page did not keep up. */
  readonly lost?: { readonly missed: number; readonly dropped: number };
}

function PartRow(props: PartRowProps): ReactNode {
  const { page, label, received, testId, placements = [], lost = { missed: 0, dropped: 0 } } = props;
  const { samples, rates } = useRates(page, received);
  const { receivedBytes = 0, producedBytes = 0 } = samples.at(-1) ?? {};
  const [elsewhere] = placements.filter(({ at }) => at !== "producer");
  return (
    <>
      <tr
        data-testid={testId}
        data-received={receivedBytes}
        data-produced={producedBytes}
        data-missed={lost.missed}
        data-dropped={lost.dropped}
        data-placements={placements.map(({ at }) => at).join(" ")}
      >
        <th scope="row">{label}</th>
        <td>{formatBytes(rates.receivedPerSecond)}/s</td>
        <td>{formatBytes(receivedBytes)}</td>
        <td className="share">{formatShare(share(receivedBytes, producedBytes))}</td>
      </tr>
      {(elsewhere !== undefined || lost.missed > 0) && (
        <tr className="remark" data-testid={testId && `${testId}-remark`}>
          <td colSpan={4}>
            {elsewhere !== undefined && <span>{sayWhere(elsewhere)}</span>}
            {lost.missed > 0 && <span className="is-warning">{sayLost(lost)}</span>}
          </td>
        </tr>
      )}
    </>
  );
}

function sayLost({ missed, dropped }: { missed: number; dropped: number }): string {
  const events = `${missed} ${missed === 1 ? "event was" : "events were"} missed`;
  return dropped === 0
    ? `${events}.`
    : `${events}, ${dropped} of them dropped because this page was too slow.`;
}

function sayWhere({ at, why }: Placement): string {
  if (at === "consumer") return `Cut out here, of the whole field: ${why}.`;
  if (at === "nowhere") return `Not cut out: ${why}.`;
  return `Cut out at the gateway: ${why}.`;
}

/** A sample of the totals every second that the page is seen, for the last minute. */
function useRates(page: PageState, received: Counted): { samples: readonly Sample[]; rates: Rates } {
  const [samples, setSamples] = useState<readonly Sample[]>([]);
  const { produced } = page.traffic;
  useEvery(SAMPLE_MS, () => {
    const [receivedBytes, producedBytes] = [received.bytes, produced.bytes];
    setSamples(before => addSample(before, { at: performance.now(), receivedBytes, producedBytes }));
  });
  const { simulation, intervalMs } = page.latest;
  const rates = ratesOf(samples, windowMsFor(expectedIntervalMs(simulation?.speed ?? 1, intervalMs)));
  return { samples, rates };
}
