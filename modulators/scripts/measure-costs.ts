/**
 * Measures what each standard modulator costs per event in each place that it can run in, and writes it into its page in docs/.
 * Meant for a machine with nothing else to do; takes some minutes. `npm run costs --workspace @jecho/modulators -- NAME...` measures these alone.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { encodeEvent } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";
import { modulatorTable } from "../src/authoring/modulator.ts";
import { ModulatorBench } from "../src/authoring/testing.ts";
import {
  aggregate,
  cluster,
  compress,
  crop,
  diff,
  downsample,
  encrypt,
  fifo,
  type GridData,
  type HandlerPair,
  keyPair,
  latestPerKey,
  priority,
  quantise,
  rateLimit,
  sample,
  viewFilter,
} from "../src/mod.ts";
import { ModulatorEnvironment } from "../src/node.ts";
import { BASE, encodeEvents, grid, runOf } from "../test/grid.ts";

const BATCH_EVENTS = 64;
/**
 * Milliseconds of the sandbox's processor time in each window; what an engine learns of the code comes before. The
 * middle one of the windows counts.
 */
const WINDOW_MS = 50;
const WINDOWS = 5;
const WARM_UP_MS = 200;
/** Bounds of a window, where the sandbox is done sooner than the events are made and sent. */
const MOST_BATCHES = 300;
const MOST_BYTES = 100e6;
const PLACES = ["local", "isolated-vm", "quickjs"] as const;

type Shape = readonly [rows: number, columns: number];

const SIZES = { "8 x 16": [8, 16], "37 x 253": [37, 253] } as const;
const VIEW = { firstLayer: 0, lastLayer: 0, south: -45, north: 45, west: 0, east: 180, stride: 1 };
const HANDLERS: Readonly<Record<string, () => HandlerPair>> = {
  aggregate: () => aggregate("values", { every: 8, bins: 20, low: 200, high: 400 }),
  cluster: () => cluster({ events: 16 }),
  compress,
  crop: () => crop({ columns: [0, 7] }),
  diff: () => diff(VIEW, 0.1) as HandlerPair,
  downsample: () => downsample("values", 8),
  encrypt: () => encrypt(keyPair()),
  fifo,
  "latest-per-key": () => latestPerKey("layer"),
  "packed-view": () => viewFilter(VIEW, { packed: true }) as HandlerPair,
  priority: () => priority("layer", [1]),
  quantise: () => quantise("values", 0.01),
  "rate-limit": () => rateLimit(100),
  sample: () => sample(10),
  "view-filter": () => viewFilter(VIEW) as HandlerPair,
};

function gridAt(step: number, rows: number, columns: number): GridData {
  return {
    step,
    layer: step % 4 === 0 ? 1 : 0,
    time: step,
    latFirst: 90,
    latStep: -180 / (rows - 1),
    rows,
    lonFirst: 0,
    lonStep: 360 / columns,
    columns,
    values: Float32Array.from({ length: rows * columns }, (_, cell) =>
      (step + cell) % 10 === 0 ? 300 + Math.sin(step + cell) : 300 + Math.sin(cell / 40),
    ),
  };
}

/** Processor time per event, and bytes out per byte in. */
type Cost = { readonly us: number; readonly share: number };

/** A modulator that has been warmed up. */
interface Measuring {
  window(): Promise<Cost>;
  close(): Promise<void>;
}

