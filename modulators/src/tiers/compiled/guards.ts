import { type Code, type CodeLocal, DATA_KEY, type OpName, partsOf } from "./code.ts";

/** A value that a field is compared with: written in the source, or a member of the parameters or of a shared object, by its path. */
export type GuardValue =
  | { readonly from: "source"; readonly value: number | Uint8Array }
  | { readonly from: "data"; readonly path: string };

/** A comparison of an event's field that holds for each event that the program lets through. */
export type Guard = { readonly field: string } & (
  | { readonly is: "equal"; readonly to: readonly GuardValue[] }
  /** `orNaN`: it holds for NaN, too, as the negation of `<` does. */
  | { readonly is: "least" | "most"; readonly value: GuardValue; readonly orNaN: boolean }
);

/** Guards that hold at a place of the program; "never" where no event gets there. */
type GuardsThere = readonly Guard[] | "never";

/** Guards that hold where the code's value counts as true, and where it does not. */
interface Outcomes {
  readonly yes: GuardsThere;
  readonly no: GuardsThere;
}

/** Most guards of one place, and most values of one guard; more would cost more than they save. */
const MOST = 32;
const NONE: readonly Guard[] = [];
const UNKNOWN: Outcomes = { yes: NONE, no: NONE };

type Relation = "equal" | "unequal" | "<" | ">" | "<=" | ">=";
const RELATIONS: Readonly<Partial<Record<OpName, Relation>>> = {
  "i32.eq": "equal",
  "f64.eq": "equal",
  "i32.ne": "unequal",
  "f64.ne": "unequal",
  "i32.lt_s": "<",
  "f64.lt": "<",
  "i32.gt_s": ">",
  "f64.gt": ">",
  "i32.le_s": "<=",
  "f64.le": "<=",
  "i32.ge_s": ">=",
  "f64.ge": ">=",
};
const MIRRORED = { equal: "equal", unequal: "unequal", "<": ">", ">": "<", "<=": ">=", ">=": "<=" } as const;
const NEGATED = { equal: "unequal", unequal: "equal", "<": ">=", ">": "<=", "<=": ">", ">=": "<" } as const;

/** The parts of a program without state that say which events it lets through. */
export interface GuardedCode {
  readonly body: readonly Code[];
  /** All code that is run before or with that. */
  readonly others: readonly Code[];
  readonly answer: CodeLocal;
  /** Names of the fields whose numbers these variables hold. */
  readonly fields: ReadonlyMap<CodeLocal, string>;
}

/** The guards of a program; none where it may let through any event. */
export function guardsOf(code: GuardedCode): readonly Guard[] {
  return new GuardFinder(code).guards;
}

/** Follows all ways through a program on which an event is let through. What it does not know says nothing. */
class GuardFinder {
  readonly #answer: CodeLocal;
  readonly #fields: ReadonlyMap<CodeLocal, string>;
  /** Values of the variables that are set at one place alone; undefined for those with several. */
  readonly #values = new Map<CodeLocal, Code | undefined>();
  readonly #outcomes = new Map<Code, Outcomes>();
  #passing: GuardsThere = "never";

  constructor({ body, others, answer, fields }: GuardedCode) {
    this.#answer = answer;
    this.#fields = fields;
    for (const code of [...others, ...body]) this.#collect(code);
    this.#walk(body, NONE);
  }

  get guards(): readonly Guard[] {
    return this.#passing === "never" ? NONE : this.#passing;
  }

