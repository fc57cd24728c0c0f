import { isFieldName } from "../schema.ts";
import { Lexer, type Token } from "./fbs-lexer.ts";

/*
 * The grammar of FlatBuffers' schema language. What is declared comes out as it stands in the text: names are not looked up
 * and numbers not checked; `fbs-reader.ts` does that when all declarations are there.
 */

/** A name as it was written, possibly with dots, and where. */
export interface Reference {
  readonly name: string;
  readonly at: number;
}

export interface FieldDeclaration {
  readonly name: string;
  readonly at: number;
  readonly type: Reference;
  readonly isVector: boolean;
  /** The default as written: a number, `true`, the name of an enum's value; undefined where there is none. */
  readonly defaultValue: Token | undefined;
  readonly attributes: ReadonlyMap<string, Token | undefined>;
}

export interface ObjectDeclaration {
  readonly is: "table" | "struct";
  readonly name: string;
  readonly namespace: string;
  readonly at: number;
  readonly fields: readonly FieldDeclaration[];
  readonly attributes: ReadonlyMap<string, Token | undefined>;
}

export interface EnumDeclaration {
  readonly is: "enum";
  readonly name: string;
  readonly namespace: string;
  readonly at: number;
  readonly type: Reference;
  readonly values: readonly {
    readonly name: string;
    readonly at: number;
    readonly value: Token | undefined;
  }[];
  readonly attributes: ReadonlyMap<string, Token | undefined>;
}

export interface UnionDeclaration {
  readonly is: "union";
  readonly name: string;
  readonly namespace: string;
  readonly at: number;
  readonly members: readonly {
    readonly name: string;
    readonly type: Reference;
    readonly value: Token | undefined;
  }[];
}

export type Declaration = ObjectDeclaration | EnumDeclaration | UnionDeclaration;

export interface ParsedSchema {
  readonly declarations: readonly Declaration[];
  readonly root: (Reference & { readonly namespace: string }) | undefined;
  readonly lexer: Lexer;
}

type Attributes = ReadonlyMap<string, Token | undefined>;

/** The attributes that FlatBuffers knows, also those that change nothing for us. */
const ATTRIBUTES = new Set([
  "id",
  "required",
  "deprecated",
  "key",
  "force_align",
  "bit_flags",
  "original_order",
  "nested_flatbuffer",
  "hash",
  "shared",
]);

/** @throws JechoError `TYPE_INVALID` with line and column */
export function parseFbs(text: string): ParsedSchema {
  return new Parser(text).parse();
}

class Parser {
  readonly #lexer: Lexer;
  readonly #declarations: Declaration[] = [];
  readonly #attributes = new Set(ATTRIBUTES);
  #root: ParsedSchema["root"];
  #namespace = "";

  constructor(text: string) {
    this.#lexer = new Lexer(text);
  }

  parse(): ParsedSchema {
    while (this.#lexer.next.is !== "end") this.#declaration();
    return { declarations: this.#declarations, root: this.#root, lexer: this.#lexer };
  }

  #declaration(): void {
    const { at, value } = this.#lexer.expectA("word", "a declaration");
    switch (value) {
      case "namespace":
        this.#namespace = this.#lexer.next.is === "word" ? this.#reference("a namespace").name : "";
        return this.#lexer.expect(";");
      case "table":
      case "struct":
        this.#declarations.push(this.#object(value));
        return;
      case "enum":
        this.#declarations.push(this.#enum());
        return;
      case "union":
        this.#declarations.push(this.#union());
        return;
      case "root_type":
        this.#root = { ...this.#reference("a table"), namespace: this.#namespace };
        return this.#lexer.expect(";");
      case "attribute": {
        const { is, value } = this.#lexer.take();
        if (is !== "word" && is !== "text") throw this.#lexer.unexpected("an attribute's name");
        this.#attributes.add(value);
        return this.#lexer.expect(";");
      }
      case "file_identifier":
      case "file_extension":
        this.#lexer.expectA("text", "a text");
        return this.#lexer.expect(";");
      case "rpc_service":
        return this.#skipService();
      case "include":
        throw this.#lexer.wrong(
          at,
          "a schema that is registered stands for itself: include is not supported",
        );
      default:
        throw this.#lexer.wrong(at, `"${value.slice(0, 40)}" begins no declaration`);
    }
  }