/** Without the demodulator: its cost is the consumer's. Each in an environment of its own: two would be in each other's way. */
async function measure(handler: HandlerPair, shape: Shape, place: (typeof PLACES)[number]): Promise<Cost> {
  const measuring = await (place === "local"
    ? measureLocal(handler, shape)
    : measureHosted(handler, shape, place));
  const costs: Cost[] = [];
  for (let i = 0; i < WINDOWS; i++) costs.push(await measuring.window());
  await measuring.close();
  const share = costs.reduce((sum, { share }) => sum + share, 0) / WINDOWS;
  return { us: middleOf(costs.map(({ us }) => us)), share };
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

/** In the producer's own process, with what goes out: nobody else does anything meanwhile. */
async function measureLocal({ modulator }: HandlerPair, [rows, columns]: Shape): Promise<Measuring> {
  let bytesOut = 0;
  const environment = new ModulatorEnvironment(
    {},
    {
      onEvents: ({ start, end }) => {
        bytesOut += end - start;
      },
      onRemoved: (_, error) => {
        throw error;
      },
    },
  );
  const runs = batchesOf(rows, columns).map(events => runOf(encodeEvents(events)));
  await environment.install({
    derived: 2,
    channel: BASE,
    schema: grid.schema,
    modulator: modulatorTable(modulator),
  });
  const run = (ms: number): { readonly count: number; readonly cpuMs: number } => {
    const before = process.cpuUsage();
    for (let count = 1; ; count++) {
      environment.enqueue(runs[count % runs.length] as EventsFrame);
      const { user, system } = process.cpuUsage(before);
      const cpuMs = (user + system) / 1000;
      if (cpuMs >= ms) return { count, cpuMs };
    }
  };
  run(WARM_UP_MS);
  return {
    window: async () => {
      bytesOut = 0;
      const { count, cpuMs } = run(WINDOW_MS);
      return costOf(rows, columns, count, cpuMs, bytesOut);
    },
    close: () => environment.close(),
  };
}

/** Behind the wall, as the host tells it. */
async function measureHosted(
  { modulator }: HandlerPair,
  [rows, columns]: Shape,
  place: "isolated-vm" | "quickjs",
): Promise<Measuring> {
  const bench = await ModulatorBench.open<GridData>(
    { modulator },
    { type: grid, place, limits: { callMs: 5000, memoryMiB: 128, timeShare: 1 } },
  );
  const batches = batchesOf(rows, columns);
  const most = Math.min(MOST_BATCHES, MOST_BYTES / (4 * rows * columns * BATCH_EVENTS));
  const run = async (ms: number) => {
    const { cpuMs: cpuBefore = 0, bytesOut: bytesBefore = 0 } = bench.stats ?? {};
    for (let count = 1; ; count++) {
      await bench.push(...(batches[count % 4] as GridData[]));
      bench.made.length = 0;
      const { cpuMs = 0, bytesOut = 0 } = bench.stats ?? {};
      if (cpuMs - cpuBefore < ms && count < most) continue;
      return { count, cpuMs: cpuMs - cpuBefore, bytesOut: bytesOut - bytesBefore };
    }
  };
  await run(WARM_UP_MS);
  return {
    window: async () => {
      const { count, cpuMs, bytesOut } = await run(WINDOW_MS);
      return costOf(rows, columns, count, cpuMs, bytesOut);
    },
    close: () => bench.close(),
  };
}

function batchesOf(rows: number, columns: number): GridData[][] {
  return Array.from({ length: 4 }, (_, batch) =>
    Array.from({ length: BATCH_EVENTS }, (_, i) => gridAt(batch * BATCH_EVENTS + i, rows, columns)),
  );
}

function costOf(rows: number, columns: number, batches: number, cpuMs: number, bytesOut: number): Cost {
  const events = BATCH_EVENTS * batches;
  const bytesIn = encodeEvent(grid, gridAt(0, rows, columns)).byteLength * events;
  return { us: (1000 * cpuMs) / events, share: bytesOut / bytesIn };
}

const where = `${cpus()[0]?.model ?? "an unknown processor"}, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`;
const wanted = process.argv.slice(2);
/** Time that passing every event on takes in this run, by place and size. The process has learned its own part before. */
const passing = new Map<string, number>();
await measure(fifo(), SIZES["8 x 16"], "local");
for (const place of PLACES)
  for (const [size, shape] of Object.entries(SIZES))
    passing.set(`${place} ${size}`, (await measure(fifo(), shape, place)).us);
for (const [name, make] of Object.entries(HANDLERS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const rows = [
    `| event | ${PLACES.join(" | ")} | bytes out per byte in |`,
    `| --- | ${PLACES.map(() => "---:").join(" | ")} | ---: |`,
  ];
  for (const [size, shape] of Object.entries(SIZES)) {
    const cells: string[] = [];
    let share = 0;
    for (const place of PLACES) {
      const measured = await measure(make(), shape, place);
      ({ share } = measured);
      const ratio = measured.us / (passing.get(`${place} ${size}`) as number);
      const times = name === "fifo" ? "" : `, ${plain(ratio)}x`;
      cells.push(`${plain(measured.us)} us${times}`);
      const of = `${name}_${shape.join("x")}_${place}`.replaceAll("-", "_");
      console.log(`metric costs.${of} ${measured.us.toPrecision(3)} us`);
    }
    rows.push(`| ${size} float32 | ${cells.join(" | ")} | ${plain(share)} |`);
  }
  const page = fileURLToPath(new URL(`../docs/${name}.md`, import.meta.url));
  const note = `Processor time per event, in batches of ${BATCH_EVENTS} events, without the demodulator. Local: all that the producer's process spends on
it, from its event to the message that goes out. isolated-vm and QuickJS: the sandbox alone. Behind it, how many times what [fifo](fifo.md), which passes every
event, took in the same run. ${where}.`;
  const table = `<!-- cost -->\n${rows.join("\n")}\n\n${note}\n<!-- /cost -->`;
  const text = readFileSync(page, "utf8");
  writeFileSync(
    page,
    text.replace(/<!-- cost -->[\s\S]*<!-- \/cost -->/, () => table),
  );
}

/** Two digits that count, without an exponent. */
function plain(value: number): string {
  return String(Number(value.toPrecision(2)));
}
