// What modulators cost without any network: their environment alone, in one place after the other.

import { readdirSync, readFileSync } from "node:fs";
import type { EagerHandler, Modulator, Type } from "@jecho/client";
import { LentRun, modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { encodeEvent } from "@jecho/shared";
import { EventsFrame, encodeRun, type RunHeader, type Stretch } from "@jecho/shared/internal";
import {
  averageFilter,
  averageOf,
  meanFilter,
  Record,
  rangeFilter,
  Winds,
  windowFilter,
  windowOf,
} from "../echo-filters.ts";
import { interleave } from "../timing.ts";
import { serve } from "../worker.ts";

type PlaceName = "local" | "compiled" | "isolated-vm" | "quickjs";

export interface CostOf {
  readonly place: PlaceName;
  readonly filter: "range" | "mean" | "meanOf" | "window" | Crossing;
  readonly events: number;
}

/** Events that go to a host and are rejected there, or pass. */
export type Crossing = `${"rejected" | "passed"}_${keyof typeof CROSSING_BYTES}`;

/** Cost of one event, in nanoseconds of processor time. */
export interface Cost {
  /** In the modulator's calls; of the whole where it runs in the producer's thread. */
  readonly sandboxNs: number;
  /** In the host beside that. */
  readonly hostNs: number;
  readonly producerNs: number;
}

const CHANNEL = 1;
const DERIVED = 2;
const BATCH = 100;
const LAYERS = 37;
/** As many events as `moe-break-even.ts` raises in one turn. */
const BURST_BYTES = 256 << 10;
export const CROSSING_BYTES = { "100b": 100, "1kb": 1000, "37kb": LAYERS * 253 * 4 } as const;
/** About what the other fields and the table take. */
const REST_BYTES = 28;

const field = Float32Array.from({ length: LAYERS * 253 }, (_, i) => i % 50);
const grid = Float32Array.from({ length: 73 * 144 }, (_, i) => i % 50);
const fields = Array.from({ length: LAYERS }, () => ({ velocity: field }));

interface Work {
  readonly modulator: Modulator;
  readonly type: Type;
  readonly header: RunHeader;
  readonly run: EventsFrame;
  readonly events: Stretch;
}

function workOf<T>({ modulator }: EagerHandler, of: Type<T>, events: readonly T[]): Work {
  const parts = events.map(event => {
    const bytes = encodeEvent(of, event);
    return { bytes, start: 0, end: bytes.byteLength };
  });
  const header = { channel: CHANNEL, producer: 3, raised: 0, token: of.token, parameters: 0, flags: 0 };
  const run = EventsFrame.at(encodeRun(header, parts));
  return { modulator: modulator as Modulator, type: of as Type, header, run, events: run.stretch() };
}

const filler = new Uint8Array(72);
const works = new Map<CostOf["filter"], Work>([
  ["range", workOf(rangeFilter(100), Record, records(BATCH))],
  ["mean", workOf(averageFilter, Winds, fields)],
  ["meanOf", workOf(meanFilter, Winds, fields)],
  [
    "window",
    workOf(
      windowFilter,
      Winds,
      fields.map(() => ({ velocity: grid })),
    ),
  ],
]);
for (const [size, bytes] of Object.entries(CROSSING_BYTES) as [keyof typeof CROSSING_BYTES, number][]) {
  const filler = new Uint8Array(bytes - REST_BYTES);
  const length = Math.floor(BURST_BYTES / bytes);
  const events = Array.from({ length }, (_, i) => ({ price: i % 100, time: i, filler }));
  works.set(`rejected_${size}`, workOf(rangeFilter(100), Record, events));
  works.set(`passed_${size}`, workOf(rangeFilter(0), Record, events));
}

function records(count: number) {
  return Array.from({ length: count }, (_, i) => ({ price: i, time: i, filler }));
}

/** A class that looks at each event so, and lets none through. */
function hostile(looks: string): string {
  return `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator { enqueue(event) { ${looks} super.enqueue(event); } }`;
}

/** A producer lends its events to modulators in its own thread where they lie, with the list of where that is. */
function lent({ header, events }: Work): LentRun {
  return new LentRun(header, events);
}

function isHere(place: PlaceName): place is "local" | "compiled" {
  return place === "local" || place === "compiled";
}

interface Open {
  readonly environment: ModulatorEnvironment;
  readonly work: Work;
}

const opened = new Map<string, Promise<Open>>();
/** Texts that were made for their first events. */
let firsts = 0;
/** Runs that the environment has not finished. */
let under = 0;
let turn: (() => void) | undefined;

/** Resolves when the environment has finished a run more. */
function finished(): Promise<void> {
  return new Promise(resolve => {
    turn = resolve;
  });
}

function open({ place, filter }: CostOf): Promise<Open> {
  const name = `${place} ${filter}`;
  let found = opened.get(name);
  if (found === undefined) {
    found = begin(place, works.get(filter) as Work);
    opened.set(name, found);
  }
  return found;
}

async function begin(place: PlaceName, work: Work): Promise<Open> {
  const { modulator } = work;
  const limits = { callMs: 5000, timeShare: 1 };
  const trusted = place === "compiled" ? [] : [modulator.source];
  const environment = new ModulatorEnvironment(
    isHere(place) ? { trusted, limits } : { local: false, engine: place, limits },
    {
      onEvents() {},
      onDone() {
        under--;
        turn?.();
      },
      onRemoved(_, error) {
        throw error;
      },
    },
  );
  const table = modulatorTable(modulator);
  await environment.install({
    derived: DERIVED,
    channel: CHANNEL,
    schema: work.type.schema,
    modulator: table,
  });
  const tier = environment.placementOf(DERIVED)?.tier;
  if (place === "compiled" && tier !== place) throw new Error(`it is ${tier}, not compiled`);
  return { environment, work };
}

/** Linux counts what each thread has run in nanoseconds. */
function childCpuNs(pid: number | undefined): number {
  if (pid === undefined) return 0;
  let ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`))
    ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]);
  return ns;
}

serve({
  async cost(of: CostOf): Promise<Cost> {
    const { environment, work } = await open(of);
    const { pid } = environment.stats;
    const insideMs = (): number => environment.modulators.get(DERIVED)?.cpuMs ?? 0;
    const runs = Math.max(1, Math.ceil(of.events / work.run.count));
    const before = { cpu: process.cpuUsage(), child: childCpuNs(pid), inside: insideMs() };
    for (let i = 0; i < runs; i++) {
      under++;
      environment.enqueue(isHere(of.place) ? lent(work) : work.run, `${i}`);
      if (under > 2) await finished();
    }
    while (under > 0) await finished();
    const { user, system } = process.cpuUsage(before.cpu);
    const events = runs * work.run.count;
    const producerNs = (1000 * (user + system)) / events;
    const sandboxNs = (1e6 * (insideMs() - before.inside)) / events;
    if (isHere(of.place)) return { sandboxNs: producerNs, hostNs: 0, producerNs: 0 };
    // A worker's thread is one of this process.
    if (pid === undefined) return { sandboxNs, hostNs: 0, producerNs: producerNs - sandboxNs };
    return { sandboxNs, hostNs: (childCpuNs(pid) - before.child) / events - sandboxNs, producerNs };
  },
  /** Nanoseconds for each of the first 512 events of a text that was never seen before; its installation is over then. */
  async first(place: "local" | "compiled"): Promise<number> {
    const { modulator } = rangeFilter(100) as { modulator: Modulator };
    const source = `${modulator.source}// ${++firsts}\n`;
    const events = Array.from({ length: 512 }, (_, i) => ({ price: i % 100, time: i, filler }));
    const work = workOf({ modulator: { ...modulator, source } }, Record, events);
    const { environment } = await begin(place, work);
    const start = process.hrtime.bigint();
    environment.enqueue(lent(work));
    const ns = Number(process.hrtime.bigint() - start) / events.length;
    await environment.close();
    return ns;
  },
  /** Nanoseconds for the mean of the same field, or the window of it, outside. */
  native(of: "mean" | "window" = "mean"): number {
    const native = (): unknown => (of === "mean" ? averageOf(field) : windowOf(grid));
    const [us = 0] = interleave({ native }, { rounds: 1, ms: 50 })["native"] ?? [];
    return 1000 * us;
  },
  /**
   * Milliseconds for which strangers hold the thread at most: by a text that takes long to compile, and by runs for which each of many modulators
   * takes as many steps as it may, bounded ones and those that count them.
   */
  async longestHold(): Promise<number> {
    const environment = new ModulatorEnvironment(
      { limits: { callMs: 5000 } },
      { onEvents() {}, onRemoved() {} },
    );
    let longest = 0;
    const timed = <T>(act: () => T): T => {
      const start = performance.now();
      const made = act();
      longest = Math.max(longest, performance.now() - start);
      return made;
    };
    const work = workOf({ modulator: { source: "" } } as EagerHandler, Record, records(40));
    const install = async (derived: number, source: string): Promise<void> => {
      const modulator = modulatorTable({ source } as Modulator);
      const request = { derived, channel: CHANNEL, schema: work.type.schema, modulator };
      await timed(() => environment.prepare(request));
      await timed(() => environment.install(request));
    };
    const texts = [
      (i: number) =>
        hostile(`let n = ${i}; for (let j = 0; j < 12000; j++) n = n * 31 % 1000003; if (n < 0)`),
      (i: number) =>
        hostile(
          `let n = ${i}; for (let j = 0; j < event.price + 12000; j++) n = n * 31 % 1000003; if (n < 0)`,
        ),
      (i: number) => hostile(`const n = ${`(event.price + ${i}) * `.repeat(1500)}1; if (n < 0)`),
    ];
    let derived = DERIVED;
    for (const text of texts) {
      for (let i = 0; i < 64; i++) await install(derived++, text(i));
      for (let i = 0; i < 70; i++) {
        timed(() => environment.enqueue(lent(work)));
        await environment.settled();
      }
    }
    await environment.close();
    return longest;
  },
});
