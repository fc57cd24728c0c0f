import { expect, test } from "vitest";
import {
  checkUserName,
  ERRORS,
  errorCode,
  formatChannelName,
  isIdentity,
  JechoError,
  mayRetry,
  parseChannelName,
} from "../src/mod.ts";

test("CHAN-1: a full name is taken apart and put together", () => {
  const name = "jecho://localhost:8080/atmosphere/ozone";
  const { server, name: user } = parseChannelName(name);
  expect([server, user]).toEqual(["localhost:8080", "atmosphere/ozone"]);
  expect(formatChannelName(server, user)).toBe(name);
});

test("CHAN-1, CHAN-10: a gateway's path belongs to its address, and its identity has no path", () => {
  const identity = `~${"0123456789ab".repeat(2)}`;
  expect(isIdentity(identity)).toBe(true);
  for (const [name, server, user] of [
    ["h:1/in/jecho/a", "h:1/in/jecho", "a"],
    ["h:1/in/jecho", "h:1", "in/jecho"],
    ["h:1/in/jechos/a", "h:1", "in/jechos/a"],
    [`${identity}/in/jecho/a`, identity, "in/jecho/a"],
  ] as const)
    expect(parseChannelName(`jecho://${name}`, "/in/jecho")).toEqual({ server, name: user });
  for (const near of ["~", `${identity}0`, identity.toUpperCase(), identity.slice(0, -1)]) {
    expect(isIdentity(near)).toBe(false);
    expect(() => parseChannelName(`jecho://${near}/a`)).toThrow(
      expect.objectContaining({ code: "CHANNEL_NAME_INVALID" }),
    );
  }
});

test("CHAN-1: a name with an identity may say an address, before what is derived", () => {
  const identity = `~${"0123456789ab".repeat(2)}`;
  for (const at of ["h:1", "https://h/in/jecho"]) {
    for (const [name, text] of [
      ["a/b", `jecho://${identity}/a/b?at=${at}`],
      ["a/b#c", `jecho://${identity}/a/b?at=${at}#c`],
    ] as const) {
      expect(formatChannelName(identity, name, at)).toBe(text);
      expect(parseChannelName(text, "/in/jecho")).toEqual({ server: identity, name, at });
    }
  }
  for (const wrong of [`h:1/a?at=h:2`, `${identity}/a?at=`, `${identity}/a?to=h`, `${identity}/a#c?at=h:1`])
    expect(() => parseChannelName(`jecho://${wrong}`)).toThrow(
      expect.objectContaining({ code: "CHANNEL_NAME_INVALID" }),
    );
});

test.each([
  "",
  "a//b",
  "/a",
  "a/",
  "../a",
  "a b",
  "a/.b",
  "x".repeat(65),
  "a/b/c/d/e/f/g/h/i",
  "ä",
  "a\u0000",
])("CHAN-1: %j is no name", name => {
  expect(() => checkUserName(name)).toThrowError(expect.objectContaining({ code: "CHANNEL_NAME_INVALID" }));
  expect(() => parseChannelName(`jecho://h:1/${name}`)).toThrowError(JechoError);
});

test("WIRE-6: every code has its own number, and its range says whether to try again", () => {
  const numbers = Object.values(ERRORS).map(([number]) => number);
  expect(new Set(numbers).size).toBe(numbers.length);
  for (const [code, [number]] of Object.entries(ERRORS)) {
    expect(number).toBeGreaterThanOrEqual(4000);
    expect(number).toBeLessThan(5000);
    expect(errorCode(number)).toBe(code);
    expect(new JechoError(code as keyof typeof ERRORS).retry).toBe(mayRetry(number));
  }
});

test("what is thrown becomes an error with a code without running its code", () => {
  const hostile = {
    toString() {
      throw new Error("ran");
    },
  };
  expect(JechoError.from(hostile)).toMatchObject({ code: "INTERNAL" });
  expect(JechoError.from(null)).toMatchObject({ code: "INTERNAL" });
  expect(JechoError.from(new Error("x".repeat(5000))).message).toHaveLength(2000);
});
