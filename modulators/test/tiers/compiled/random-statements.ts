import { ArrayWriter } from "./random-arrays.ts";
import { LITERALS, VECTORS } from "./random-values.ts";

/** Writes random statements. */
export abstract class StatementWriter extends ArrayWriter {
  protected hasMaps = false;
  protected hasReturn = true;
  protected body(most: number): string {
    const lines: string[] = [];
    for (let i = Math.floor(this.random() * most); i >= 0; i--) lines.push(this.statement(2));
    return lines.join("\n");
  }

  /** Statements in braces: what they declare is not there behind them. */
  protected block(depth: number): string {
    const [readable, assignable, counters, helpers, arrays, objects] = [
      [...this.readable],
      [...this.assignable],
      [...this.counters],
      [...this.helpers],
      [...this.arrays],
      [...this.objects],
    ];
    const lines = [this.statement(depth)];
    if (this.random() < 0.5) lines.push(this.statement(depth));
    this.readable = readable;
    this.assignable = assignable;
    this.counters = counters;
    this.helpers = helpers;
    this.arrays = arrays;
    this.objects = objects;
    return `{ ${lines.join(" ")} }`;
  }

  protected statement(depth: number): string {
    if (this.hasMaps && this.random() < 0.15) return this.counted();
    if (this.isClass && this.random() < 0.1) return this.held();
    const kind = Math.floor(this.random() * 18);
    if (kind === 17) return this.copy();
    if (kind === 16) return this.random() < 0.5 ? this.several() : this.part();
    if (kind === 15) return this.assembled();
    if (kind === 14) return this.taken();
    if (kind === 13) return this.record();
    if (kind < 2 || depth === 0) return this.declaration();
    if (kind === 10) return this.array();
    if (kind === 11) return this.round(depth);
    if (kind === 12)
      return this.isClass || this.random() < 0.5
        ? this.array()
        : `if (${this.bool(1)} && ${this.bool(1)}) throw new RangeError("thrown");`;
    if (kind < 4) return this.assignment();
    if (kind === 4) return `if (${this.bool(2)}) ${this.block(depth - 1)}`;
    if (kind === 5) return `if (${this.bool(2)}) ${this.block(depth - 1)} else ${this.block(depth - 1)}`;
    if (kind === 6) return this.counting(depth);
    if (kind === 7) return this.over(depth);
    if (kind === 8) return this.helper();
    return this.hasReturn ? `if (${this.bool(2)}) return ${this.bool(1)};` : this.assignment();
  }

  protected declaration(): string {
    const value = this.number(3);
    const name = this.name();
    this.readable.push(name);
    if (this.random() < 0.4) {
      this.assignable.push(name);
      return `let ${name} = ${value};`;
    }
    return `const ${name} = ${value};`;
  }

  protected assignment(): string {
    if (this.assignable.length === 0) return this.declaration();
    const target = this.pick(this.assignable);
    const form = this.random();
    if (form < 0.2) return `${target}${this.pick(["++", "--"])};`;
    if (form < 0.6)
      return `${target} ${this.pick(["+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>>="])} ${this.number(2)};`;
    return `${target} = ${this.number(3)};`;
  }

  protected counting(depth: number): string {
    const name = this.name();
    const isVector = this.random() < 0.6;
    const vector = this.pick(VECTORS);
    const end = isVector
      ? `event.${vector}.length${this.random() < 0.3 ? " - 1" : ""}`
      : `${Math.floor(this.random() * 6)}`;
    const from = this.pick(["0", "1"]);
    const step = this.pick([`${name}++`, `++${name}`, `${name} += 2`]);
    const before = { counters: [...this.counters], readable: [...this.readable] };
    if (isVector) this.counters.push({ name, vector });
    this.readable.push(name);
    const leave = this.random() < 0.3 ? `if (${this.bool(1)}) ${this.pick(["break", "continue"])}; ` : "";
    // Loops over vectors within others are not compiled.
    const body = isVector
      ? `{ ${leave}${this.flat()} ${this.flat()} }`
      : `{ ${leave}${this.block(depth - 1)} }`;
    this.counters = before.counters;
    this.readable = before.readable;
    return `for (let ${name} = ${from}; ${name} ${this.pick(["<", "<="])} ${end}; ${step}) ${body}`;
  }

  protected over(_depth: number): string {
    const name = this.name();
    const readable = [...this.readable];
    this.readable.push(name);
    const body = `{ ${this.flat()} ${this.flat()} }`;
    this.readable = readable;
    return `for (const ${name} of ${this.list()}) ${body}`;
  }

  /** A loop of which it is not known from its text how often it runs. */
  protected round(depth: number): string {
    const name = this.name();
    const end = this.pick([
      () => `event.${this.pick(["byte", "whole", "wide"])} % 6`,
      () => `Math.abs(${this.number(1)}) % 5`,
      () => this.pick(["3", "2.5", "NaN", ...this.arrays.map(array => `${array}.length`)]),
    ])();
    const body = (): string => {
      const readable = [...this.readable];
      this.readable.push(name);
      const text = `{ ${this.random() < 0.2 ? `if (${this.bool(1)}) ${this.pick(["break", "continue"])};` : ""} ${this.block(depth - 1)} }`;
      this.readable = readable;
      return text;
    };
    return this.pick([
      () => `let ${name} = 0; while (${name}++ < ${end}) ${body()}`,
      () => `let ${name} = 0; do ${body()} while (++${name} < ${end});`,
      () => `for (let ${name} = ${end}, y = 0; ${name} > 0; ${name}--, y += 2) ${body()}`,
      () =>
        `for (let ${name} = ${this.pick(["0", "1"])}; ${name} ${this.pick(["<", "<="])} ${end}; ${name} += ${this.pick(["1", "2"])}) ${body()}`,
      () => `for (const ${name} of ${this.list()}) ${body()}`,
      () => this.shrinking(name),
    ])();
  }

