#!/usr/bin/env node
// The beginning of the command. It imports nothing before it knows the version: an older Node would report what it lacks as a SyntaxError.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

// The program that it writes needs the same.
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`create-jecho: it needs Node 22.18 or newer, and this is Node ${process.versions.node}`);
  process.exitCode = 1;
} else await import("./command.ts");