  #object(is: "table" | "struct"): ObjectDeclaration {
    const { name, at } = this.#name(`the ${is}'s name`);
    const attributes = this.#attributeList();
    const fields: FieldDeclaration[] = [];
    this.#lexer.expect("{");
    while (!this.#lexer.takes("}")) fields.push(this.#field());
    return { is, name, namespace: this.#namespace, at, fields, attributes };
  }

  #field(): FieldDeclaration {
    const { name, at } = this.#name("a field's name");
    this.#lexer.expect(":");
    const isVector = this.#lexer.takes("[");
    const type = this.#reference("a type");
    if (isVector) {
      if (this.#lexer.next.value === ":")
        throw this.#lexer.wrong(at, "arrays of fixed length are not supported");
      this.#lexer.expect("]");
    }
    const defaultValue = this.#lexer.takes("=") ? this.#value() : undefined;
    const attributes = this.#attributeList();
    this.#lexer.expect(";");
    return { name, at, type, isVector, defaultValue, attributes };
  }

  #enum(): EnumDeclaration {
    const { name, at } = this.#name("the enum's name");
    this.#lexer.expect(":");
    const type = this.#reference("an integer type");
    const attributes = this.#attributeList();
    const values = this.#list(() => {
      const { name, at } = this.#name("a value's name");
      return { name, at, value: this.#lexer.takes("=") ? this.#value() : undefined };
    });
    return { is: "enum", name, namespace: this.#namespace, at, type, values, attributes };
  }

  #union(): UnionDeclaration {
    const { name, at } = this.#name("the union's name");
    this.#attributeList();
    const members = this.#list(() => {
      let type = this.#reference("a table");
      let { name } = type;
      // A table of another namespace is known by its whole name.
      if (this.#lexer.takes(":")) type = this.#reference("a table");
      else name = name.replaceAll(".", "_");
      return { name, type, value: this.#lexer.takes("=") ? this.#value() : undefined };
    });
    return { is: "union", name, namespace: this.#namespace, at, members };
  }

  #list<T>(one: () => T): T[] {
    const list: T[] = [];
    this.#lexer.expect("{");
    while (!this.#lexer.takes("}")) {
      list.push(one());
      if (!this.#lexer.takes(",")) {
        this.#lexer.expect("}");
        break;
      }
    }
    return list;
  }

  #attributeList(): Attributes {
    const attributes = new Map<string, Token | undefined>();
    if (!this.#lexer.takes("(")) return attributes;
    do {
      const { value, at } = this.#lexer.expectA("word", "an attribute");
      if (!this.#attributes.has(value)) throw this.#lexer.wrong(at, `"${value}" is not an attribute`);
      attributes.set(value, this.#lexer.takes(":") ? this.#value() : undefined);
    } while (this.#lexer.takes(","));
    this.#lexer.expect(")");
    return attributes;
  }

  #value(): Token {
    const { is } = this.#lexer.next;
    if (is !== "word" && is !== "number" && is !== "text") throw this.#lexer.unexpected("a value");
    const value = this.#lexer.take();
    if (is !== "word") return value;
    let name = value.value;
    while (this.#lexer.takes(".")) name += `.${this.#lexer.expectA("word", "a name").value}`;
    return { ...value, value: name };
  }

  #name(what: string): Reference {
    const token = this.#lexer.expectA("word", what);
    if (!isFieldName(token.value))
      throw this.#lexer.wrong(token.at, `"${token.value.slice(0, 40)}" cannot be ${what}`);
    return { name: token.value, at: token.at };
  }

  #reference(what: string): Reference {
    const { name: first, at } = this.#name(what);
    let name = first;
    while (this.#lexer.takes(".")) name += `.${this.#name("a name").name}`;
    return { name, at };
  }

  #skipService(): void {
    this.#lexer.expectA("word", "the service's name");
    this.#lexer.expect("{");
    while (!this.#lexer.takes("}")) {
      if (this.#lexer.next.is === "end") throw this.#lexer.unexpected('"}"');
      this.#lexer.take();
    }
  }
}