  /** A loop to a part of what has another name, and becomes less in it. */
  protected shrinking(index: string): string {
    const [other, rounds] = [this.name(), this.name()];
    this.readable.push(rounds);
    const [of, end, before, less] = this.pick([
      ["this", "n", `this.n = (${this.number(1)}) & 7; `, "this.n--;"],
      ...(this.hasMaps
        ? ["sums", "met"].map(map => [
            `this.${map}`,
            "size",
            "",
            `if (${this.bool(0)}) ${other}.delete(${other}.keys().next().value);`,
          ])
        : []),
    ] as [string, string, string, string][]);
    return this.isClass
      ? `${before}const ${other} = ${of}; let ${rounds} = 0; for (let ${index} = 0; ${index} < ${other}.${end}; ${index}++) { ${less} ${rounds}++; }`
      : `const ${other} = { end: ${this.number(1)} & 7 }; let ${rounds} = 0; for (let ${index} = 0; ${index} < ${other}.end; ${index}++) ${rounds}++;`;
  }

  /** A statement without a loop in it. */
  protected flat(): string {
    this.isFlat++;
    const text = this.assignment();
    this.isFlat--;
    // Declared in the braces of the loop, it is not there behind them.
    const [, declared] = /^(?:let|const) (\w+)/.exec(text) ?? [];
    this.readable = this.readable.filter(name => name !== declared);
    this.assignable = this.assignable.filter(name => name !== declared);
    return text;
  }

  protected helper(): string {
    const name = this.name();
    const [readable, assignable] = [[...this.readable], [...this.assignable]];
    const [a, b] = [this.name(), this.name()];
    this.readable.push(a, b);
    const isShort = this.random() < 0.5;
    const value = this.number(2);
    const text = isShort
      ? `const ${name} = (${a}, ${b}) => ${value};`
      : `const ${name} = (${a}, ${b}) => { if (${this.bool(1)}) return ${this.number(1)}; return ${value}; };`;
    this.readable = readable;
    this.assignable = assignable;
    this.helpers.push(name);
    return text;
  }

  /** An object that one of several returns gives. */
  protected several(): string {
    const [name, make] = [this.name(), this.name()];
    const text = `const ${make} = (a, b) => { if (a > b) return { c: a, d: true }; if (b < 0) return { c: ${this.number(1)}, d: false }; return a === b ? { c: 1, d: a > 3 } : { c: b, d: true }; }; const ${name} = ${make}(${this.number(1)}, ${this.number(1)});`;
    this.readable.push(`${name}.c`, `Number(${name}.d)`);
    const test = `${name}.d && ${name}.c > ${this.leaf()}`;
    return this.hasReturn
      ? `${text} if (${test}) return ${this.bool(0)};`
      : `${text} if (${test}) this.n += ${name}.c;`;
  }

  /** Names for the items of a list, with defaults for what is not there. */
  protected taken(): string {
    const [a, b, c] = [this.name(), this.name(), this.name()];
    const counted = this.assignable.filter(one => !one.includes("["));
    const side = counted.length > 0 ? `${this.pick(counted)}++` : this.number(1);
    // Defaults do not know the modulator.
    const own = counted.filter(one => !one.startsWith("this."));
    const other = own.length > 0 ? `${this.pick(own)} += 2` : this.pick(LITERALS);
    const last = own.length > 0 ? this.pick(own) : "3";
    const text = this.pick([
      () =>
        `const [${a} = ${other}, ${b}, ${c} = ${last}] = [${this.pick(["undefined", side])}, ${side}, undefined];`,
      () =>
        `const ${a} = ((p = ${other}, q) => p - q * 3)(${this.pick(["undefined", side])}, ${last}), [${b}, ${c}] = [${a}, ${last}];`,
      () =>
        `const ${a} = ${this.number(1)}, ${b} = ((f = () => ${a}, ${c}) => { const ${a} = 7; return f() - ${a} * ${c}; })(undefined, ${side}), ${c} = ${last};`,
      () => `const [${a}, ${b}, ${c} = ${this.number(1)}] = [${side}, ${this.number(1)}];`,
      () => `let [${a}, ${b}, ${c}] = [${this.number(2)}, ${this.number(1)}, ${side}];`,
      () => `const [${a}, ${b}, ${c} = ${this.leaf()}] = parameters.absent ?? parameters.levels;`,
      () => `const [${a} = 1, ${b}, ${c}] = parameters.levels ?? [${side}, 2, 3];`,
      () =>
        `const { absent: ${a} = ${this.number(1)}, above: ${b} = ${side}, deep: { by: ${c} } } = parameters;`,
    ])();
    this.readable.push(a, b, c);
    return text;
  }

  /** An object that a function makes, and that does not go out. */
  protected record(): string {
    const [make, name] = [this.name(), this.name()];
    const value = this.number(2);
    const text = `const ${make} = (a, b) => { const c = ${value} - a; return { first: c, isIt: c > b, ...{ second: a } }; }; const ${name} = ${make}(${this.number(1)}, ${this.number(1)});`;
    if (this.random() < 0.5) {
      const [first, second] = [this.name(), this.name()];
      this.readable.push(first, second);
      const counted = this.assignable.filter(one => !one.includes("["));
      const side = counted.length > 0 ? `${this.pick(counted)}++` : "2";
      return `${text} const { first: ${first}, second: ${second} } = ${make}(${side}, ${name}.first);`;
    }
    this.readable.push(`${name}.first`, `${name}.second`, `Number(${name}.isIt)`);
    return text;
  }
}
