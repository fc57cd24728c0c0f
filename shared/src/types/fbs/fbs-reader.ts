import type { JechoError } from "../../errors.ts";
import {
  type ElementKind,
  type EnumType,
  elementAlign,
  elementBytes,
  type Field,
  type Kind,
  newObject,
  type ObjectType,
  SCALAR_BYTES,
  type Scalar,
  zeroOf,
} from "../schema.ts";
import type { Token } from "./fbs-lexer.ts";
import {
  type Declaration,
  type EnumDeclaration,
  type FieldDeclaration,
  type ObjectDeclaration,
  type ParsedSchema,
  parseFbs,
  type Reference,
  type UnionDeclaration,
} from "./fbs-parser.ts";
import { fits, ValueReader } from "./fbs-values.ts";

const SCALARS: Readonly<Record<string, Scalar>> = {
  bool: "bool",
  byte: "int8",
  ubyte: "uint8",
  short: "int16",
  ushort: "uint16",
  int: "int32",
  uint: "uint32",
  long: "int64",
  ulong: "uint64",
  float: "float32",
  double: "float64",
  ...(Object.fromEntries(Object.keys(SCALAR_BYTES).map(name => [name, name])) as Record<string, Scalar>),
};

/**
 * Reads a schema in FlatBuffers' own language, without its compiler.
 *
 * @param root the table that events are, where the text does not say it by `root_type`
 * @throws JechoError `TYPE_INVALID` with line and column; also for what is not supported: include, arrays of fixed length,
 * vectors of unions, structs and strings in unions, defaults of strings and vectors
 */
export function readFbs(text: string, root?: string): ObjectType {
  return new SchemaReader(parseFbs(text)).root(root);
}

class SchemaReader {
  readonly #parsed: ParsedSchema;
  readonly #values: ValueReader;
  readonly #declarations = new Map<string, Declaration>();
  readonly #objects = new Map<Declaration, ObjectType>();
  readonly #enums = new Map<Declaration, EnumType>();
  readonly #unions = new Map<Declaration, Extract<Kind, { is: "union" }>>();
  /** Structs whose size is being reckoned: one that is met again contains itself. */
  readonly #measuring = new Set<Declaration>();

  constructor(parsed: ParsedSchema) {
    this.#parsed = parsed;
    this.#values = new ValueReader(parsed.lexer);
    for (const declaration of parsed.declarations) {
      const name = fullName(declaration);
      if (this.#declarations.has(name)) throw this.#wrong(declaration.at, `${name} is declared twice`);
      this.#declarations.set(name, declaration);
    }
    for (const declaration of parsed.declarations) {
      if (declaration.is === "enum") this.#enumOf(declaration);
      else if (declaration.is === "union") this.#unionOf(declaration);
      else this.#objectOf(declaration);
    }
  }

  root(name: string | undefined): ObjectType {
    const { root } = this.#parsed;
    const reference = name === undefined ? root : { name, at: 0, namespace: "" };
    if (reference === undefined) throw this.#wrong(0, "the schema names no root_type");
    const found = this.#find(reference, reference.namespace);
    if (found?.is !== "table") throw this.#wrong(reference.at, `there is no table ${reference.name}`);
    return this.#objectOf(found);
  }

  #wrong(at: number, what: string): JechoError {
    return this.#parsed.lexer.wrong(at, what);
  }

