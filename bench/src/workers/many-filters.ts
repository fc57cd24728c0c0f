// Many strangers' filters of one channel, in an environment alone: what an event costs that few of them let through.
import { modulatorFrom } from "@jecho/client";
import { LentRun, modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { encodeEvent, type } from "@jecho/shared";
import { type EventsFrame, encodeRun, parseFrame } from "@jecho/shared/internal";
import { serve } from "../worker.ts";

/** Filters that each event passes: a half has a key each, the other half a range that overlaps with the next one's. */
export interface FiltersOf {
  readonly filters: number;
  /** Whether events are for one of them and the other ones', or for nobody. */
  readonly isWanted: boolean;
}

/** What the installation of many filters took. */
export interface FiltersOpened {
  readonly ms: number;
  readonly heapBytes: number;
  readonly otherBytes: number;
}

const CHANNEL = 1;
/** Runs of one event each: a second at 5,000 events a second, after which it is said how far each modulator is. */
const RUNS = 5000;
const Tick = type("Tick", { key: "int32", value: "float64" });
const SOURCE = { id: 1n, urgent: false };

/** A producer uses the memory of what was sent again. */
const memory = new Uint8Array(1 << 16);
const environments = new Map<number, ModulatorEnvironment>();
const through = new Map<number, number>();

function filter(i: number) {
  return i % 2 === 0
    ? modulatorFrom((event, { parameters }) => event.key === parameters.key, { parameters: { key: i } })
    : modulatorFrom(
        (event, { parameters }) => event.value >= parameters.from && event.value < parameters.to,
        { parameters: { from: i - 1, to: i + 1 } },
      );
}

async function open(filters: number): Promise<ModulatorEnvironment> {
  const environment = new ModulatorEnvironment(
    {},
    {
      room: bytes => memory.subarray(0, bytes) as Uint8Array<ArrayBuffer>,
      onEvents() {},
      onRemoved(_, error) {
        throw error;
      },
    },
  );
  for (let i = 0; i < filters; i++) {
    const derived = i + 1;
    const modulator = modulatorTable(filter(i));
    await environment.install({ derived, channel: CHANNEL, schema: Tick.schema, modulator });
    const tier = environment.placementOf(derived)?.tier;
    if (tier !== "compiled") throw new Error(`it is ${tier}, not compiled`);
  }
  environments.set(filters, environment);
  return environment;
}

function runsFor({ filters, isWanted }: FiltersOf): LentRun[] {
  return Array.from({ length: RUNS }, (_, i) => {
    const at = (2 * i * 7919) % Math.max(filters, 2);
    const event = isWanted ? { key: filters === 1 ? 0 : at, value: at + 0.5 } : { key: -1, value: -1 };
    const bytes = encodeEvent(Tick, event);
    const header = { channel: CHANNEL, producer: 3, raised: 0, token: Tick.token, parameters: 0, flags: 0 };
    const frame = encodeRun(header, [{ bytes, start: 0, end: bytes.byteLength }]);
    const run = parseFrame(new DataView(frame.buffer), frame, 0, frame.byteLength) as EventsFrame;
    return new LentRun(header, run.stretch());
  });
}

const runs = new Map<string, LentRun[]>();

serve({
  async open(filters: number): Promise<FiltersOpened> {
    globalThis.gc?.();
    const before = process.memoryUsage();
    const start = performance.now();
    await open(filters);
    const ms = performance.now() - start;
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    return { ms, heapBytes: heapUsed - before.heapUsed, otherBytes: external - before.external };
  },
  /** Processor time of all threads for an event, in nanoseconds. */
  cost(of: FiltersOf): number {
    const environment = environments.get(of.filters) as ModulatorEnvironment;
    const name = `${of.filters} ${of.isWanted}`;
    const given = runs.get(name) ?? runsFor(of);
    runs.set(name, given);
    let after = through.get(of.filters) ?? 0;
    const before = process.cpuUsage();
    for (const run of given) environment.enqueue(run, undefined, { source: SOURCE, after, through: ++after });
    environment.tellSeen();
    const { user, system } = process.cpuUsage(before);
    through.set(of.filters, after);
    return (1000 * (user + system)) / RUNS;
  },
});
