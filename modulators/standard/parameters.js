import { checkInteger, checkName, checkNumber, checkWait, text } from "./check.js";

/*
 * What each modulator takes as its parameters: looked at where a consumer makes it, for the mistake to be told there, and by the modulator
 * itself, which anybody may have sent. Each throws an error that names what is wrong.
 */

/** @param {any} parameters */
export function checkAggregate(parameters) {
  checkName(parameters, "field");
  checkInteger(parameters, "every", 1);
  checkInteger(parameters, "window", 1, 10_000);
  checkInteger(parameters, "bins", 0, 1000);
  const { low, high, bins } = parameters;
  if (!Number.isFinite(low)) throw new RangeError(`low: a number is wanted, not ${text(low)}`);
  if (!Number.isFinite(high)) throw new RangeError(`high: a number is wanted, not ${text(high)}`);
  if (bins > 0 && !(low < high && Number.isFinite(high - low)))
    throw new RangeError(`low, high: the second is to be the greater one; they are ${low} and ${high}`);
}

/** @param {any} parameters */
export function checkCluster(parameters) {
  checkInteger(parameters, "events", 1, 65_536);
  checkInteger(parameters, "bytes", 1, 8 << 20);
  checkWait(parameters, "withinMs");
}

/** @param {any} parameters */
export function checkCompress(parameters) {
  checkInteger(parameters, "refreshEvents", 1);
}

/** @param {any} parameters */
export function checkCrop(parameters) {
  checkName(parameters, "field");
  const { shape } = parameters;
  if (!Array.isArray(shape) || shape.length !== 2)
    throw new RangeError(`shape: rows and columns are wanted, not ${text(shape)}`);
  const sizes = { rows: shape[0], columns: shape[1] };
  for (const name of /** @type {const} */ (["rows", "columns"]))
    if (typeof sizes[name] === "string") checkName(sizes, name);
    else checkInteger(sizes, name, 1);
}

/** @param {any} window */
export function checkCropWindow(window) {
  if (typeof window !== "object" || window === null)
    throw new RangeError(`window: a window, or a shared object with one, is wanted, not ${text(window)}`);
  const names = ["rows", "columns"];
  for (let i = 0; i < names.length; i++) {
    const range = window[names[i]];
    if (range === undefined) continue;
    const [first, last] = Array.isArray(range) && range.length === 2 ? range : [];
    if (!Number.isInteger(first) || !Number.isInteger(last) || first < 0 || first > last)
      throw new RangeError(`${names[i]}: the first and the last one from 0 are wanted, not ${text(range)}`);
  }
  if (window.stride !== undefined) checkInteger(window, "stride", 1);
}

/** @param {any} parameters */
export function checkDiff(parameters) {
  checkNumber(parameters, "threshold", 0);
}

/** @param {any} parameters */
export function checkDownsample(parameters) {
  checkName(parameters, "field");
  checkInteger(parameters, "factor", 1);
  checkName(parameters, "method", ["stride", "mean", "min", "max"]);
}

/** @param {any} parameters */
export function checkLatestPerKey(parameters) {
  checkName(parameters, "field");
  checkWait(parameters, "intervalMs", true);
  checkInteger(parameters, "keys", 1);
}

/** @param {any} parameters */
export function checkPriority(parameters) {
  checkName(parameters, "field");
  const { urgent: values } = parameters;
  if (!Array.isArray(values)) throw new RangeError(`urgent: a list of values is wanted, not ${text(values)}`);
  for (let i = 0; i < values.length; i++)
    if (!["string", "number", "boolean"].includes(typeof values[i]))
      throw new RangeError(`urgent[${i}]: a number, text or boolean is wanted, not ${text(values[i])}`);
}

/** @param {any} parameters */
export function checkQuantise(parameters) {
  checkName(parameters, "field");
  const { bound } = parameters;
  if (!Number.isFinite(bound) || bound <= 0)
    throw new RangeError(`bound: a number greater than 0 is wanted, not ${text(bound)}`);
  checkInteger(parameters, "refreshEvents", 1);
}

/** @param {any} parameters */
export function checkRateLimit(parameters) {
  checkWait(parameters, "intervalMs");
}

/** @param {any} parameters */
export function checkSample(parameters) {
  checkInteger(parameters, "every", 1);
}
