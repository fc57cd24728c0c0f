import type { ReactNode } from "react";

const WIDTH = 72;
const HEIGHT = 18;

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
