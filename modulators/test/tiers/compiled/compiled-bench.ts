import type { SharedReference } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment, type ModulatorOptions, type TierEvents } from "@jecho/modulators/node";
import { encodeEvent, type JechoError, type Type, type } from "@jecho/shared";
import { type EventsFrame, encodeRun, FLAG_URGENT, parseFrame } from "@jecho/shared/internal";

export const CHANNEL = 1;
export const DERIVED = 2;
export const Reading = type("Reading", { station: "int32", celsius: "float32[]" });
const SOURCE = { id: 1n, urgent: false };

/** An environment with modulators that are compiled at first, and what comes out of it. */
export class Bench implements AsyncDisposable {
  readonly environment: ModulatorEnvironment;
  /** Stations of the events that were let through; urgent ones negative. */
  readonly stations: number[] = [];
  readonly versions: (readonly number[])[] = [];
  /** The bytes that came out, in hexadecimal. */
  readonly bytes: string[] = [];
  readonly #tokens = new Set<bigint>();
  readonly impaired: JechoError[] = [];
  readonly removed: JechoError[] = [];
  readonly done: string[] = [];
  readonly seen: number[] = [];
  readonly stretches: (readonly [after: number, through: number])[] = [];
  unseen = 0;
  #raised = 0;

  constructor(options: ModulatorOptions = {}) {
    const events: TierEvents = {
      onEvents: frame => this.#receive(frame),
      onSeen: (_, { after, through }) => {
        this.seen.push(through);
        this.stretches.push([after, through]);
      },
      onUnseen: () => this.unseen++,
      onDone: tag => this.done.push(tag),
      onImpaired: (_, why) => this.impaired.push(why),
      onRemoved: (_, error) => this.removed.push(error),
    };
    // Deadlines that no busy machine makes a modulator miss.
    const limits = { callMs: 5000, installMs: 5000, ...options.limits };
    this.environment = new ModulatorEnvironment({ ...options, limits }, events);
  }

  get placement() {
    return this.environment.placementOf(DERIVED);
  }

  /** Types of what came out. */
  get tokens(): bigint[] {
    return [...this.#tokens];
  }

  async install(
    modulator: Parameters<typeof modulatorTable>[0],
    schema = Reading.schema,
    derived = DERIVED,
  ): Promise<void> {
    const table = modulatorTable(modulator);
    await this.environment.install({ derived, channel: CHANNEL, schema, modulator: table });
  }

  enqueue<T>(of: Type<T>, events: readonly T[], tag?: string): void {
    this.raise(
      of,
      events.map(event => encodeEvent(of, event)),
      tag,
    );
  }

  /** So many events are dropped before their producer's process takes them. */
  drop(events: number): void {
    this.#raised += events;
  }

  raise(of: Type, events: readonly Uint8Array[], tag?: string): void {
    const parts = events.map(bytes => ({ bytes, start: 0, end: bytes.byteLength }));
    const header = {
      channel: CHANNEL,
      producer: 1,
      raised: this.#raised,
      token: of.token,
      parameters: 0,
      flags: 0,
    };
    const bytes = encodeRun(header, parts);
    const run = parseFrame(new DataView(bytes.buffer), bytes, 0, bytes.byteLength) as EventsFrame;
    const after = this.#raised;
    this.#raised += events.length;
    this.environment.enqueue(run, tag, { source: SOURCE, after, through: this.#raised });
  }

  #receive(frame: EventsFrame): void {
    for (let i = 0; i < frame.count; i++) {
      const bytes = frame.bytes.slice(frame.eventStart(i), frame.eventEnd(i));
      const station = stationOf(bytes);
      this.bytes.push(Buffer.from(bytes).toString("hex"));
      this.stations.push((frame.flags & FLAG_URGENT) !== 0 ? -station : station);
    }
    this.#tokens.add(frame.token);
    this.versions.push([frame.parameters]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.environment.close();
  }
}

export const readings = (...stations: number[]) =>
  stations.map(station => ({ station, celsius: new Float32Array(3) }));

function stationOf(bytes: Uint8Array): number {
  try {
    return Reading.decode(bytes).station;
  } catch {
    return Number.NaN;
  }
}

export function sharedObject(state: object): SharedReference {
  return { id: "wanted", version: 1, state };
}
