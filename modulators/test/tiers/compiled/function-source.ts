import { modulatorFrom } from "@jecho/modulators";

/** The source of a modulator that is made of a function with this text. */
export function functionSource(text: string): string {
  const [head = ""] = modulatorFrom(() => true).source.split("\n", 1);
  return `${head}\n${text};`;
}
