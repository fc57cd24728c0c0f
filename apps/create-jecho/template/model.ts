// Your own model goes here: an array of rows and columns, and what makes its next step.
export const rows = 180;
export const columns = 360;
export const values = new Float32Array(rows * columns);

let step = 0;

export function advance(): void {
  step++;
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      values[row * columns + column] = Math.sin(column / 20 + step / 10) * Math.cos(row / 15 - step / 25);
}
