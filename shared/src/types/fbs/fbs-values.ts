import { type EnumType, type Kind, SCALAR_BYTES, type Scalar, zeroOf } from "../schema.ts";
import type { Lexer, Token } from "./fbs-lexer.ts";
import type { FieldDeclaration } from "./fbs-parser.ts";

/** Reads the numbers of a schema's text. Each of its methods throws `TYPE_INVALID` with line and column. */
export class ValueReader {
  readonly #lexer: Lexer;

  constructor(lexer: Lexer) {
    this.#lexer = lexer;
  }

  /**
   * The value that a field reads as when it is not written.
   *
   * @param isExclusive is each value of this enum one of its names?
   */
  defaultOf(field: FieldDeclaration, kind: Kind, isExclusive: (names: EnumType) => boolean): number | bigint {
    const { defaultValue: token } = field;
    if (kind.is !== "scalar") {
      if (token !== undefined) throw this.#lexer.wrong(token.at, "only numbers have defaults");
      return 0;
    }
    const { scalar, names } = kind;
    if (token === undefined || token.value === "null") {
      const isNamed = names === undefined || names.values.some(({ value }) => value === 0n);
      if (!isNamed && token === undefined && isExclusive(names))
        throw this.#lexer.wrong(field.at, `${field.name} needs a default: ${names.name} has no 0`);
      return zeroOf(kind);
    }
    if (scalar.startsWith("float")) return this.#real(token);
    const value = this.#integerOrName(token, kind);
    if (!fits(value, scalar)) throw this.#lexer.wrong(token.at, `${token.value} is no ${scalar}`);
    return scalar === "int64" || scalar === "uint64" ? value : Number(value);
  }

  #integerOrName(token: Token, { scalar, names }: Extract<Kind, { is: "scalar" }>): bigint {
    if (token.is === "number") return this.integer(token);
    if (scalar === "bool" && (token.value === "true" || token.value === "false"))
      return token.value === "true" ? 1n : 0n;
    // Several flags may stand in quotes.
    const words = token.value.split(" ").map(word => word.slice(word.lastIndexOf(".") + 1));
    let sum = 0n;
    for (const word of words) {
      const value = names?.values.find(({ name }) => name === word)?.value;
      if (value === undefined)
        throw this.#lexer.wrong(token.at, `"${token.value.slice(0, 40)}" is no ${names?.name ?? scalar}`);
      sum |= value;
    }
    return sum;
  }

  integer(token: Token): bigint {
    const match = token.is === "number" ? /^([+-]?)(\d+|0[xX][0-9A-Fa-f]+)$/.exec(token.value) : null;
    if (match === null) throw this.#lexer.wrong(token.at, `"${token.value.slice(0, 40)}" is no integer`);
    const size = BigInt(match[2] as string);
    return match[1] === "-" ? -size : size;
  }

  #real(token: Token): number {
    const named = /^([+-]?)(inf|infinity|nan)$/.exec(token.value);
    if (named !== null) return named[2] === "nan" ? Number.NaN : named[1] === "-" ? -Infinity : Infinity;
    const value = token.is === "number" ? Number(token.value) : Number.NaN;
    if (Number.isNaN(value)) throw this.#lexer.wrong(token.at, `"${token.value.slice(0, 40)}" is no number`);
    return value;
  }
}

/** Whether a number of this kind can have the value. */
export function fits(value: bigint, scalar: Scalar): boolean {
  if (scalar === "bool") return value === 0n || value === 1n;
  const bits = 8 * SCALAR_BYTES[scalar];
  return (scalar.startsWith("u") ? BigInt.asUintN(bits, value) : BigInt.asIntN(bits, value)) === value;
}