  /** Finds a declaration, from the innermost namespace outwards. */
  #find({ name }: Reference, namespace: string): Declaration | undefined {
    for (let scope = namespace; ; scope = scope.slice(0, Math.max(0, scope.lastIndexOf(".")))) {
      const found = this.#declarations.get(scope === "" ? name : `${scope}.${name}`);
      if (found !== undefined || scope === "") return found;
    }
  }

  #enumOf(declaration: EnumDeclaration): EnumType {
    const known = this.#enums.get(declaration);
    if (known !== undefined) return known;
    const scalar = SCALARS[declaration.type.name];
    if (scalar === undefined || scalar.startsWith("float") || scalar === "bool")
      throw this.#wrong(declaration.type.at, `an enum is of an integer type, not ${declaration.type.name}`);
    const flags = declaration.attributes.has("bit_flags");
    let next = 0n;
    const values = declaration.values.map(({ name, at, value: token }) => {
      const number = token === undefined ? next : this.#values.integer(token);
      next = number + 1n;
      const value = flags ? 1n << number : number;
      if (!fits(value, scalar)) throw this.#wrong(at, `${name} is ${value}, which is no ${scalar}`);
      return { name, value, at };
    });
    for (const [i, { name, value, at }] of values.entries()) {
      const before = values.findIndex(other => other.name === name || other.value === value);
      if (before < i) throw this.#wrong(at, `${name} = ${value} is there twice`);
    }
    if (values.length === 0) throw this.#wrong(declaration.at, `${declaration.name} has no values`);
    values.sort((a, b) => (a.value < b.value ? -1 : 1));
    const made = {
      name: fullName(declaration),
      scalar,
      values: values.map(({ name, value }) => ({ name, value })),
    };
    this.#enums.set(declaration, made);
    return made;
  }

  #unionOf(declaration: UnionDeclaration): Extract<Kind, { is: "union" }> {
    const known = this.#unions.get(declaration);
    if (known !== undefined) return known;
    let next = 1n;
    const members = declaration.members.map(({ name, type, value }) => {
      const found = this.#find(type, declaration.namespace);
      if (found?.is !== "table") throw this.#wrong(type.at, `${type.name} is no table`);
      const tag = value === undefined ? next : this.#values.integer(value);
      if (tag < 1n || tag > 255n) throw this.#wrong(type.at, `a union's tags are from 1 to 255`);
      next = tag + 1n;
      const object = this.#objectOf(found);
      if (found.fields.some(field => field.name === "kind"))
        throw this.#wrong(
          type.at,
          `${name} has a field "kind", by which the members of a union are told apart`,
        );
      return { tag: Number(tag), name, object };
    });
    const made = { is: "union", name: fullName(declaration), members } as const;
    this.#unions.set(declaration, made);
    return made;
  }

  #objectOf(declaration: ObjectDeclaration): ObjectType {
    const known = this.#objects.get(declaration);
    if (known !== undefined) return known;
    const object = newObject(fullName(declaration), declaration.is === "struct");
    this.#objects.set(declaration, object);
    const names = new Set<string>();
    for (const { name, at } of declaration.fields) {
      if (names.has(name)) throw this.#wrong(at, `${declaration.name} has two fields "${name}"`);
      names.add(name);
    }
    if (object.isStruct) this.#fillStruct(object, declaration);
    else this.#fillTable(object, declaration);
    return object;
  }

  #fillTable(object: ObjectType, declaration: ObjectDeclaration): void {
    const kinds = declaration.fields.map(field => this.#kindOf(field, declaration));
    const slots = this.#slots(declaration, kinds);
    object.fields = declaration.fields
      .map((field, i): Field => {
        const kind = kinds[i] as Kind;
        const isKey = field.attributes.has("key") && kind.is === "string";
        const required = field.attributes.has("required") || isKey;
        if (required && kind.is === "scalar")
          throw this.#wrong(field.at, `${field.name} is a ${kind.scalar}, which always has a value`);
        const optional = field.defaultValue?.value === "null" && kind.is === "scalar";
        const defaultValue = this.#values.defaultOf(field, kind, names => this.#isExclusive(names));
        return { name: field.name, place: slots[i] as number, kind, defaultValue, required, optional };
      })
      .filter((_, i) => declaration.fields[i]?.attributes.has("deprecated") === false)
      .sort((a, b) => a.place - b.place);
  }

  /** The slots of a table's fields: as they stand in the text, or by their ids. A union takes the one before for its tag. */
  #slots({ name, at, fields }: ObjectDeclaration, kinds: readonly Kind[]): number[] {
    const ids = fields.map(({ attributes }) => attributes.get("id"));
    const given = ids.filter(id => id !== undefined).length;
    if (given === 0) {
      let next = 0;
      return kinds.map(({ is }) => {
        if (is === "union") next++;
        return next++;
      });
    }
    if (given < fields.length) throw this.#wrong(at, `either all fields of ${name} have an id or none has`);
    const slots = ids.map(id => Number(this.#values.integer(id as Token)));
    const taken = slots.flatMap((slot, i) => (kinds[i]?.is === "union" ? [slot - 1, slot] : [slot]));
    taken.sort((a, b) => a - b);
    if (taken.some((slot, i) => slot !== i))
      throw this.#wrong(
        at,
        `the ids of ${name} do not go from 0 upwards; a union takes two, and its is the second`,
      );
    return slots;
  }

  #fillStruct(object: ObjectType, declaration: ObjectDeclaration): void {
    if (declaration.fields.length === 0)
      throw this.#wrong(declaration.at, `${declaration.name} has no fields`);
    this.#measuring.add(declaration);
    let size = 0;
    object.fields = declaration.fields.map((field): Field => {
      const kind = this.#kindOf(field, declaration);
      const isPlain = kind.is === "scalar" || (kind.is === "object" && kind.object.isStruct);
      if (!isPlain) throw this.#wrong(field.at, "a struct holds numbers and structs only");
      if (field.defaultValue !== undefined || field.attributes.has("deprecated"))
        throw this.#wrong(field.at, "fields of a struct have no defaults and are never deprecated");
      const align = elementAlign(kind);
      object.align = Math.max(object.align, align);
      const place = Math.ceil(size / align) * align;
      size = place + elementBytes(kind);
      return { name: field.name, place, kind, defaultValue: zeroOf(kind), required: false, optional: false };
    });
    const forced = declaration.attributes.get("force_align");
    if (forced !== undefined) {
      const align = Number(this.#values.integer(forced));
      if (align < object.align || align > 16 || (align & (align - 1)) !== 0)
        throw this.#wrong(forced.at, `force_align is a power of two from ${object.align} to 16`);
      object.align = align;
    }
    object.bytes = Math.ceil(size / object.align) * object.align;
    if (object.bytes >= 65536)
      throw this.#wrong(declaration.at, `${declaration.name} is too large for a struct`);
    this.#measuring.delete(declaration);
  }

  #kindOf(field: FieldDeclaration, owner: ObjectDeclaration): Kind {
    const element = this.#elementOf(field, owner);
    if (!field.isVector) return element;
    if (element.is === "union") throw this.#wrong(field.type.at, "vectors of unions are not supported");
    return { is: "vector", of: element };
  }

  #elementOf(
    { type }: FieldDeclaration,
    { namespace }: ObjectDeclaration,
  ): ElementKind | Extract<Kind, { is: "union" }> {
    if (type.name === "string") return { is: "string" };
    const scalar = SCALARS[type.name];
    if (scalar !== undefined) return { is: "scalar", scalar };
    const found = this.#find(type, namespace);
    if (found === undefined) throw this.#wrong(type.at, `there is no type ${type.name}`);
    if (found.is === "enum") {
      const names = this.#enumOf(found);
      return { is: "scalar", scalar: names.scalar, names };
    }
    if (found.is === "union") return this.#unionOf(found);
    if (this.#measuring.has(found)) throw this.#wrong(type.at, `the struct ${type.name} contains itself`);
    return { is: "object", object: this.#objectOf(found) };
  }

  /** Flags are combined freely, so 0 needs no name there. */
  #isExclusive(names: EnumType): boolean {
    const [declaration] = [...this.#enums].find(([, made]) => made === names) ?? [];
    return declaration?.is === "enum" && !declaration.attributes.has("bit_flags");
  }
}

function fullName({ name, namespace }: Declaration): string {
  return namespace === "" ? name : `${namespace}.${name}`;
}
