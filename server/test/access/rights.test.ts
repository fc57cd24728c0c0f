import { expect, test } from "vitest";
import { Rights } from "../../src/access/rights.ts";

test.for<[right: string, on: string, allowed: boolean]>([
  ["subscribe:weather/readings", "weather/readings", true],
  ["subscribe:weather/readings", "weather/readings/more", false],
  ["subscribe:weather/readings", "weather", false],
  ["subscribe:weather/readings", "weather/readingsX", false],
  ["subscribe:weather/re.dings", "weather/readings", false],
  ["subscribe:weather/*", "weather/readings", true],
  ["subscribe:weather/*", "weather/a/b", false],
  ["subscribe:weather/*", "weather/", false],
  ["subscribe:*/readings", "weather/readings", true],
  ["subscribe:weather/**", "weather/a/b", true],
  ["subscribe:weather/**", "weather", false],
  ["subscribe:weather/**", "weathers/a", false],
  ["subscribe:**", "a/b/c", true],
  ["*:weather/**", "weather/a", true],
  ["publish:**", "weather", false],
  // What is made of a channel tells no more than the channel.
  ["subscribe:weather/readings", "weather/readings#hot", true],
  ["subscribe:weather/**", "weather/readings#hot", true],
  ["subscribe:weather/readings#hot", "weather/readings#hot", true],
  ["subscribe:weather/readings#hot", "weather/readings", false],
  ["subscribe:weather/readings#hot", "weather/readings#cold", false],
  ["subscribe:weather/*#*", "weather/readings#cold", true],
  ["subscribe:weather/*#*", "weather/readings", false],
  ["subscribe:weather/**", "weather/a\n#b", true],
  ["subscribe:weather", "weather\n", false],
])("RIGHT-3: %s allows to subscribe to %j: %s", ([right, on, allowed]) => {
  expect(new Rights([right]).allow("subscribe", on)).toBe(allowed);
});

test.for<[right: string, allows: "share" | "kick", on: string, allowed: boolean]>([
  ["kick:ana", "kick", "ana", true],
  ["kick:ana", "kick", "ana#boss", false],
  ["kick:ana#boss", "kick", "ana#boss", true],
  ["kick:guests/*", "kick", "guests/a#b", true],
  ["kick:guests/*", "kick", "guests/a/b", false],
  ["kick:guests/**", "kick", "guests/a/b#c", true],
  ["share:mine", "share", "mine#secret", false],
  ["share:*", "share", "any#id\n", true],
  ["share:**", "share", "any/id#at all", true],
  ["share:**#mine", "share", "any#mine", true],
  ["*:mine", "share", "mine#secret", false],
  ["*:**", "kick", "ana#boss", true],
])("RIGHT-3: %s allows to %s %j: %s", ([right, allows, on, allowed]) => {
  expect(new Rights([right]).allow(allows, on)).toBe(allowed);
});

test.for([
  "",
  "subscribe",
  "subscribe:",
  "subscribe:weather/",
  "subscribe:/weather",
  "subscribe:we*ther",
  "subscribe:**/weather",
  "subscribe:a b",
  "subscribe:a#b#c",
  "listen:weather",
  "subscribe:weather,publish:weather",
])("RIGHT-3: %j is no right", text => {
  expect(() => new Rights([text])).toThrow(expect.objectContaining({ code: "ARGUMENT_INVALID" }));
});
