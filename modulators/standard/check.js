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

/**
 * @param {any} parameters
 * @param {string} name
 * @param {readonly string[]} [known]
 */
export function checkName(parameters, name, known) {
  const value = parameters?.[name];
  if (typeof value !== "string" || value === "" || (known !== undefined && !known.includes(value)))
    throw new RangeError(
      `${name}: ${known?.join(", ") ?? "the name of a field"} is wanted, not ${text(value)}`,
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
  if (value === undefined) throw new RangeError(`events have no field "${field}"`);
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
  if (ArrayBuffer.isView(value) && !(value instanceof BigInt64Array) && !(value instanceof BigUint64Array))
    return /** @type {any} */ (value);
  throw new RangeError(`the field "${field}" holds no numbers`);
}

/** @param {unknown} value */
function text(value) {
  return typeof value === "number" || typeof value === "string" ? String(value).slice(0, 40) : typeof value;
}
