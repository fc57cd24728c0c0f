import { ExpressionWriter } from "./random-expressions.ts";
import { ARRAYS, LITERALS, VECTORS } from "./random-values.ts";

/** Writes what is done with arrays, maps, objects and fields. */
export abstract class ArrayWriter extends ExpressionWriter {
  protected abstract assignment(): string;

  /** Objects that may go out. */
  protected objects: string[] = [];
  /** The kind of the array that a field of the class holds. */
  protected fieldArray = "";

  /** A new array, mostly of a sound length: others throw. */
  protected array(): string {
    const name = this.name();
    const length = this.pick([
      () => `${Math.floor(this.random() * 6)}`,
      () => `event.${this.pick(VECTORS)}.length`,
      () => `Math.abs(${this.number(1)}) % 6`,
      () => `(${this.leaf()}) & 7`,
      () => `${this.leaf()} % 5`,
    ])();
    const kind = this.pick(ARRAYS);
    this.arrays.push(name);
    const index = this.pick([
      "0",
      "1",
      "2",
      "event.byte % 4",
      "event.tiny",
      ...this.counters.map(one => one.name),
    ]);
    this.assignable.push(`${name}[${index}]`);
    this.readable.push(`${name}.length`, `(+${name}[${index}])`, `(${name}[1] ?? ${this.pick(LITERALS)})`);
    return `const ${name} = new ${kind}(${length}); ${name}[${index}] = ${this.number(2)};`;
  }

  /** Copies of arrays, of the event's vectors and of its bytes. */
  protected copy(): string {
    const [name, other] = [this.name(), this.name()];
    const kind = this.pick(ARRAYS);
    const [made, ready] = this.pick([
      [
        `new ${kind}(6)`,
        `${name}.set(new ${kind}(${this.pick(["0", "2", "event.byte % 4"])}), ${this.pick(["0", "1", "2"])});`,
      ],
      [
        `new ${kind}(6)`,
        `${name}.set(${name}.subarray(${this.pick(["2", "0, 3", "-1"])})${this.pick(["", ", 1"])});`,
      ],
      ["new Float32Array(8)", `${name}.set(event.smalls);`],
      [`event.${this.pick(VECTORS)}.slice()`, ""],
      ...(this.isClass ? [["bytesOf(event).slice()", ""] as const] : []),
    ] as const);
    const first = `${name}[1] = ${this.number(1)}; ${name}[event.byte % 4] = ${this.leaf()};`;
    this.readable.push(`${other}.length`, `(+${name}[${other}[1]])`, `(${other}[2] ?? 7)`, `(+${name}[4])`);
    this.arrays.push(name);
    this.assignable.push(`${name}[0]`);
    const last = this.pick([
      `${name}.slice()`,
      `new Uint8Array(${name}.buffer)`,
      ...(this.isClass ? ["bytesOf(event)"] : []),
    ]);
    return `const ${name} = ${made}; ${first} ${ready} const ${other} = ${last}; ${name}[2] = 3;`;
  }

  /** A part of an array, or its bytes as other numbers. */
  protected part(): string {
    const [name, other] = [this.name(), this.name()];
    const kind = this.pick(ARRAYS);
    const bytes = Number.parseInt(/\d+/.exec(kind)?.[0] ?? "8", 10) / 8;
    const narrow = this.pick(
      ARRAYS.filter(one => Number.parseInt(/\d+/.exec(one)?.[0] ?? "8", 10) / 8 <= bytes),
    );
    const places = this.pick([
      `${this.leaf()}`,
      "1",
      "1, 3",
      "-2",
      "0, -1",
      `event.byte % 4, ${this.leaf()}`,
      "2, 1",
    ]);
    const text = `const ${name} = new ${kind}(4); ${name}[1] = ${this.number(1)}; ${name}[event.byte % 4] = ${this.leaf()};`;
    this.readable.push(`${other}.length`, `(+${other}[0])`, `(${other}[1] ?? 7)`);
    this.arrays.push(other);
    this.assignable.push(`${other}[0]`);
    return this.random() < 0.5
      ? `${text} const ${other} = ${name}.subarray(${places});`
      : `${text} const ${other} = new ${narrow}(${name}.buffer, ${this.pick(["0", `${name}.byteOffset`])}, ${this.pick(["1", "3", `${name}.length`])}); ${name}[2] = ${this.leaf()};`;
  }

