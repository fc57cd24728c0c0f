import { connect, modulatorFrom } from "@jecho/client";
import { Field } from "./field.ts";

/** Pixels of the screen for a cell. */
const CELL = 4;
const canvas = document.querySelector("canvas") as HTMLCanvasElement;
const context = canvas.getContext("2d") as CanvasRenderingContext2D;
const status = document.querySelector("output") as HTMLOutputElement;

const session = connect(location.host);
session.onStatus(({ state, error }) => {
  status.value = error === undefined ? state : `${state}: ${error.message}`;
});
// A shared object: changed here, it changes in the model's process.
const view = session.share({ columns: cellsAcross() });
addEventListener("resize", () => view.update({ columns: cellsAcross() }));

// Runs inside the model's process: no more crosses the network than this screen can show.
const modulator = modulatorFrom(
  (event: typeof Field.event, { objects }) => {
    const stride = Math.max(1, Math.ceil(event.columns / objects.view.columns));
    const rows = Math.ceil(event.rows / stride);
    const columns = Math.ceil(event.columns / stride);
    const values = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++)
      for (let column = 0; column < columns; column++)
        values[row * columns + column] = event.values[(row * event.columns + column) * stride] ?? 0;
    return { step: event.step, rows, columns, values };
  },
  { objects: { view } },
);
await session.channel("model/field", Field).subscribe(draw, { modulator, queue: { whenFull: "latest" } });

function cellsAcross(): number {
  return Math.ceil(innerWidth / CELL);
}

function draw({ step, rows, columns, values }: typeof Field.event): void {
  canvas.width = columns;
  canvas.height = rows;
  let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const picture = context.createImageData(columns, rows);
  for (const [i, value] of values.entries()) {
    const share = most > least ? (value - least) / (most - least) : 0.5;
    picture.data.set([255 * share, 90 + 80 * share, 255 * (1 - share), 255], 4 * i);
  }
  context.putImageData(picture, 0, 0);
  status.value = `step ${step}: ${rows} × ${columns} values from ${least.toFixed(2)} to ${most.toFixed(2)}`;
}
