/** A bench for modulators, for unit tests: the real host and its sandbox, events as a producer would raise them, and a clock by hand. */
import { encodeEvent, JechoError, type Type, typeFromSchema } from "@jecho/shared";
import { checkOptions, EventsFrame, encodeRun, FLAG_URGENT, type OptionNames } from "@jecho/shared/internal";
import { ModulatorEnvironment } from "#environment";
import type { Limits } from "../sandbox/sandbox.ts";
import type { Value } from "../sandbox/values.ts";
import type { ModulatorOptions } from "../tiers/environment.ts";
import { HandClock } from "../tiers/hand-clock.ts";
import type { ModulatorStats, TierEvents, TierPlacement } from "../tiers/tier.ts";
import { type Delegate, offersOf } from "./delegate.ts";
import { type EventSource, type HandlerPair, type Modulator, modulatorTable } from "./modulator.ts";

export { explainModulator, type ModulatorExplanation } from "./explain.ts";
export { recordedEvents } from "./recorded-events.ts";

const CHANNEL = 1;
const DERIVED = 2;
const PRODUCER = 3;
const PATIENT = { callMs: 1000, installMs: 5000 };
const STARTS_AT_MS = Date.UTC(2000, 0, 1);

/** Options of `ModulatorBench.open`. */
export interface BenchOptions<In> {
  /** Type of the events that come in. Default: opaque bytes. */
  readonly type?: Type<In>;
  /** The producer's delegate. */
  readonly delegate?: Delegate;
  /** The consumer's capabilities. Default: none. */
  readonly capabilities?: readonly string[];
  /** The place that the modulator runs in; "compiled" where its text can be compiled, else hosted. Default: hosted, by isolated-vm where it loads. */
  readonly place?: "local" | "compiled" | "isolated-vm" | "quickjs" | undefined;
  /** Default: those of a producer, but 1000 ms for a call and 5000 ms for the installation: machines that test are busy. */
  readonly limits?: Partial<Limits>;
}

const OPTIONS: OptionNames<BenchOptions<unknown>> = {
  type: true,
  delegate: true,
  capabilities: true,
  place: true,
  limits: true,
};

/** An event as the modulator made it. */
export interface Made {
  /** The event before the demodulator. */
  readonly event: unknown;
  /** Size of the encoded event. */
  readonly bytes: number;
  /** Whether the event was marked to go before others. */
  readonly urgent: boolean;
}

/**
 * Runs one eager handler.
 *
 * ```ts
 * const bench = await ModulatorBench.open(rateLimit(1000), { type: Reading });
 * expect(await bench.push(first, second)).toEqual([first]);
 * expect(await bench.pass(1000)).toEqual([second]);
 * await bench.close();
 * ```
 */
export class ModulatorBench<In = unknown, Out = In> implements AsyncDisposable {
  /** Everything that the modulator made. */
  readonly made: Made[] = [];
  readonly #host: ModulatorEnvironment;
  readonly #clock: HandClock;
  readonly #options: BenchOptions<In>;
  readonly #handler: HandlerPair;
  readonly #source: EventSource;
  /** Types that the output may have, by token. */
  readonly #types = new Map<bigint, Type>();
  #needs: readonly string[] = [];
  #out: Out[] = [];
  #raised = 0;
  #error: JechoError | undefined;

  /**
   * Installs the handler's modulator. Close the bench after use.
   *
   * @throws JechoError why it cannot be installed
   */
  static async open<In, Out = In>(
    handler: HandlerPair | Modulator,
    options: BenchOptions<In> = {},
  ): Promise<ModulatorBench<In, Out>> {
    checkOptions<BenchOptions<In>>("open()", options, OPTIONS as OptionNames<BenchOptions<In>>);
    const bench = new ModulatorBench<In, Out>(
      "modulator" in handler ? handler : { modulator: handler },
      options,
    );
    try {
      await bench.#install();
      return bench;
    } catch (error) {
      await bench.close();
      throw error;
    }
  }

