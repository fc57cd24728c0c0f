/**
 * Measures what each standard modulator costs per event in a real host, and writes it into its page in docs/. Meant for a
 * machine with nothing else to do.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { type } from "@jecho/shared";
import {
  aggregate,
  cluster,
  compress,
  diff,
  downsample,
  type EagerHandler,
  encrypt,
  fifo,
  keyPair,
  latestPerKey,
  priority,
  quantise,
  rateLimit,
  sample,
  viewFilter,
} from "../src/mod.ts";
import { ModulatorBench } from "../src/testing.ts";

const BATCH_EVENTS = 64;
const BATCHES = Number(process.env["JECHO_COST_BATCHES"] ?? 200);
const WARM_UP = 20;

const Grid = type("GridData", {
  step: "uint32",
  layer: "int32",
  time: "float64",
  latFirst: "float32",
  latStep: "float32",
  rows: "uint16",
  lonFirst: "float32",
  lonStep: "float32",
  columns: "uint16",
  values: "float32[]",
});
type Grid = typeof Grid.event;

const SIZES = { "8 x 16": [8, 16], "37 x 253": [37, 253] } as const;
const VIEW = { firstLayer: 0, lastLayer: 0, south: -45, north: 45, west: 0, east: 180, stride: 1 };
const HANDLERS: Readonly<Record<string, () => EagerHandler>> = {
  aggregate: () => aggregate("values", { every: 8, bins: 20, low: 200, high: 400 }),
  cluster: () => cluster({ events: 16 }),
  compress,
  diff: () => diff(VIEW, 0.1) as EagerHandler,
  downsample: () => downsample("values", 8),
  encrypt: () => encrypt(keyPair()),
  fifo,
  "latest-per-key": () => latestPerKey("layer"),
  "packed-view": () => viewFilter(VIEW, { packed: true }) as EagerHandler,
  priority: () => priority("layer", [1]),
  quantise: () => quantise("values", 0.01),
  "rate-limit": () => rateLimit(100),
  sample: () => sample(10),
  "view-filter": () => viewFilter(VIEW) as EagerHandler,
};

function gridAt(step: number, rows: number, columns: number): Grid {
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

/** Processor time of the sandbox per event, and bytes out per byte in. */
async function measure(handler: EagerHandler, rows: number, columns: number) {
  // Without the demodulator: its cost is the consumer's.
  const bench = await ModulatorBench.open<Grid>({ modulator: handler.modulator }, { type: Grid });
  const batches = Array.from({ length: 4 }, (_, batch) =>
    Array.from({ length: BATCH_EVENTS }, (_, i) => gridAt(batch * BATCH_EVENTS + i, rows, columns)),
  );
  const bytesIn = Grid.encode(gridAt(0, rows, columns)).byteLength * BATCH_EVENTS * BATCHES;
  let before = { cpuMs: 0, bytesOut: 0 };
  for (let i = 0; i < WARM_UP + BATCHES; i++) {
    if (i === WARM_UP) before = { ...before, ...bench.stats };
    await bench.push(...(batches[i % 4] as Grid[]));
    bench.made.length = 0;
  }
  const after = { cpuMs: 0, bytesOut: 0, ...bench.stats };
  await bench.close();
  const us = (1000 * (after.cpuMs - before.cpuMs)) / (BATCH_EVENTS * BATCHES);
  return { us, share: (after.bytesOut - before.bytesOut) / bytesIn };
}

const where = `${cpus()[0]?.model ?? "an unknown processor"}, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}`;
for (const [name, make] of Object.entries(HANDLERS)) {
  const rows = ["| event | processor time per event | bytes out per byte in |", "| --- | --- | --- |"];
  for (const [size, [height, width]] of Object.entries(SIZES)) {
    const { us, share } = await measure(make(), height, width);
    rows.push(`| ${size} float32 | ${us.toPrecision(2)} us | ${share.toPrecision(2)} |`);
    console.log(`metric costs.${name.replaceAll("-", "_")}_${height}x${width} ${us.toPrecision(3)} us`);
  }
  const page = fileURLToPath(new URL(`../docs/${name}.md`, import.meta.url));
  const text = readFileSync(page, "utf8");
  const note = `In the modulator host, batches of ${BATCH_EVENTS} events, without the demodulator. ${where}.`;
  const table = `<!-- cost -->\n${rows.join("\n")}\n\n${note}\n<!-- /cost -->`;
  writeFileSync(
    page,
    text.replace(/<!-- cost -->[\s\S]*<!-- \/cost -->/, () => table),
  );
}
