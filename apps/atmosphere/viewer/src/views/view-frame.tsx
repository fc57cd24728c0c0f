import { useStatus } from "@jecho/react";
import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import { REPLAY } from "../field-subscription.ts";
import type { FieldSnapshot, Mode } from "../field-view.ts";
import { DETAILS, type Detail, typedNumber, UNIT } from "../look.ts";
import type { PageState } from "../page-state.ts";
import { lastShownAt } from "../page-visibility.ts";
import { StatePill, useNow } from "../panels/state.tsx";
import { expectedIntervalMs, type Judged, judge } from "../panels/view-state.ts";
import type { Subscribed } from "../session.ts";
import type { ViewKind } from "./arrangement.ts";
import type { ViewElements } from "./board.ts";

/** How this view is doing, looked at twice a second. */
function useViewState(page: PageState, { subscription, snapshot }: Subscribed): Judged {
  const session = useStatus();
  const now = useNow(500);
  const { latest } = page;
  const { simulation, intervalMs, receivedAt } = latest;
  const step = snapshot.mode.kind === "alarm" ? simulation?.step : subscription?.seen.last;
  return judge({
    now,
    session,
    subscription: snapshot.status,
    isOnline: navigator.onLine,
    openedAt: subscription?.openedAt ?? 0,
    lastEventAt: subscription?.lastEventAt ?? 0,
    gapMs: subscription?.gapMs ?? 0,
    // An alarm sends what changes: how long that takes the simulation's own word says.
    ageMs: step === undefined ? undefined : page.feed?.clock.ageMs(step, now),
    shownAt: lastShownAt(),
    statusAt: receivedAt,
    paused: simulation?.paused ?? false,
    expectedMs: expectedIntervalMs(simulation?.speed ?? 1, intervalMs),
    isAlarm: snapshot.mode.kind === "alarm",
    waitingSince: subscription?.waitingSince ?? 0,
    replay: snapshot.isReplay
      ? {
          speed: REPLAY.speed,
          stepsBehind: Math.max(0, (simulation?.step ?? 0) - (subscription?.seen.last ?? 0)),
        }
      : undefined,
  });
}

interface ViewFrameProps {
  readonly name: ViewKind;
  readonly title: string;
  /** Among the views of the page. */
  readonly place: number;
  readonly page: PageState;
  readonly subscribed: Subscribed;
  readonly detail: Detail;
  readonly onDetail: (detail: Detail) => void;
  /** The keys in words, for those who do not see the picture. */
  readonly keys: string;
  readonly attach: (elements: ViewElements, surface: HTMLElement, signal: AbortSignal) => () => void;
  readonly onKeys: (hasKeys: boolean) => void;
  /** Description of the picture as it is now; empty where there is none. */
  readonly caption: () => string;
  readonly tools?: ReactNode;
  readonly scale?: ReactNode;
  readonly isPicking?: boolean;
}

