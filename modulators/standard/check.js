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

const NUMBERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float32", "float64"];
const TAGS = [...NUMBERS, "bool", "int64", "uint64", "string"];

/**
 * A field of the events that come in, for the modulators' `static checkInput`.
 *
 * @param {any} fields
 * @param {string} field
 * @param {readonly string[]} kinds that it may be of
 * @param {string} otherwise what is wrong with one of any other kind
 */
export function checkField(fields, field, kinds, otherwise) {
  const kind = fields?.[field];
  if (kind === undefined) throw new RangeError(`field: an event has no field "${field}"`);
  if (!kinds.includes(kind)) throw new RangeError(`field: "${field}" ${otherwise}`);
}

/** By which events are told apart: of each event a table or a vector would be another one. @param {any} fields @param {string} field */
export function checkTag(fields, field) {
  checkField(fields, field, TAGS, "is no number, text or boolean");
}

/** A number, or a vector of them. @param {any} fields @param {string} field */
export function checkNumbers(fields, field) {
  checkField(fields, field, [...NUMBERS, ...NUMBERS.map(vectorOf), "bool[]"], "holds no numbers");
}

/** @param {any} fields @param {string} field */
export function checkVector(fields, field) {
  checkField(fields, field, [...NUMBERS.map(vectorOf), "bool[]"], "is no vector of numbers");
}

/** @param {any} fields @param {string} field */
export function checkArray(fields, field) {
  const kind = fields?.[field];
  checkField(fields, field, kind?.endsWith("[]") ? [kind] : [], "is no vector");
}

/** @param {any} fields @param {string} field */
export function checkFloats(fields, field) {
  checkField(fields, field, ["float32[]", "float64[]"], "is no vector of floats");
}

/** @param {any} fields @param {string} field */
export function checkScalar(fields, field) {
  checkField(fields, field, NUMBERS, "is no number");
}

/** @param {string} kind */
function vectorOf(kind) {
  return `${kind}[]`;
}

/** @param {unknown} value */
export function text(value) {
  if (typeof value === "string") return `"${value.slice(0, 40)}"`;
  return value === null || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : typeof value;
}
