import type { JechoError } from "@jecho/client";
import { useSession } from "@jecho/react";
import type { ReactNode } from "react";
import { CHANNELS } from "../../../src/types.ts";
import type { PageState } from "../page-state.ts";
import { Handover } from "./handover.tsx";
import { StatePill } from "./state.tsx";
import { usePageState } from "./use-page-state.ts";
import { clockTime, type Judged } from "./view-state.ts";

const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });
const DAY_MS = 86_400_000;
const YEAR_DAYS = 365.25;

/** The date in any year that a month of the model stands for; 0 is mid January. */
export function modelDate(month: number): string {
  return DATE.format(Date.UTC(2001, 0, 1) + ((month + 0.5) / 12) * YEAR_DAYS * DAY_MS);
}

interface PageHeadProps {
  readonly page: PageState;
  readonly fault: JechoError | undefined;
  readonly onRetry: () => void;
}

/** The simulation's word on itself and the page's state; where something is the matter, that stands in their place. */
export function PageHead({ page, fault, onRetry }: PageHeadProps): ReactNode {
  const subject = useSession()?.subject;
  const state = usePageState(page);
  const { simulation, intervalMs } = page.latest;
  const measured = intervalMs !== undefined && simulation?.paused === false ? 1000 / intervalMs : undefined;
  return (
    <header className="page-head" data-testid="page" data-state={state.state}>
      <h1>Atmosphere</h1>
      <p className="about">Ozone in a running model</p>
      <StatePill state={state} testId="page-state" />
      {subject !== undefined && (
        <span className="subject" title="The subject of this page's token" data-testid="subject">
          as <b>{subject}</b>
        </span>
      )}
      <a href={`#channel=${CHANNELS.status}`} title="The events of any channel of this gateway, as they come">
        Any channel
      </a>
      <Banner state={state} fault={fault} onRetry={onRetry} />
      <Handover />
      <dl className="facts">
        <Fact label="Model date" value={simulation ? modelDate(simulation.month) : "–"} testId="model-date" />
        <Fact
          label="Day"
          value={simulation ? (simulation.time / 86_400).toFixed(1) : "–"}
          testId="model-day"
          className="least"
        />
        <Fact label="Step" value={simulation ? String(simulation.step) : "–"} testId="model-step" />
        <Fact
          label="Steps/s"
          value={measured === undefined ? "–" : measured.toFixed(measured < 10 ? 1 : 0)}
          testId="model-speed"
        />
        <Fact
          label="Grid"
          value={simulation ? `${simulation.columns} × ${simulation.rows} × ${simulation.layers}` : "–"}
          testId="model-grid"
          className="minor"
        />
        <Fact
          label="Subscriptions"
          value={simulation ? String(simulation.viewers) : "–"}
          testId="viewers"
          className="minor"
        />
        <Fact
          label="Sources"
          value={simulation ? String(simulation.sources.length) : "–"}
          testId="sources"
          className="minor"
        />
      </dl>
    </header>
  );
}

interface FactProps {
  readonly label: string;
  readonly value: string;
  readonly testId: string;
  /** Mark of a fact that is left out where there is little room: `least` first, `minor` after that. */
  readonly className?: "minor" | "least";
}

function Fact({ label, value, testId, className }: FactProps): ReactNode {
  return (
    <div className={className}>
      <dt>{label}</dt>
      <dd data-testid={testId}>{value}</dd>
    </div>
  );
}

function Banner(props: { state: Judged; fault: JechoError | undefined; onRetry: () => void }): ReactNode {
  const { state, fault, onRetry } = props;
  const said = sayTrouble(state, fault);
  return (
    <div className="banner" role="status" data-testid="banner" data-state={said ? state.state : undefined}>
      {said !== "" && (
        <span className="banner-text" title={said}>
          {said}
        </span>
      )}
      {(state.state === "refused" || state.state === "handed-over") && (
        <button type="button" data-testid="open-anew" onClick={onRetry}>
          {state.state === "refused" ? "Try again" : "Open anew"}
        </button>
      )}
    </div>
  );
}

function sayTrouble({ state, since, detail }: Judged, fault: JechoError | undefined): string {
  const why = detail === "" ? "" : ` ${detail}.`;
  switch (state) {
    case "reconnecting":
      return `Connection lost at ${clockTime(since)}, and being made again: all pictures are old.${why}`;
    case "refused":
      return `The gateway refuses this page: ${detail}`;
    case "handed-over":
      return `Continued on another device since ${clockTime(since)}. What is seen here stands still.`;
    case "closed":
      return "The connection is closed.";
    case "stale":
      return `Nothing is heard of the simulation since ${clockTime(since)}. All pictures are old.`;
    case "connecting":
      return detail === ""
        ? ""
        : `There is no connection to ${location.host} so far: ${detail}. What is shown is what was seen before.`;
    case "waiting":
      return detail === "no simulation is heard" ? "Connected, but no simulation is heard yet." : "";
    default:
      return fault ? `${fault.code}: ${fault.message}` : "";
  }
}