  private constructor(handler: HandlerPair, options: BenchOptions<In>) {
    this.#handler = handler;
    this.#options = options;
    this.#clock = new HandClock(STARTS_AT_MS);
    this.#source = {
      decode: (token, bytes) => {
        const { type } = options;
        if (token === 0n) return bytes.slice();
        if (token !== type?.token)
          throw new JechoError("TYPE_UNKNOWN", `an event of the unknown type ${token}`);
        return type.decode(bytes.slice());
      },
    };
    const { limits, place } = options;
    const isHere = place === "local" || place === "compiled";
    const where: ModulatorOptions = { local: isHere, engine: isHere ? undefined : place };
    const events: TierEvents = {
      onEvents: frame => this.#receive(frame),
      onCall: (_, name, values) => this.#call(name, values),
      onRemoved: (_, error) => {
        this.#error = error;
      },
      onImpaired: (_, why) => {
        if (why.code === "TYPE_MISMATCH") this.#error ??= why;
      },
    };
    this.#host = new ModulatorEnvironment(
      { ...where, limits: { ...PATIENT, ...limits } },
      events,
      this.#clock,
    );
    if (place === "local" && !this.#host.trust(handler.modulator.source))
      throw new JechoError("MODULATOR_INVALID", "it has to be hosted");
  }

  /** The modulator's place now, and the reason if it is not compiled. */
  get placement(): TierPlacement | undefined {
    return this.#host.placementOf(DERIVED);
  }

  /** Time and events that the modulator has used and made so far. */
  get stats(): ModulatorStats | undefined {
    return this.#host.stats.modulators.get(DERIVED);
  }

  /**
   * Raises events, as one batch.
   *
   * @returns what the handler sees now, after the demodulator
   * @throws JechoError why the modulator was removed, or cannot read the events; or what the demodulator failed at
   */
  push(...events: In[]): Promise<Out[]> {
    const { type } = this.#options;
    this.#look();
    const parts = events.map(event => {
      const bytes = type === undefined ? (event as Uint8Array) : encodeEvent(type, event);
      return { bytes, start: 0, end: bytes.byteLength };
    });
    if (parts.length > 0) {
      const header = {
        channel: CHANNEL,
        producer: PRODUCER,
        raised: this.#raised,
        token: type?.token ?? 0n,
        parameters: 0,
        flags: 0,
      };
      this.#host.enqueue(EventsFrame.at(encodeRun(header, parts)));
      this.#raised += parts.length;
    }
    return this.#settled();
  }

  /** Lets time pass; each period that ends by then is called at its time. Returns and throws as `push`. */
  async pass(ms: number): Promise<Out[]> {
    await this.#clock.pass(ms, () => this.#host.settled());
    return this.#settled();
  }

  /** Makes the transport ready for more events, as it is at first, or busy. Returns and throws as `push`. */
  ready(isReady: boolean): Promise<Out[]> {
    this.#host.flow(DERIVED, isReady);
    return this.#settled();
  }

  /** Ends the modulator and its sandbox. */
  close(): Promise<void> {
    return this.#host.close();
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #install(): Promise<void> {
    const { type, delegate = {}, capabilities } = this.#options;
    const { schema, reads, needs } = await this.#host.install({
      derived: DERIVED,
      channel: CHANNEL,
      schema: type?.schema,
      modulator: modulatorTable(this.#handler.modulator, capabilities),
      offers: offersOf(delegate),
      context: new Map(
        Object.entries(delegate.context ?? {}).map(([name, view]) => [`context.${name}`, view()]),
      ),
    });
    this.#needs = needs;
    // A turn: with its end it is known how often its period is over, so that time may pass from here on.
    this.#host.flow(DERIVED, false);
    this.#host.flow(DERIVED, true);
    await this.#host.settled();
    const written = reads && typeFromSchema(reads);
    if (type !== undefined) written?.readerOf(type as Type);
    for (const known of [type as Type | undefined, written, schema && typeFromSchema(schema)])
      if (known !== undefined) this.#types.set(known.token, known);
  }

  /** The views of the producer's state, as they are when it raises events. */
  #look(): void {
    for (const [name, view] of Object.entries(this.#options.delegate?.context ?? {})) {
      if (this.#needs.includes(`context.${name}`)) this.#host.setContext(CHANNEL, `context.${name}`, view());
    }
  }

  #call(name: string, values: readonly Value[]): void {
    const { controls = {}, log } = this.#options.delegate ?? {};
    if (name === "log") log?.(values[0] as string);
    else controls[name.slice("controls.".length)]?.(...values);
  }

  #receive(frame: EventsFrame): void {
    const { bytes } = frame;
    for (let i = 0; i < frame.count; i++) {
      const part = bytes.slice(frame.eventStart(i), frame.eventEnd(i));
      const event = this.#types.get(frame.token)?.decode(part) ?? part;
      this.made.push({ event, bytes: part.byteLength, urgent: (frame.flags & FLAG_URGENT) !== 0 });
      const { demodulator } = this.#handler;
      if (demodulator === undefined) this.#out.push(event as Out);
      else this.#demodulate(event);
    }
  }

  #demodulate(event: unknown): void {
    try {
      this.#handler.demodulator?.push(event, result => this.#out.push(result as Out), this.#source);
    } catch (error) {
      this.#error ??= JechoError.from(error, "DEMODULATOR_FAILED");
    }
  }

  async #settled(): Promise<Out[]> {
    await this.#host.settled();
    if (this.#error !== undefined) throw this.#error;
    return this.#out.splice(0);
  }
}