export function ViewFrame(props: ViewFrameProps): ReactNode {
  const { name, title, place, page, subscribed, keys, scale, tools } = props;
  const { snapshot, retry, subscription } = subscribed;
  const state = useViewState(page, subscribed);
  const refs = useBoard(props.attach);
  const hint = useId();
  const { traffic, views } = page;
  useEffect(() => {
    if (subscription === undefined) return;
    const part = `${name} ${place}`;
    const stops = [traffic.of(part).add(subscription), views.add({ part, name, title, place, subscription })];
    return () => {
      for (const stop of stops) stop();
    };
  }, [traffic, views, name, title, place, subscription]);
  const pictured = props.caption();
  const isOld = pictured !== "" && !["live", "behind", "paused", "replay"].includes(state.state);
  return (
    <section
      ref={refs.host}
      className="view"
      data-view={name}
      data-testid={`view-${name}`}
      data-state={state.state}
      data-mode={snapshot.mode.kind}
      aria-label={title}
    >
      <header className="view-head">
        <h2>{title}</h2>
        <StatePill state={state} testId={`state-${name}`} />
        <div className="view-tools">
          {tools}
          <ModeControl subscribed={subscribed} name={name} />
          <label className="field stride">
            <span>Stride</span>
            <select
              value={props.detail}
              data-testid={`detail-${name}`}
              title="Every n-th row and column is sent: as many as the picture can show, or as many as you say"
              onChange={event => {
                const { value } = event.target;
                props.onDetail(value === "auto" ? "auto" : (Number(value) as Detail));
              }}
            >
              <optgroup label="Every n-th row and column">
                {DETAILS.map(detail => (
                  <option key={detail} value={detail}>
                    {detail}
                  </option>
                ))}
              </optgroup>
            </select>
          </label>
        </div>
      </header>
      <div
        ref={refs.surface}
        className={`surface surface-${name}${name === "section" ? "" : " picture"}${isOld ? " is-old" : ""}${props.isPicking ? " is-picking" : ""}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the picture is moved with the keys
        tabIndex={0}
        role="application"
        aria-label={pictured === "" ? title : `${title}: ${pictured}`}
        aria-describedby={hint}
        data-testid={`surface-${name}`}
        onFocus={event => props.onKeys(event.target.matches(":focus-visible"))}
        onBlur={() => props.onKeys(false)}
      >
        <canvas ref={refs.field} className="field-canvas" />
        <canvas ref={refs.lines} className="lines-canvas" />
        <p ref={refs.caption} className="caption picture" data-testid={`caption-${name}`} />
        <output
          ref={refs.readout}
          className="readout picture"
          data-testid={`readout-${name}`}
          aria-live="off"
        />
        <span id={hint} className="visually-hidden">
          {keys}
        </span>
        <ReplayBadge state={state} subscribed={subscribed} name={name} />
        {!snapshot.isReplay && <Resumed resumed={snapshot.resumed} name={name} />}
        <Notice state={state} pictured={pictured} fault={snapshot.fault?.message} onRetry={retry} />
      </div>
      <footer className="view-foot">
        {scale}
        <ReplayButton subscribed={subscribed} name={name} />
      </footer>
    </section>
  );
}

/** Shows the last minute again, or ends that. */
function ReplayButton({ subscribed, name }: { subscribed: Subscribed; name: string }): ReactNode {
  const { subscription, snapshot } = subscribed;
  const { isReplay, isChanging, status } = snapshot;
  return (
    <button
      type="button"
      className="quiet replay-button"
      aria-pressed={isReplay}
      disabled={status.state !== "live" || isChanging}
      data-testid={`replay-${name}`}
      title={
        isReplay
          ? "End the replay at once"
          : `Show what came for this view in the last ${REPLAY.seconds} s again, ${REPLAY.speed} times as fast`
      }
      onClick={() => void (isReplay ? subscription?.goLive() : subscription?.replay())}
    >
      <span aria-hidden="true">↺ </span>Last {REPLAY.seconds} s
    </button>
  );
}

/** Says over the picture that it is of the past, and of when. */
function ReplayBadge(props: { state: Judged; subscribed: Subscribed; name: string }): ReactNode {
  const { state, subscribed, name } = props;
  if (state.state !== "replay") return null;
  return (
    <div className="picture notice replay-badge" role="status" data-testid={`replay-badge-${name}`}>
      <strong>Replay</strong>
      <span aria-live="off">{state.detail}</span>
      <button
        type="button"
        disabled={subscribed.snapshot.isChanging}
        data-testid={`live-${name}`}
        onClick={() => void subscribed.subscription?.goLive()}
      >
        Live
      </button>
    </div>
  );
}

/** How long it is said what a lost connection cost. */
const RESUMED_MS = 6000;

/** Says for a while after a lost connection what did not come. */
function Resumed({ resumed, name }: { resumed: FieldSnapshot["resumed"]; name: string }): ReactNode {
  const now = useNow(500);
  if (resumed === undefined || now - resumed.at > RESUMED_MS) return null;
  const { missedSteps } = resumed;
  const missed = missedSteps === 0 ? "nothing" : `${missedSteps} ${missedSteps === 1 ? "step" : "steps"}`;
  return (
    <div
      className={`picture notice resumed${missedSteps > 0 ? " is-warning" : ""}`}
      role="status"
      data-testid={`resumed-${name}`}
    >
      Resumed, {missed} missed
    </div>
  );
}

/** Attaches the board to the elements as long as they are there. */
function useBoard(attach: ViewFrameProps["attach"]): {
  host: RefObject<HTMLElement | null>;
  surface: RefObject<HTMLDivElement | null>;
  field: RefObject<HTMLCanvasElement | null>;
  lines: RefObject<HTMLCanvasElement | null>;
  readout: RefObject<HTMLOutputElement | null>;
  caption: RefObject<HTMLParagraphElement | null>;
} {
  const host = useRef<HTMLElement>(null);
  const surface = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLCanvasElement>(null);
  const lines = useRef<HTMLCanvasElement>(null);
  const readout = useRef<HTMLOutputElement>(null);
  const caption = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const [h, s, f, l] = [host.current, surface.current, field.current, lines.current];
    const [r, c] = [readout.current, caption.current];
    if (h === null || s === null || f === null || l === null || r === null || c === null) return;
    const abort = new AbortController();
    const detach = attach({ host: h, field: f, lines: l, readout: r, caption: c }, s, abort.signal);
    return () => {
      abort.abort();
      detach();
    };
  }, [attach]);
  return { host, surface, field, lines, readout, caption };
}

/** Says over the picture what is the matter with it. */
function Notice(props: {
  state: Judged;
  pictured: string;
  fault: string | undefined;
  onRetry: () => void;
}): ReactNode {
  const { state, pictured, fault, onRetry } = props;
  // Its caption says how old.
  const old = pictured === "" ? "" : " The picture is old.";
  if (state.state === "refused") {
    return (
      <div className="picture notice is-bad" role="alert">
        <span>
          <strong>Refused.</strong> {state.detail}.{old}
        </span>
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      </div>
    );
  }
  if (fault !== undefined) return <div className="picture notice is-bad">{fault}</div>;
  if (state.state === "connecting" || state.state === "waiting")
    return (
      <div className="picture notice">
        {sayBeginning(state)}
        {old}
      </div>
    );
  if (state.state === "stale" || state.state === "reconnecting" || state.state === "closed")
    return <div className="picture notice is-warning">{old === "" ? "There is no picture." : old}</div>;
  return state.detail === "new window is on its way" ? (
    <div className="picture notice">{state.detail}</div>
  ) : null;
}

function sayBeginning({ state, detail }: Judged): string {
  const why = detail === "" ? "" : `: ${detail}`;
  return `${state === "waiting" ? "Waiting" : "Connecting"}${why}.`;
}

function ModeControl({ subscribed, name }: { subscribed: Subscribed; name: string }): ReactNode {
  const { mode, setMode, snapshot } = subscribed;
  const [text, setText] = useState(() => (mode.kind === "alarm" ? String(mode.threshold) : "0.05"));
  const threshold = typedNumber(text);
  const isValid = Number.isFinite(threshold) && threshold >= 0;
  const choose = (wanted: Mode): void => {
    if (wanted.kind !== mode.kind || (wanted.kind === "alarm" && wanted !== mode)) setMode(wanted);
  };
  return (
    <fieldset className="mode" aria-busy={snapshot.isChanging}>
      <legend className="visually-hidden">What is sent to {name}</legend>
      <div className="segments">
        <button
          type="button"
          aria-pressed={mode.kind === "filter"}
          data-testid={`filter-${name}`}
          title="Every step, all values of the window"
          onClick={() => choose({ kind: "filter" })}
        >
          Filter
        </button>
        <button
          type="button"
          aria-pressed={mode.kind === "alarm"}
          data-testid={`alarm-${name}`}
          title="Only the cells that changed by more than the threshold"
          onClick={() => isValid && choose({ kind: "alarm", threshold })}
        >
          Alarm
        </button>
      </div>
      {mode.kind === "alarm" && (
        <label className="field">
          <span aria-hidden="true">&gt;</span>
          <input
            className="threshold"
            inputMode="decimal"
            aria-label={`Alarm threshold in ${UNIT}`}
            aria-invalid={!isValid}
            data-testid={`threshold-${name}`}
            value={text}
            onChange={event => setText(event.target.value)}
            onBlur={() => isValid && threshold !== mode.threshold && setMode({ kind: "alarm", threshold })}
            onKeyDown={event =>
              event.key === "Enter" &&
              isValid &&
              threshold !== mode.threshold &&
              setMode({ kind: "alarm", threshold })
            }
          />
          <span>{UNIT}</span>
        </label>
      )}
    </fieldset>
  );
}
