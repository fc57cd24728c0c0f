import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const css = readFileSync(new URL("../../viewer/src/styles/colours.css", import.meta.url), "utf8");

/** The schemes of the page by their colours: the dark one and, in a block of its own, the light one. */
const schemes = [...css.matchAll(/\{([^{}]*--ground: #[^{}]*)\}/g)].map(
  ([, block = ""]) =>
    new Map([...block.matchAll(/--([\w-]+): (#[0-9a-f]+);/g)].map(([, name, colour]) => [name, colour])),
);

/** Relative luminance by the sRGB standard. */
function luminance(colour: string): number {
  const digits = colour.length === 4 ? colour.replace(/[0-9a-f]/g, "$&$&") : colour;
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map(at => {
    const part = Number.parseInt(digits.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const WORDS = ["ink", "ink-dim", "accent", "mark", "bad", "warning"];
const GROUNDS = ["ground", "panel", "well", "control", "control-hover"];
const PAIRS = [
  ...WORDS.flatMap(word => GROUNDS.map(ground => [word, ground] as const)),
  ["warning", "warning-ground"],
  ["bad", "bad-ground"],
  ["on-ink", "on"],
  ["accent-ink", "accent"],
  ["accent-ink", "accent-hover"],
] as const;

test.each([
  ["dark", 0],
  ["light", 1],
] as const)("words stand out from their ground by 4.5 to 1 at least: %s", (_, number) => {
  const colours = schemes[number];
  expect(schemes).toHaveLength(2);
  const faint = PAIRS.flatMap(([word, ground]) => {
    const ratio = contrast(colours?.get(word) ?? "#000", colours?.get(ground) ?? "#000");
    return ratio < 4.5 ? [`${word} on ${ground}: ${ratio.toFixed(2)}`] : [];
  });
  expect(faint).toEqual([]);
});
