import type { Delegate, GridData, Modulator, Value } from "@jecho/modulators";
import { type HostClock, type Limits, ModulatorHost } from "@jecho/modulators/host";
import { modulatorTable, offersOf } from "@jecho/modulators/internal";
import { type JechoError, Type, type } from "@jecho/shared";
import { type EventsFrame, encodeRun, parseFrame } from "@jecho/shared/internal";

export const BASE = 1;
export const grid: Type<GridData> = type("GridData", {
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

/** A small global grid, one layer of a step; each value tells its cell. */
export function layerOf(step: number, layer: number, rows = 9, columns = 16): GridData {
  const values = Float32Array.from({ length: rows * columns }, (_, cell) => cell + layer / 64 + step);
  const geometry = {
    latFirst: 90,
    latStep: -180 / (rows - 1),
    rows,
    lonFirst: 0,
    lonStep: 360 / columns,
    columns,
  };
  return grid.decode(grid.encode({ step, layer, time: step * 1800, ...geometry, values }));
}

export function encodeEvents(events: readonly GridData[], parameters = 0): Uint8Array {
  const parts = events.map(event => {
    const bytes = grid.encode(event);
    return { bytes, start: 0, end: bytes.byteLength };
  });
  return encodeRun({ channel: BASE, producer: 7, raised: 0, token: grid.token, parameters, flags: 0 }, parts);
}

/** An event of a derived channel as it came out. */
export interface Received<T> {
  readonly event: T;
  readonly parameters: number;
  readonly raised: number;
}

export interface InstallOptions {
  readonly schema?: Uint8Array;
  readonly delegate?: Delegate;
  /** Views of the producer's state, by the names that modulators need them under. */
  readonly context?: Readonly<Record<string, Value>>;
  readonly capabilities?: readonly string[];
}

/** A real host process, and everything that came out of it. */
export class Rig implements AsyncDisposable {
  readonly host: ModulatorHost;
  readonly removed = new Map<number, JechoError>();
  restarts = 0;
  readonly #frames = new Map<number, EventsFrame[]>();
  readonly #types = new Map<number, Type>();
  #derived = 100;
  #step = 0;

  /** What modulators called, in order. */
  readonly calls: { readonly name: string; readonly values: readonly Value[] }[] = [];

  constructor(limits?: Partial<Limits>, pendingBytes?: number, clock?: HostClock) {
    this.host = new ModulatorHost({
      ...(limits !== undefined && { limits }),
      ...(pendingBytes !== undefined && { pendingBytes }),
      onEvents: (bytes, derived) => {
        const frame = parseFrame(new DataView(bytes.buffer), bytes, 0, bytes.byteLength) as EventsFrame;
        const list = this.#frames.get(derived) ?? [];
        this.#frames.set(derived, list);
        list.push(frame);
      },
      ...(clock !== undefined && { clock }),
      onCall: (_, name, values) => this.calls.push({ name, values }),
      onRemoved: (derived, error) => this.removed.set(derived, error),
      onRestart: () => this.restarts++,
    });
  }

  async install(
    modulator: Modulator,
    { schema = grid.schema, delegate, context, capabilities }: InstallOptions = {},
  ): Promise<number> {
    const derived = this.#derived++;
    const answer = await this.host.install({
      derived,
      channel: BASE,
      schema,
      modulator: modulatorTable(modulator, capabilities),
      ...(delegate !== undefined && { offers: offersOf(delegate) }),
      ...(context !== undefined && { context: new Map(Object.entries(context)) }),
    });
    this.#types.set(derived, answer.schema === undefined ? grid : Type.fromSchema(answer.schema));
    return derived;
  }

  publish(events: readonly GridData[]): void {
    this.host.enqueue(encodeEvents(events));
  }

  /** Publishes the next step, of some layers, and returns its number. */
  step(layers = 3): number {
    const step = ++this.#step;
    this.publish(Array.from({ length: layers }, (_, layer) => layerOf(step, layer)));
    return step;
  }

  get steps(): number {
    return this.#step;
  }

  received<T = GridData>(derived: number): Received<T>[] {
    const kind = this.#types.get(derived) as Type<T>;
    return (this.#frames.get(derived) ?? []).flatMap(frame =>
      Array.from({ length: frame.count }, (_, i) => ({
        event: kind.decode(frame.bytes.slice(frame.eventStart(i), frame.eventEnd(i))),
        parameters: frame.parameters,
        raised: frame.raised + i,
      })),
    );
  }

  frames(derived: number): readonly EventsFrame[] {
    return this.#frames.get(derived) ?? [];
  }

  /** All that was published has been through all modulators. */
  async settled(): Promise<void> {
    await this.host.settled();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.host.close();
  }
}

/** A modulator whose class has this body. */
export function modulator(body: string, before = "", after = ""): Modulator {
  return {
    source: `import { FifoModulator } from "jecho:moe";\n${before}\nexport default class extends FifoModulator {\n${body}\n}\n${after}`,
  };
}
