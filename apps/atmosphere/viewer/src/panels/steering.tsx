import { useSession } from "@jecho/react";
import { type ReactNode, useEffect, useState } from "react";
import { CHANNELS, type Status } from "../../../src/types.ts";
import { formatLatitude, formatLongitude } from "../drawing/projection.ts";
import { dayLabel, type Look, layerLabel, typedNumber } from "../look.ts";
import type { PageState } from "../page-state.ts";
import { type Command, useSteering } from "../session.ts";
import { modelDate } from "./header.tsx";
import { SourceList } from "./source-list.tsx";
import { isHeard, usePageState } from "./use-page-state.ts";
import { clockTime } from "./view-state.ts";

const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20];
const MONTHS = Array.from({ length: 12 }, (_, month) =>
  new Intl.DateTimeFormat("en-GB", { month: "long", timeZone: "UTC" }).format(Date.UTC(2001, month, 15)),
);
/** How long a choice waits for the simulation to confirm it before the control shows the truth again. */
const ANSWER_MS = 4000;

interface SteeringPanelProps {
  readonly page: PageState;
  readonly look: Look;
  readonly onChange: (patch: Partial<Look>) => void;
}

/** Asks the simulation for something; what is shown is what it says of itself, whoever asked. */
export function SteeringPanel({ page, look, onChange }: SteeringPanelProps): ReactNode {
  const { steer: send, error } = useSteering();
  const subject = useSession()?.subject;
  const state = usePageState(page);
  const { simulation, restartedAt } = page.latest;
  const heard = isHeard(state) ? simulation : undefined;
  const mayNot = error?.code === "RIGHT_MISSING";
  const steer = (command: Command): void => send?.(command);
  const paused = heard?.paused ?? false;
  return (
    <section className="panel" aria-label="Steering" data-testid="steering" data-may={!mayNot}>
      <h2>Simulation</h2>
      {mayNot ? (
        <p className="hint" data-testid="look-on">
          {subject === undefined ? "This page looks on" : `${subject} looks on`}: to steer takes the right to
          publish on {CHANNELS.steering}.
        </p>
      ) : (
        <fieldset disabled={send === undefined || heard === undefined}>
          <legend className="visually-hidden">Steering of the simulation</legend>
          <button
            type="button"
            className={paused ? "primary wide" : "wide"}
            data-testid="pause"
            data-paused={heard?.paused}
            onClick={() => steer({ command: paused ? "resume" : "pause" })}
          >
            {paused ? "Resume" : "Pause"}
          </button>
          <SpeedControl speed={heard?.speed} onSpeed={value => steer({ command: "speed", value })} />
          <label className="field stretch">
            <span>Season</span>
            <select
              value=""
              data-testid="month"
              onChange={event => steer({ command: "month", value: Number(event.target.value) })}
            >
              <option value="" disabled>
                {heard ? `Now ${modelDate(heard.month)}` : "Month"}
              </option>
              {MONTHS.map((name, month) => (
                <option key={name} value={month}>
                  Set mid {name}
                </option>
              ))}
            </select>
          </label>
          <SourceControl look={look} onChange={onChange} onAdd={steer} />
        </fieldset>
      )}
      <SourceList
        simulation={heard}
        onRemove={mayNot ? undefined : id => steer({ command: "remove", value: id })}
      />
      <p className="said" role="status" data-testid="notice">
        {sayNotice(heard, restartedAt)}
      </p>
      {error !== undefined && !mayNot && (
        <p className="said is-bad" role="alert" data-testid="steering-error">
          Cannot steer. {error.code}: {error.message}
        </p>
      )}
    </section>
  );
}

/** The newest command, when it was given and by whom. What a simulation that is not heard has said holds no more. */
function sayNotice(simulation: Status | undefined, restartedAt: number): string {
  if (simulation === undefined) return "";
  const { notice, noticeBy, noticeTime, firstStep } = simulation;
  const said =
    notice === "" ? "" : `${dayLabel(noticeTime)}${noticeBy === "" ? "" : `, ${noticeBy}`}: ${notice}`;
  if (said !== "" || restartedAt === 0) return said;
  const from = firstStep === 0 ? "began anew" : `went on from step ${firstStep}`;
  return `The simulation ended and ${from} at ${clockTime(restartedAt)}.`;
}

/** Shows the speed in force; while one is being chosen, that one. */
function SpeedControl({
  speed,
  onSpeed,
}: {
  speed: number | undefined;
  onSpeed: (speed: number) => void;
}): ReactNode {
  const [chosen, setChosen] = useState<number>();
  const isAnswered = chosen !== undefined && speed !== undefined && Math.abs(chosen - speed) < 1e-3;
  useEffect(() => {
    if (chosen === undefined) return;
    if (isAnswered) setChosen(undefined);
    const timer = setTimeout(() => setChosen(undefined), ANSWER_MS);
    return () => clearTimeout(timer);
  }, [chosen, isAnswered]);
  const shown = chosen ?? speed ?? 1;
  const nearest = SPEEDS.reduce((best, candidate, i) => {
    const known = SPEEDS[best] as number;
    return Math.abs(Math.log(candidate / shown)) < Math.abs(Math.log(known / shown)) ? i : best;
  }, 0);
  const isKnown = speed !== undefined || chosen !== undefined;
  const label = !isKnown ? "–" : `${Number(shown.toPrecision(2))} steps/s`;
  return (
    <label className="field stretch">
      <span>Speed</span>
      <input
        type="range"
        min={0}
        max={SPEEDS.length - 1}
        step={1}
        value={nearest}
        aria-valuetext={label}
        data-testid="speed"
        data-speed={speed === undefined ? undefined : Number(speed.toPrecision(3))}
        onChange={event => {
          const wanted = SPEEDS[Number(event.target.value)] as number;
          setChosen(wanted);
          onSpeed(wanted);
        }}
      />
      <output className="number">{label}</output>
    </label>
  );
}

interface SourceControlProps {
  readonly look: Look;
  readonly onChange: (patch: Partial<Look>) => void;
  readonly onAdd: (command: Command) => void;
}

function SourceControl({ look, onChange, onAdd }: SourceControlProps): ReactNode {
  const { source, isPicking, layer } = look;
  const [text, setText] = useState("5");
  const amount = typedNumber(text);
  const isValid = amount > 0 && amount <= 1000;
  return (
    <div className="source" data-testid="source">
      <h3>Ozone source</h3>
      <div className="row">
        <button
          type="button"
          aria-pressed={isPicking}
          data-testid="pick"
          onClick={() => onChange({ isPicking: !isPicking })}
        >
          {isPicking ? "Click the map or globe" : "Pick a place"}
        </button>
        <span className="number" data-testid="source-place">
          {source ? `${formatLatitude(source.latitude)}, ${formatLongitude(source.longitude)}` : "none"}
        </span>
      </div>
      <label className="field stretch">
        <span>Amount</span>
        <input
          inputMode="decimal"
          value={text}
          aria-invalid={!isValid}
          data-testid="amount"
          onChange={event => setText(event.target.value)}
        />
        <span className="unit">ppmv/day</span>
      </label>
      <p className="hint">For a day of model time, in this layer: {layerLabel(layer)}</p>
      <button
        type="button"
        className="wide"
        disabled={source === undefined || !isValid}
        data-testid="add-source"
        onClick={() => {
          if (source === undefined) return;
          onAdd({ command: "source", ...source, layer, amount });
          onChange({ source: undefined });
        }}
      >
        Add source
      </button>
    </div>
  );
}
