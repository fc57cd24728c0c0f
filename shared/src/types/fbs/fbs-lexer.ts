import { JechoError } from "../../errors.ts";

/** One word, number, text or sign of a schema's text. */
export interface Token {
  readonly is: "word" | "number" | "text" | "sign" | "end";
  /** The text as it stands there; of a string the text between the quotes. */
  readonly value: string;
  readonly at: number;
}

const MAX_CHARACTERS = 1 << 20;
const BLANK = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const TOKEN =
  /([A-Za-z_][A-Za-z0-9_]*)|([+-]?(?:0[xX][0-9A-Fa-f]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan))|"((?:[^"\\\n]|\\.)*)"|([{}()[\]:;,.=])/y;

/** Takes the text of a schema apart, and says where in it something is wrong. */
export class Lexer {
  readonly #text: string;
  #at = 0;
  #next: Token;

  /** @throws JechoError `TYPE_INVALID` */
  constructor(text: string) {
    if (text.length > MAX_CHARACTERS)
      throw new JechoError("TYPE_INVALID", `a schema has at most ${MAX_CHARACTERS} characters`);
    this.#text = text;
    this.#next = this.#read();
  }

  /** The token that `take` gives next. */
  get next(): Token {
    return this.#next;
  }

  take(): Token {
    const token = this.#next;
    if (token.is !== "end") this.#next = this.#read();
    return token;
  }

  /** Takes this word or sign if it comes next. */
  takes(value: string): boolean {
    const { is } = this.#next;
    if (this.#next.value !== value || (is !== "word" && is !== "sign")) return false;
    this.take();
    return true;
  }

  expect(value: string): void {
    if (!this.takes(value)) throw this.unexpected(`"${value}"`);
  }

  /** A token of this sort; `what` says in an error what was looked for. */
  expectA(is: Token["is"], what: string): Token {
    if (this.#next.is !== is) throw this.unexpected(what);
    return this.take();
  }

  unexpected(wanted: string): JechoError {
    const { is, value, at } = this.#next;
    return this.wrong(at, `${wanted} is wanted, not ${is === "end" ? "the end" : `"${value.slice(0, 40)}"`}`);
  }

  /** An error that says line and column of this place in the text. */
  wrong(at: number, what: string): JechoError {
    const before = this.#text.slice(0, at);
    const line = before.split("\n").length;
    const column = at - before.lastIndexOf("\n");
    return new JechoError("TYPE_INVALID", `line ${line}, column ${column}: ${what}`);
  }

  #read(): Token {
    BLANK.lastIndex = this.#at;
    const blank = BLANK.exec(this.#text)?.[0].length ?? 0;
    const at = this.#at + blank;
    if (at === this.#text.length) return { is: "end", value: "", at };
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(this.#text);
    if (match === null)
      throw this.wrong(at, `"${this.#text.slice(at, at + 20).split("\n")[0]}" is not understood`);
    this.#at = TOKEN.lastIndex;
    const [, word, number, text, sign] = match;
    if (word !== undefined) return { is: "word", value: word, at };
    if (number !== undefined) return { is: "number", value: number, at };
    if (text !== undefined) return { is: "text", value: text, at };
    return { is: "sign", value: sign as string, at };
  }
}
