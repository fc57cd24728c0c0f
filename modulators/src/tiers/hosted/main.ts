/**
 * The modulator host as a child process of the producer. It reads frames from file descriptor 3 and writes frames to 4,
 * one after the other and blocking: what was written before a modulator runs tells the producer which one runs. The
 * process ends when descriptor 3 does.
 */
import { readSync, writeSync } from "node:fs";
import { frameEnd, parseFrame } from "@jecho/shared/internal";
import { isolatedVmEngine } from "../../sandbox/isolated-vm.ts";
import type { Engine, Limits } from "../../sandbox/sandbox.ts";
import { HostCore } from "./core.ts";
import { startGuard } from "./start-guard.ts";
import { NO_ENGINE } from "./watch.ts";

const IN = 3;
const OUT = 4;

const limits = JSON.parse(process.argv[2] ?? "{}") as Limits;

let engine: Engine;
try {
  engine = await isolatedVmEngine(limits.memoryMiB);
} catch (error) {
  console.error((error as Error).message);
  process.exit(NO_ENGINE);
}
const core = new HostCore({ engine, limits, watch: startGuard(Number(process.argv[3])) }, write);

let buffer = new Uint8Array(1 << 20);
let end = 0;
engine.prepare();
for (;;) {
  if (end === buffer.byteLength) buffer = grown(buffer);
  const read = readSync(IN, buffer, end, buffer.byteLength - end, null);
  if (read === 0) process.exit(0);
  end = consume(end + read);
}

/** Acts on each whole frame in the buffer and moves the rest to its front; returns where that ends. */
function consume(filled: number): number {
  const view = new DataView(buffer.buffer, 0, filled);
  let at = 0;
  while (at + 24 <= filled && at + 4 + view.getUint32(at, true) <= filled) {
    const next = frameEnd(view, at);
    core.act(parseFrame(view, buffer, at, next));
    at = next;
  }
  buffer.copyWithin(0, at, filled);
  return filled - at;
}

function write(frame: Uint8Array): void {
  let at = 0;
  while (at < frame.byteLength) at += writeSync(OUT, frame, at);
}

function grown(full: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * full.byteLength);
  larger.set(full);
  return larger;
}
