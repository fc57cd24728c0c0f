/**
 * The modulator host: a child process of the producer that runs other people's code. It reads frames from file
 * descriptor 3 and writes frames to 4, one after the other and blocking, so that what is out before a modulator runs tells
 * the producer which one it is. It ends when 3 does.
 */
import { readSync, writeSync } from "node:fs";
import { JechoError } from "@jecho/shared";
import {
  type Control,
  type EventsFrame,
  encodeControl,
  type Frame,
  frameEnd,
  type Install,
  parseFrame,
  refusal,
} from "@jecho/shared/internal";
import { isolatedVmEngine } from "../sandbox/isolated-vm.ts";
import type { ContextValue, Limits } from "../sandbox/sandbox.ts";
import { chunksOf, type HostContext, HostedModulator } from "./hosted-modulator.ts";
import { startGuard } from "./watch.ts";

const IN = 3;
const OUT = 4;

const modulators = new Map<number, HostedModulator>();
const schemas = new Map<number, Uint8Array>();
const limits = JSON.parse(process.argv[2] ?? "{}") as Limits;
let batch = 0;

const views = new Map<number, Map<string, ContextValue>>();
let context: HostContext | JechoError;
try {
  context = {
    engine: await isolatedVmEngine(),
    limits,
    watch: startGuard(Number(process.argv[3])),
    write,
    views,
    timeMs: Date.now(),
  };
} catch (error) {
  context = JechoError.from(error);
}

let buffer = new Uint8Array(1 << 20);
let end = 0;
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
    act(parseFrame(view, buffer, at, next));
    at = next;
  }
  buffer.copyWithin(0, at, filled);
  return filled - at;
}

function act(frame: Frame): void {
  switch (frame.kind) {
    case "Events":
      return runBatch(frame);
    case "BaseType":
      schemas.set(frame.channel, frame.schema.slice());
      return;
    case "Context": {
      const { channel, name, value } = frame;
      const known = views.get(channel) ?? new Map<string, ContextValue>();
      const view = { name, value: value.slice() };
      views.set(channel, known.set(name, view));
      for (const modulator of modulators.values())
        if (modulator.channel === channel) modulator.setContext(view);
      return;
    }
    case "Clock":
      if (!(context instanceof JechoError)) context.timeMs = frame.timeMs;
      return;
    case "Install":
      return install(frame);
    case "Remove":
      modulators.get(frame.derived)?.remove();
      modulators.delete(frame.derived);
      return send({ kind: "Removed", derived: frame.derived, code: 0, message: "" });
    case "ObjectUpdate":
      for (const modulator of modulators.values()) attempt(modulator, () => modulator.update(frame));
      return;
    case "Flow": {
      const modulator = modulators.get(frame.derived);
      if (modulator !== undefined) modulator.ready = frame.ready;
      if (frame.ready) turnOf(frame.derived, () => modulator?.flush());
      return;
    }
    case "Period":
      return turnOf(frame.derived, () => modulators.get(frame.derived)?.period());
    default:
      throw new JechoError("FRAME_UNEXPECTED", `a modulator host takes no ${frame.kind}`);
  }
}

function runBatch(frame: EventsFrame): void {
  batch++;
  const chunks = chunksOf(frame);
  const { producer, flags } = frame;
  for (const modulator of modulators.values()) {
    if (modulator.channel === frame.channel)
      turn(modulator, batch, () => modulator.run(chunks, producer, flags));
  }
}

/** A turn without events. Who asked for it is answered even if the modulator has gone. */
function turnOf(derived: number, act: () => number | undefined): void {
  const modulator = modulators.get(derived);
  if (modulator === undefined) send({ kind: "Done", derived, batch: 0, dropped: 0, cpuMs: 0 });
  else turn(modulator, 0, () => act() ?? 0);
}

/** What a modulator does at once: its outcome is told before the next one's turn. */
function turn(modulator: HostedModulator, batch: number, act: () => number): void {
  const { derived, cpuMs, periodMs } = modulator;
  const dropped = attempt(modulator, act);
  if (dropped === undefined) return;
  if (modulator.periodMs !== periodMs) send({ kind: "Period", derived, periodMs: modulator.periodMs });
  send({ kind: "Done", derived, batch, dropped, cpuMs: Math.max(0, modulator.cpuMs - cpuMs) });
}

function install(frame: Install): void {
  const { request, derived, channel } = frame;
  try {
    if (context instanceof JechoError) throw context;
    const modulator = new HostedModulator(frame, schemas.get(channel), context);
    modulators.set(derived, modulator);
    const { periodMs, needs, schema = new Uint8Array(0) } = modulator;
    send({ kind: "Installed", request, derived, schema, needs });
    if (periodMs > 0) send({ kind: "Period", derived, periodMs });
  } catch (error) {
    send(refusal(request, error));
  }
}

/** Removes the modulator where it fails. */
function attempt<T>(modulator: HostedModulator, act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    const { number, message } = JechoError.from(error);
    modulator.dispose();
    modulators.delete(modulator.derived);
    send({ kind: "Removed", derived: modulator.derived, code: number, message });
    return undefined;
  }
}

function send(control: Control): void {
  write(encodeControl(control));
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
