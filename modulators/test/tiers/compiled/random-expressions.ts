import { LITERALS, MATH_1, MATH_2, NUMBERS, ODD_TEXTS, TEXTS, VECTORS } from "./random-values.ts";

/** Writes random expressions, of what the program has by then. */
export abstract class ExpressionWriter {
  protected readonly random: () => number;
  protected names = 0;
  /** Names that may be read here, of constants and variables; those that may be assigned to; counters of loops over a vector. */
  protected readable: string[] = [];
  protected assignable: string[] = [];
  protected counters: { readonly name: string; readonly vector: string }[] = [];
  protected helpers: string[] = [];
  /** Arrays that the program has made. */
  protected arrays: string[] = [];
  protected isClass = false;
  protected isFlat = 0;

  constructor(random: () => number) {
    this.random = random;
  }

  protected pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T;
  }

  /** Mostly one that can be compared byte by byte. */
  protected text(): string {
    return this.random() < 0.995 ? this.pick(TEXTS) : this.pick(ODD_TEXTS);
  }

  protected name(): string {
    return `x${this.names++}`;
  }

  protected number(depth: number): string {
    if (depth <= 0 || this.random() < 0.15) return this.leaf();
    const kind = Math.floor(this.random() * 14);
    const next = (): string => this.number(depth - 1);
    switch (kind) {
      case 0:
      case 1:
      case 2:
        return `(${next()} ${this.pick(["+", "-", "*", "/", "%"])} ${next()})`;
      case 3:
        return `(${next()} ${this.pick(["&", "|", "^", "<<", ">>", ">>>"])} ${next()})`;
      case 4:
        return this.pick([
          `(${this.pick(["-", "+", "~"])}${next()})`,
          `Number(${this.pick([next(), "event.flag"])})`,
          `(Number(event.${this.pick(VECTORS)}[${this.leaf()}]) ?? ${this.leaf()})`,
        ]);
      case 5:
      case 6:
        return `Math.${this.pick(MATH_1)}(${next()})`;
      case 7:
        return `Math.${this.pick(MATH_2)}(${next()}, ${next()})`;
      case 8:
        return `(${this.bool(depth - 1)} ? ${next()} : ${next()})`;
      case 9:
        return this.element();
      case 10:
        return this.isFlat > 0
          ? this.leaf()
          : `Math.${this.pick(["max", "min"])}(...event.${this.pick(VECTORS)})`;
      case 11:
        return this.isFlat > 0 ? this.leaf() : this.pick([() => this.reduced(), () => this.summed()])();
      case 12:
        return this.helpers.length > 0
          ? `${this.pick(this.helpers)}(${next()}, ${next()})`
          : `(${next()} || ${next()})`;
      default:
        return this.assignable.length > 0 && this.random() < 0.5
          ? `(${this.pick(this.assignable)}${this.pick(["++", "--", " += 1", " = 3"])})`
          : `(${next()} ** ${this.pick(["2", "0.5", "(-1)", "3"])})`;
    }
  }

  private reduced(): string {
    return `event.${this.pick(VECTORS)}.reduce((s, v, i) => s ${this.pick(["+", "*", "-"])} v, ${this.pick(LITERALS)})`;
  }

  private summed(): string {
    const own = this.isClass ? ["this.all"] : [];
    const list = this.pick([...VECTORS.map(name => `event.${name}`), ...this.arrays, ...own]);
    const part = this.random() < 0.2 ? `.subarray(${this.pick(["1", "0, 3", "event.tiny"])})` : "";
    return `${this.pick(["sum", "mean"])}(${list}${part})`;
  }

  /** A list to go over: an array that is there, or one that is made for it. */
  protected list(): string {
    const vector = `event.${this.pick(VECTORS)}`;
    return this.pick([
      vector,
      vector,
      vector,
      `${vector}.slice()`,
      `${vector}.subarray(${this.pick(["1", "0, 2", `0, ${vector}[7]`])})`,
      `new Int16Array(${this.pick(["3", "event.byte % 4"])})`,
      ...this.arrays,
    ]);
  }

  protected leaf(): string {
    const kind = this.random();
    if (kind < 0.03) return "event[parameters.field]";
    if (kind < 0.05) return this.asked();
    if (kind < 0.4) return `event.${this.pick(NUMBERS)}`;
    if (kind < 0.6 && this.readable.length > 0) return this.pick(this.readable);
    if (kind < 0.7) return this.pick(["parameters.above", "parameters.deep.by"]);
    if (kind < 0.8) return `event.${this.pick(VECTORS)}.length`;
    return this.pick(LITERALS);
  }

  protected element(): string {
    if (this.counters.length > 0 && this.random() < 0.7) {
      const { name, vector } = this.pick(this.counters);
      return `event.${this.random() < 0.8 ? vector : this.pick(VECTORS)}[${name}]`;
    }
    const vector = this.pick(VECTORS);
    // Behind a plus, undefined is NaN.
    return `(+event.${vector}[${this.random() < 0.6 ? Math.floor(this.random() * 4) : this.leaf()}])`;
  }

  /** A part of the parameters that is of another kind, or not there, for other modulators of the text. */
  protected asked(): string {
    const [a, b] = [this.number(1), this.number(1)];
    return this.pick([
      `(typeof parameters.field === "string" ? event[parameters.field] : ${a})`,
      `(typeof parameters.${this.pick(["absent", "levels", "on"])} === "${this.pick(["undefined", "object", "boolean"])}" ? ${a} : ${b})`,
      `(parameters.absent === undefined ? ${a} : ${b})`,
      `(parameters.absent ?? ${a})`,
      `(parameters.deep && !parameters.absent ? ${a} : ${b})`,
    ]);
  }

  protected bool(depth: number): string {
    const kind = Math.floor(this.random() * 13);
    const [a, b] = [() => this.number(depth), () => this.bool(depth - 1)];
    if (depth <= 0 || kind < 4)
      return `(${a()} ${this.pick(["<", ">", "<=", ">=", "===", "!==", "==", "!="])} ${a()})`;
    switch (kind) {
      case 4:
        return `(${b()} && ${b()})`;
      case 5:
        return `(${b()} || ${b()})`;
      case 6:
        return `!${b()}`;
      case 7:
        return this.pick([
          "event.flag",
          "parameters.on",
          ...(this.isClass ? ["this.seen"] : []),
          `Number.isNaN(+${a()})`,
          `Object.is(+${a()}, +${a()})`,
          `(+event.${this.pick(VECTORS)}[${this.leaf()}] === undefined)`,
          "(Math.random() < 1)",
          `isFinite(${a()})`,
        ]);
      case 9:
      case 10:
      case 11:
        return this.aboutText();
      case 8:
        return this.isFlat > 0
          ? "event.flag"
          : `event.${this.pick(VECTORS)}.${this.pick(["some", "every"])}((v, i) => ${this.within()})`;
      default:
        return this.isFlat > 0
          ? "event.flag"
          : `event.${this.pick(VECTORS)}.includes(${this.pick(LITERALS)})`;
    }
  }

  protected aboutText(): string {
    const field = `event.${this.pick(["name", "word"])}`;
    const other = (): string =>
      this.random() < 0.5
        ? JSON.stringify(this.text())
        : this.pick(["parameters.key", "parameters.key", "`ab`"]);
    const equal = this.pick(["===", "!==", "==", "!="]);
    switch (Math.floor(this.random() * (this.isFlat > 0 ? 5 : 7))) {
      case 0:
        return `(${field} ${equal} ${other()})`;
      case 1:
        return `(${other()} ${equal} ${this.random() < 0.8 ? field : other()})`;
      case 2:
        return `${field}.${this.pick(["startsWith", "endsWith"])}(${other()})`;
      case 3:
        return this.pick([
          `[${other()}, ${this.pick(LITERALS.filter(literal => !literal.includes("NaN")))}, ${other()}].includes(${field})`,
          `parameters.keys.includes(${field})`,
          `parameters.levels.includes(${this.number(1)})`,
          `[1, 2, ${other()}, 0, 7].includes(${this.number(1)})`,
        ]);
      case 4:
        return `(${field} ? ${this.bool(0)} : ${this.bool(0)})`;
      case 5:
        return `${this.random() < 0.8 ? field : "parameters.key"}.includes(${other()})`;
      default:
        return `parameters.keys.includes(${field})`;
    }
  }

  protected within(): string {
    this.isFlat++;
    const text = `v ${this.pick(["<", ">", "===", "!=="])} ${this.number(1)} ${this.pick(["&&", "||"])} i < 3`;
    this.isFlat--;
    return text;
  }

  /** Something that depends on the bits of a number, so that a difference in any of them shows. */
  protected probe(): string {
    const value = this.number(3);
    const name = "probe";
    const test = this.pick([
      `(${name} * 9007199254740992) % 7 > 3`,
      `1 / ${name} > 0`,
      `${name} !== ${name}`,
      `(${name} | 0) % 2 === 0`,
      `${name} > ${this.leaf()}`,
      `${name} * 1e10 % 3 >= 1 || ${name} % 1 !== 0`,
    ]);
    return this.random() < 0.15 ? this.bool(3) : `(probe => ${test})(+(${value}))`;
  }
}
