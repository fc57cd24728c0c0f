import { type ReactNode, useSyncExternalStore } from "react";
import { UNIT } from "../look.ts";
import { type ColourMap, cssColour } from "./colour-map.ts";
import { type ColourRange, ticksOf } from "./colour-range.ts";

const STOPS = 24;

/** What the colours stand for, and a lock that holds it. */
export function ColourScale(props: { name: string; range: ColourRange; colours: ColourMap }): ReactNode {
  const { name, range, colours } = props;
  const shown = useSyncExternalStore(range.subscribe, () => range.range);
  const isLocked = useSyncExternalStore(range.subscribe, () => range.isLocked);
  const stops = Array.from({ length: STOPS + 1 }, (_, i) => cssColour(colours, i / STOPS));
  const { ticks, digits } = shown ? ticksOf(shown, 5) : { ticks: [], digits: 0 };
  const label = shown ? `${shown.low} to ${shown.high} ${UNIT}` : "no data yet";
  return (
    <div
      className="scale"
      data-testid={`scale-${name}`}
      data-low={shown?.low}
      data-high={shown?.high}
      data-locked={isLocked}
    >
      <div className="scale-body" role="img" aria-label={`Colour scale: ${label}`}>
        <div className="scale-bar" style={{ background: `linear-gradient(to right, ${stops.join(",")})` }} />
        <div className="scale-ticks" aria-hidden="true">
          {shown &&
            ticks.map(tick => (
              <span key={tick} style={{ left: `${((tick - shown.low) / (shown.high - shown.low)) * 100}%` }}>
                {tick.toFixed(digits)}
              </span>
            ))}
        </div>
      </div>
      <span className="unit" title="Parts per million by volume">
        {UNIT}
      </span>
      <button
        type="button"
        className="quiet"
        aria-pressed={isLocked}
        disabled={shown === undefined}
        data-testid={`lock-${name}`}
        title={isLocked ? "Let the range follow the data" : "Hold the range as it is"}
        onClick={() => range.lock(!isLocked)}
      >
        {isLocked ? "Locked" : "Lock"}
      </button>
    </div>
  );
}
