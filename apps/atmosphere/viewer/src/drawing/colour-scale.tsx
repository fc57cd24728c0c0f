import { type FormEvent, type ReactNode, useState, useSyncExternalStore } from "react";
import { typedNumber, UNIT } from "../look.ts";
import { type ColourMap, cssColour } from "./colour-map.ts";
import { type ColourRange, type Range, type Scale, ticksOf } from "./colour-range.ts";

const STOPS = 24;

/** A picture's word on what its colours stand for. */
export interface ScaleSource {
  /** Scale of the picture as it is painted now; undefined before there is one. */
  readonly scale: Scale | undefined;
  readonly subscribeScale: (listener: () => void) => () => void;
}

interface ColourScaleProps {
  readonly name: string;
  readonly source: ScaleSource;
  readonly range: ColourRange;
  readonly colours: ColourMap;
}

/** The scale of the picture beside it. A click on it sets that, a lock holds it as it is. */
export function ColourScale({ name, source, range, colours }: ColourScaleProps): ReactNode {
  const scale = useSyncExternalStore(source.subscribeScale, () => source.scale);
  const locked = useSyncExternalStore(range.subscribe, () => range.locked);
  /** Undefined before it ever was. */
  const [isSetting, setSetting] = useState<boolean>();
  return (
    <div
      className="scale"
      data-testid={`scale-${name}`}
      data-low={scale?.low}
      data-high={scale?.high}
      data-locked={locked !== undefined}
    >
      {isSetting && scale !== undefined ? (
        <ScaleForm
          name={name}
          scale={scale}
          onSet={range.lock.bind(range)}
          onDone={() => setSetting(false)}
        />
      ) : (
        <button
          type="button"
          className="scale-body"
          aria-label={`Colour scale: ${sayScale(scale)}. Set it`}
          title="Set what the colours stand for"
          disabled={scale === undefined}
          // biome-ignore lint/a11y/noAutofocus: it stands where the form was that had the keys
          autoFocus={isSetting === false}
          data-testid={`set-scale-${name}`}
          onClick={() => setSetting(true)}
        >
          <ScaleBar scale={scale} colours={colours} />
        </button>
      )}
      <span className="unit" title="Parts per million by volume">
        {UNIT}
      </span>
      <button
        type="button"
        className="quiet"
        aria-pressed={locked !== undefined}
        disabled={scale === undefined}
        data-testid={`lock-${name}`}
        title={locked ? "Let the scale follow the data" : "Hold the scale as it is"}
        onClick={() => range.lock(locked === undefined ? scale && rangeOf(scale) : undefined)}
      >
        {locked ? "Locked" : "Lock"}
      </button>
    </div>
  );
}

function sayScale(scale: Scale | undefined): string {
  if (scale === undefined) return "no data yet";
  const { low, high, isBelow, isAbove } = scale;
  const beyond = isBelow || isAbove ? ", and values beyond" : "";
  return `${low} to ${high} ${UNIT}${beyond}`;
}

function rangeOf({ low, high }: Scale): Range {
  return { low, high };
}

function ScaleBar({ scale, colours }: { scale: Scale | undefined; colours: ColourMap }): ReactNode {
  const stops = Array.from({ length: STOPS + 1 }, (_, i) => cssColour(colours, i / STOPS));
  const { ticks, digits } = scale ? ticksOf(scale, 5) : { ticks: [], digits: 0 };
  return (
    <>
      <span className="scale-bar" style={{ background: `linear-gradient(to right, ${stops.join(",")})` }}>
        {scale?.isBelow && <span className="scale-beyond">◂</span>}
        {scale?.isAbove && <span className="scale-beyond is-above">▸</span>}
      </span>
      <span className="scale-ticks">
        {scale &&
          ticks.map(tick => (
            <span key={tick} style={{ left: `${((tick - scale.low) / (scale.high - scale.low)) * 100}%` }}>
              {tick.toFixed(digits)}
            </span>
          ))}
      </span>
    </>
  );
}

interface ScaleFormProps {
  readonly name: string;
  readonly scale: Scale;
  readonly onSet: (range: Range) => void;
  readonly onDone: () => void;
}

function ScaleForm({ name, scale, onSet, onDone }: ScaleFormProps): ReactNode {
  const [low, setLow] = useState(String(scale.low));
  const [high, setHigh] = useState(String(scale.high));
  const wanted = { low: typedNumber(low), high: typedNumber(high) };
  const isValid = wanted.low < wanted.high;
  const set = (event: FormEvent): void => {
    event.preventDefault();
    if (!isValid) return;
    onSet(wanted);
    onDone();
  };
  const field = (end: "low" | "high", value: string, change: (text: string) => void): ReactNode => (
    <input
      className="threshold"
      inputMode="decimal"
      aria-label={`${end === "low" ? "Lower" : "Upper"} end of the scale in ${UNIT}`}
      aria-invalid={!isValid}
      // biome-ignore lint/a11y/noAutofocus: the form stands where the button was that asked for it
      autoFocus={end === "low"}
      data-testid={`scale-${end}-${name}`}
      value={value}
      onChange={event => change(event.target.value)}
      onKeyDown={event => event.key === "Escape" && onDone()}
    />
  );
  return (
    <form className="scale-form" onSubmit={set}>
      {field("low", low, setLow)}
      <span aria-hidden="true">–</span>
      {field("high", high, setHigh)}
      <button type="submit" disabled={!isValid}>
        Set
      </button>
    </form>
  );
}
