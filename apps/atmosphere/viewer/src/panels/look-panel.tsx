import type { ReactNode } from "react";
import { COLOUR_MAPS, cssColour } from "../drawing/colour-map.ts";
import { heightLabel, type Look, pressureLabel } from "../look.ts";

interface LookPanelProps {
  readonly look: Look;
  readonly topLayer: number;
  readonly onChange: (patch: Partial<Look>) => void;
}

/** Layer and colours. */
export function LookPanel({ look, topLayer, onChange }: LookPanelProps): ReactNode {
  const { layer } = look;
  return (
    <section className="panel" aria-label="Layer and colours">
      <h2 className="layer-title">Layer</h2>
      <div className="layer">
        <p className="big" data-testid="layer-label">
          {pressureLabel(layer)}
          <span>{heightLabel(layer)}</span>
        </p>
        <div className="row">
          <button
            type="button"
            aria-label="Lower layer"
            disabled={layer <= 0}
            onClick={() => onChange({ layer: layer - 1 })}
          >
            −
          </button>
          <input
            type="range"
            className="grows"
            min={0}
            max={topLayer}
            step={1}
            value={layer}
            aria-label="Layer"
            aria-valuetext={`${pressureLabel(layer)}, ${heightLabel(layer)}`}
            data-testid="layer"
            onChange={event => onChange({ layer: Number(event.target.value) })}
          />
          <button
            type="button"
            aria-label="Higher layer"
            disabled={layer >= topLayer}
            onClick={() => onChange({ layer: layer + 1 })}
          >
            +
          </button>
        </div>
      </div>
      <h2>Colours</h2>
      <div className="swatches" role="radiogroup" aria-label="Colour map">
        {COLOUR_MAPS.map(map => (
          <label key={map.name} className="swatch">
            <input
              type="radio"
              name="colours"
              value={map.name}
              checked={look.colours === map}
              data-testid={`colours-${map.name}`}
              onChange={() => onChange({ colours: map })}
            />
            <span>{map.label}</span>
            <span
              className="swatch-bar"
              aria-hidden="true"
              style={{
                background: `linear-gradient(to right, ${Array.from({ length: 13 }, (_, i) => cssColour(map, i / 12)).join(",")})`,
              }}
            />
          </label>
        ))}
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={look.smooth}
          data-testid="smooth"
          onChange={event => onChange({ smooth: event.target.checked })}
        />
        Interpolate between cells
      </label>
    </section>
  );
}
