import { SETTINGS, type SettingName } from "./settings.ts";

/** The command line, the environment or a file says what cannot be; its message says what, and where. */
export class Misuse extends Error {}

/**
 * A setting's value from its text, as `createGateway` takes it.
 *
 * @param texts several where the setting is a list, one for each of its items
 * @param from where it stands, for the message
 * @throws Misuse
 */
export function readText(name: SettingName, texts: string | readonly string[], from: string): unknown {
  const { kind, bounds = [0, 0], choices } = SETTINGS[name];
  const text = String(texts);
  switch (kind) {
    case "number":
      return readWhole(text, from, bounds);
    case "switch":
      if (text !== "true" && text !== "false") throw new Misuse(`${from} takes true or false, not "${text}"`);
      return text === "true";
    case "list":
      return typeof texts === "string" ? texts.split(",") : texts;
    case "pairs": {
      const pairs = typeof texts === "string" ? texts.split(",") : texts;
      return Object.fromEntries(pairs.map(pair => readPair(pair, from)));
    }
    default:
      if (choices?.includes(text) === false)
        throw new Misuse(`${from} takes one of ${choices.join(", ")}, not "${text}"`);
      return text;
  }
}

function readPair(text: string, from: string): [pattern: string, subject: string] {
  const [, pattern = "", subject = ""] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (pattern === "")
    throw new Misuse(`${from} takes a pattern and a subject, as weather/**=sim, not "${text}"`);
  return [pattern, subject];
}

function readWhole(text: string, from: string, [least, most]: readonly [number, number]): number {
  if (!/^\d+$/.test(text) || Number(text) < least || Number(text) > most)
    throw new Misuse(`${from} takes a whole number from ${least} to ${most}, not "${text}"`);
  return Number(text);
}
