import type { ReactNode } from "react";
import type { Status, StatusSource } from "../../../src/types.ts";
import { formatLatitude, formatLongitude } from "../drawing/projection.ts";
import { pressureLabel } from "../look.ts";

const DAY_SECONDS = 86_400;

interface SourceListProps {
  /** Undefined while it is not heard: what it last said may be over. */
  readonly simulation: Status | undefined;
  /** Undefined for who may not steer. */
  readonly onRemove: ((id: number) => void) | undefined;
}

/** The sources that give off ozone now, as the maps mark them, with who added each. */
export function SourceList({ simulation, onRemove }: SourceListProps): ReactNode {
  if (simulation === undefined || simulation.sources.length === 0) return null;
  return (
    <div className="sources">
      <h3>Active sources</h3>
      <ul data-testid="source-list">
        {simulation.sources.map(source => (
          <li key={source.id} data-source={source.id}>
            <b className="source-number">{source.id}</b>
            <span className="grows">{describeSource(source, simulation.time)}</span>
            {onRemove !== undefined && (
              <button
                type="button"
                className="quiet"
                title="End this source now. What it has set free stays."
                aria-label={`Remove source ${source.id}`}
                onClick={() => onRemove(source.id)}
              >
                Remove
              </button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}

function describeSource(source: StatusSource, time: number): string {
  const { latitude, longitude, layer, amount, endsAt, by } = source;
  const days = Math.max(0, endsAt - time) / DAY_SECONDS;
  const rate = `${Number(amount.toPrecision(3))} ppmv/day`;
  const place = `${formatLatitude(latitude)}, ${formatLongitude(longitude)}, ${pressureLabel(layer)}`;
  const who = by === "" ? "" : ` by ${by},`;
  return `${rate} at ${place},${who} ${days.toFixed(1)} days left`;
}
