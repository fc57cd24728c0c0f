/*
 * Checks of parameters, for the modulators' `static check`: each throws an error that names what is wrong.
 */

/**
 * @param {any} parameters
 * @param {string} name
 * @param {number} least
 * @param {number} [most]
 */
export function checkInteger(parameters, name, least, most = 0x7fff_ffff) {
  const value = parameters?.[name];
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`${name}: an integer from ${least} to ${most} is wanted, not ${text(value)}`);
}

/**
 * @param {any} parameters
 * @param {string} name
 * @param {number} least
 */
export function checkNumber(parameters, name, least) {
  const value = parameters?.[name];
  if (!Number.isFinite(value) || value < least)
    throw new RangeError(`${name}: a number from ${least} is wanted, not ${text(value)}`);
}

/** What the MOE waits at least. */
const LEAST_MS = 10;

/**
 * Milliseconds that something waits.
 *
 * @param {any} parameters
 * @param {string} name
 * @param {boolean} [orNone] may it be 0?
 */
export function checkWait(parameters, name, orNone = false) {
  const value = parameters?.[name];
  if ((orNone && value === 0) || (Number.isFinite(value) && value >= LEAST_MS)) return;
  const wanted = `${orNone ? "0, or " : ""}a number from ${LEAST_MS}`;
  throw new RangeError(`${name}: ${wanted} is wanted, not ${text(value)}`);
}

/**
 * @param {any} parameters
 * @param {string} name
 * @param {readonly string[]} [known]
 */
export function checkName(parameters, name, known) {
  const value = parameters?.[name];
  if (typeof value !== "string" || value === "" || (known !== undefined && !known.includes(value)))
    throw new RangeError(
      `${name}: ${known === undefined ? "the name of a field" : `one of ${known.join(", ")}`} is wanted, not ${text(value)}`,
    );
}

/**
 * The value of a field.
 *
 * @param {any} event
 * @param {string} field
 */
export function fieldOf(event, field) {
  const value = event[field];
  if (value === undefined) throw new RangeError(`field: an event has no field "${field}"`);
  return value;
}

/**
 * The value of a field by which events are told apart.
 *
 * @param {any} event
 * @param {string} field
 */
export function tagOf(event, field) {
  const value = fieldOf(event, field);
  // Of each event it would be another one.
  if (typeof value === "object" && value !== null)
    throw new RangeError(`field: "${field}" is no number, text or boolean`);
  return value;
}

/**
 * The numbers of a field: a vector as it is, a number as a vector of one.
 *
 * @param {any} event
 * @param {string} field
 * @returns {ArrayLike<number>}
 */
export function numbersOf(event, field) {
  const value = fieldOf(event, field);
  if (typeof value === "number") return [value];
  if (isVector(value)) return value;
  throw new RangeError(`field: "${field}" holds no numbers`);
}

/**
 * A field that is a vector of numbers.
 *
 * @param {any} event
 * @param {string} field
 */
export function vectorOf(event, field) {
  const value = fieldOf(event, field);
  if (isVector(value)) return value;
  throw new RangeError(`field: "${field}" is no vector of numbers`);
}

/** @param {any} value */
function isVector(value) {
  return ArrayBuffer.isView(value) && !(value instanceof BigInt64Array) && !(value instanceof BigUint64Array);
}

/** @param {unknown} value */
export function text(value) {
  if (typeof value === "string") return `"${value.slice(0, 40)}"`;
  return value === null || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : typeof value;
}