  /** Fields of the class that hold objects, arrays and parts of the parameters. */
  protected held(): string {
    const [name, make] = [this.name(), this.name()];
    const inner = this.number(1);
    return this.pick([
      () => {
        this.readable.push(name);
        return `const ${name} = this.held ? ${inner} : this.kept === undefined ? 1 : 2;`;
      },
      () => `this.held = { a: ${this.number(2)}, b: ${this.bool(1)} };`,
      () => `if (${this.bool(1)}) this.held = undefined;`,
      () => {
        this.readable.push(name);
        return `let ${name} = ${inner}; if (this.held !== undefined && this.held.b) ${name} = this.held.a;`;
      },
      () => {
        this.readable.push(name);
        return `let ${name} = 0; const ${make} = this.held; this.held = { b: ${this.bool(0)}, a: ${this.number(1)} }; if (${make}) ${name} = ${make}.a - this.held.a;`;
      },
      () => {
        this.readable.push(name);
        return `const ${make} = a => { if (a > ${this.leaf()}) return undefined; return { c: a }; }; const ${make}m = ${make}(${this.number(1)}); let ${name} = 2; if (${make}m !== undefined) ${name} = ${make}m.c;`;
      },
      () =>
        `if (${this.bool(1)}) this.all = new ${this.fieldArray}(${this.pick(["0", "2", "event.byte % 7", "event.wides.length"])});`,
      () => {
        const array = this.name();
        return `const ${array} = new ${this.fieldArray}(4); ${array}[1] = ${this.number(1)}; ${array}[3] = 2; ${this.random() < 0.7 ? "" : `if (${this.bool(0)}) `}this.all = ${this.pick([array, `${array}.subarray(1)`])};`;
      },
      () => {
        const array = this.name();
        return `const ${array} = new Uint32Array(3); ${array}[1] = ${this.number(1)}; ${this.fieldArray === "Uint8Array" ? `this.all = new Uint8Array(${array}.buffer);` : ""}`;
      },
      () => {
        this.readable.push(`(+${name}[2])`);
        return `const ${name} = this.all; ${name}[2] = ${this.number(1)};`;
      },
      () => {
        this.readable.push(name);
        return `let ${name} = 0; if (this.kept !== parameters.levels) { ${name} = 1; this.kept = parameters.levels; }`;
      },
      () => `if (${this.bool(0)}) this.kept = undefined;`,
      () => {
        this.readable.push(name);
        const swap = `this.swap(${this.number(1)})`;
        return `const ${name} = ${this.pick([
          `(+this.all[0]) - ${swap} * (+this.all[0])`,
          `this.all.length * ${swap} + this.all.length`,
          `sum(this.all) + ${swap} * sum(this.all)`,
          `(+this.all[${swap} & 1])`,
        ])};`;
      },
    ])();
  }

  /** State that is compiled in some forms alone: beside the class, and in a field that is nothing at first. */
  protected odd(): readonly [beside: string, field: string] {
    if (this.random() < 0.8) return ["", ""];
    const add = (readable: string, assignable: string[] = []): void => {
      this.readable.push(readable);
      this.assignable.push(...assignable);
    };
    return this.pick([
      () => {
        add("STATE.n", this.random() < 0.5 ? [] : ["STATE.n"]);
        return ["const STATE = { n: 4 };", ""] as const;
      },
      () => {
        add("(this.drawn === DRAWN ? 1 : 2)");
        return ["const DRAWN = Math.random();", "drawn = DRAWN;"] as const;
      },
      () => {
        add("(this.none === null ? 1 : 2)");
        return ["", "none = null;"] as const;
      },
      () => {
        add("this.make()");
        if (this.random() < 0.5) add("(this.made ? 1 : 2)");
        return [
          "",
          "made; make() { const a = new Float32Array(2); this.made = a; return a.length; }",
        ] as const;
      },
    ])();
  }

  /** A use of a map of numbers or a set. */
  protected counted(): string {
    const [name, key] = [this.name(), this.key()];
    return this.pick([
      () => `this.sums.set(${key}, ${this.number(2)});`,
      () => `this.sums.set(${key}, (this.sums.get(${key}) ?? ${this.leaf()}) + ${this.number(1)});`,
      () => {
        this.readable.push(`(${name} ?? ${this.leaf()})`, `(+${name})`, `(${name} === undefined ? 5 : 6)`);
        return `const ${name} = this.sums.get(${key}); if (${name} === undefined || ${name} < ${this.leaf()}) this.sums.set(${key}, ${this.number(1)});`;
      },
      () => {
        this.readable.push(name);
        return `let ${name} = ${this.leaf()}; if (this.${this.pick(["sums", "met"])}.delete(${key})) ${name}++;`;
      },
      () => {
        const held = this.pick(["sums", "met"]);
        return `if (this.${held}.size > 2) this.${held}.delete(this.${held}.keys().next().value);`;
      },
      () => `if (!this.met.has(${key})) { this.met.add(${key}); ${this.assignment()} }`,
      () => `if (this.met.size > 3) this.${this.pick(["sums", "met"])}.clear();`,
    ])();
  }

  /** An object that may go out, and whose parts are assigned to. */
  protected assembled(): string {
    const name = this.name();
    const part = (): string =>
      this.pick([
        () => `wide = ${this.number(2)}`,
        () => `${this.pick(["small", "wide"])} = undefined`,
        () => `first = ${this.number(1)}`,
        () => `flag = ${this.bool(1)}`,
        () => `wides = ${this.pick(["event.wides", ...this.arrays])}`,
      ])();
    const named = this.random() < 0.3 ? ` ${name}[parameters.field] = (${this.number(1)}) & 100;` : "";
    const read = this.name();
    const text = `const ${name} = { ...unpack(event), wide: ${this.number(2)}, first: 1 }; const ${read} = ${name}.wide; ${name}.${part()}; ${name}.${part()};${named} ${name}.second = ${this.number(1)};`;
    this.objects.push(name);
    this.readable.push(read, `${name}.second`);
    return text;
  }

  protected key(): string {
    return this.pick(["event.name", "event.word", "event.flag", "event.byte", "event.wide", this.leaf()]);
  }
}