  #collect(code: Code): void {
    if (code.is === "set" || code.is === "tee")
      this.#values.set(code.local, this.#values.has(code.local) ? undefined : code.value);
    for (const part of partsOf(code)) this.#collect(part);
  }

  /** @returns the guards that hold behind the code */
  #walk(body: readonly Code[], before: GuardsThere): GuardsThere {
    let known = before;
    for (const code of body) {
      if (known === "never") return known;
      known = this.#visit(code, known);
    }
    return known;
  }

  #visit(code: Code, known: GuardsThere): GuardsThere {
    switch (code.is) {
      case "set":
      case "tee": {
        this.#visit(code.value, known);
        if (code.local === this.#answer)
          this.#passing = either(this.#passing, both(known, this.#outcomesOf(code.value).yes));
        return known;
      }
      case "if": {
        this.#visit(code.test, known);
        const { yes, no } = this.#outcomesOf(code.test);
        return either(this.#walk(code.yes, both(known, yes)), this.#walk(code.no, both(known, no)));
      }
      case "block":
      case "loop":
        // It may be left from anywhere inside.
        this.#walk(code.body, known);
        return known;
      case "br":
        return "never";
      case "brIf":
        this.#visit(code.test, known);
        return both(known, this.#outcomesOf(code.test).no);
      default:
        return this.#walk(partsOf(code), known);
    }
  }

  #outcomesOf(code: Code): Outcomes {
    let outcomes = this.#outcomes.get(code);
    if (outcomes === undefined) {
      outcomes = this.#found(code);
      this.#outcomes.set(code, outcomes);
    }
    return outcomes;
  }

  #found(code: Code): Outcomes {
    switch (code.is) {
      case "i32":
        return code.value === 0 ? { yes: "never", no: NONE } : { yes: NONE, no: "never" };
      case "get": {
        const value = this.#values.get(code.local);
        return value === undefined ? UNKNOWN : this.#outcomesOf(value);
      }
      case "many":
        return this.#last(code.body);
      case "if": {
        if (code.says !== undefined) {
          const { field, value } = code.says;
          return { yes: [{ field, is: "equal", to: [value] }], no: NONE };
        }
        const test = this.#outcomesOf(code.test);
        const [then, other] = [this.#last(code.yes), this.#last(code.no)];
        return {
          yes: either(both(test.yes, then.yes), both(test.no, other.yes)),
          no: either(both(test.yes, then.no), both(test.no, other.no)),
        };
      }
      case "op": {
        const [a, b] = code.args as [Code, Code];
        if (code.op === "i32.eqz") {
          const { yes, no } = this.#outcomesOf(a);
          return { yes: no, no: yes };
        }
        if (code.op === "i32.and")
          return { yes: both(this.#outcomesOf(a).yes, this.#outcomesOf(b).yes), no: NONE };
        return this.#compared(code.op, a, b);
      }
      default:
        return UNKNOWN;
    }
  }

  #last(body: readonly Code[]): Outcomes {
    const last = body.at(-1);
    return last === undefined ? UNKNOWN : this.#outcomesOf(last);
  }

  #compared(name: OpName, a: Code, b: Code): Outcomes {
    const relation = RELATIONS[name];
    if (relation === undefined) return UNKNOWN;
    const isWide = name.startsWith("f64");
    const [field, value] = [this.#fieldOf(a), this.#valueOf(b)];
    if (field !== undefined && value !== undefined) return outcomesOf(field, relation, value, isWide);
    const [otherField, otherValue] = [this.#fieldOf(b), this.#valueOf(a)];
    if (otherField === undefined || otherValue === undefined) return UNKNOWN;
    return outcomesOf(otherField, MIRRORED[relation], otherValue, isWide);
  }

  #fieldOf(code: Code): string | undefined {
    const plain = this.#plain(code);
    return plain.is === "get" ? this.#fields.get(plain.local) : undefined;
  }

  #valueOf(code: Code): GuardValue | undefined {
    const plain = this.#plain(code);
    if (plain.is === "i32" || plain.is === "f64") return { from: "source", value: plain.value };
    const isData = plain.is === "getGlobal" && plain.global.key.startsWith(DATA_KEY);
    return isData ? { from: "data", path: plain.global.key.slice(DATA_KEY.length) } : undefined;
  }

  /** The number itself, where the code only makes it a wider one or has it from a constant. */
  #plain(code: Code): Code {
    let plain = code;
    for (;;) {
      if (plain.is === "op" && plain.op === "f64.convert_i32_s") plain = plain.args[0] as Code;
      else if (plain.is === "get" && !this.#fields.has(plain.local)) {
        const value = this.#values.get(plain.local);
        if (value === undefined) return plain;
        plain = value;
      } else return plain;
    }
  }
}

function outcomesOf(field: string, relation: Relation, value: GuardValue, isWide: boolean): Outcomes {
  // What is not less than NaN is everything.
  const isBoundless = value.from === "source" && Number.isNaN(value.value);
  const no = isBoundless ? NONE : guardOf(field, NEGATED[relation], value, isWide);
  return { yes: guardOf(field, relation, value, false), no };
}

function guardOf(field: string, relation: Relation, value: GuardValue, orNaN: boolean): readonly Guard[] {
  if (relation === "unequal") return NONE;
  if (relation === "equal") return [{ field, is: "equal", to: [value] }];
  return [{ field, is: relation.startsWith(">") ? "least" : "most", value, orNaN }];
}

/** Guards of a place where both hold. */
function both(a: GuardsThere, b: GuardsThere): GuardsThere {
  if (a === "never" || b === "never") return "never";
  return a.length === 0 ? b : b.length === 0 ? a : [...a, ...b].slice(0, MOST);
}

/** Guards of a place that is reached in two ways. A field that equals one value or another does so in both. */
function either(a: GuardsThere, b: GuardsThere): GuardsThere {
  if (a === "never" || b === "never") return a === "never" ? b : a;
  return a.flatMap((guard): readonly Guard[] => {
    if (b.some(other => isSame(guard, other))) return [guard];
    if (guard.is !== "equal") return NONE;
    const other = b.find(({ is, field }) => is === "equal" && field === guard.field) as
      | typeof guard
      | undefined;
    const to = other === undefined ? [] : [...guard.to, ...other.to];
    return to.length === 0 || to.length > MOST ? NONE : [{ ...guard, to }];
  });
}

function isSame(a: Guard, b: Guard): boolean {
  if (a.field !== b.field) return false;
  if (a.is === "equal")
    return (
      b.is === "equal" && a.to.length === b.to.length && a.to.every((one, i) => isSameValue(one, b.to[i]))
    );
  return b.is === a.is && a.orNaN === b.orNaN && isSameValue(a.value, b.value);
}

function isSameValue(a: GuardValue, b: GuardValue | undefined): boolean {
  if (a.from === "data") return b?.from === "data" && a.path === b.path;
  return b?.from === "source" && Object.is(a.value, b.value);
}
