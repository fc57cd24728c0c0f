import { JechoError } from "@jecho/shared";
import {
  type EventsFrame,
  encodeForNow,
  type Frame,
  type Install,
  type Outgoing,
  refusal,
} from "@jecho/shared/internal";
import { chunksOf } from "../../running/chunks.ts";
import { RunningModulator } from "../../running/running-modulator.ts";
import { ChannelTypes, type Surroundings } from "../../running/surroundings.ts";
import type { ContextValue } from "../../sandbox/sandbox.ts";
import { MemoryTotal } from "./memory-total.ts";

const NONE = new Uint8Array(0);
/** Time without a frame to the producer after which a sign of life is due. */
const SIGN_MS = 100;

/** The modulator host itself, wherever it lives: acts on the producer's frames, and writes frames. */
export class HostCore {
  readonly #surroundings: Surroundings & { timeMs: number };
  /** Views of producers' state, by base channel and name. */
  readonly #views = new Map<number, Map<string, ContextValue>>();
  readonly #write: (frame: Uint8Array) => void;
  readonly #modulators = new Map<number, RunningModulator>();
  readonly #memory: MemoryTotal;
  readonly #types = new ChannelTypes();
  /** The newest schema of each base channel. */
  readonly #schemas = new Map<number, Uint8Array>();
  #batch = 0;
  /** The modulators that the next frame is for. */
  #only: readonly number[] | undefined;
  /** Time of the last sign of life to the producer, or of the first look since a frame came; 0 before that look. */
  #signedAt = 0;

  /** @param write called with a frame in memory that is reused after the call */
  constructor(
    surroundings: Pick<Surroundings, "engine" | "limits" | "watch">,
    write: (frame: Uint8Array) => void,
  ) {
    this.#write = write;
    this.#memory = new MemoryTotal(surroundings.limits.totalMemoryMiB);
    this.#surroundings = {
      ...surroundings,
      write,
      passed: passed => this.#send({ kind: "Passed", ...passed }),
      called: (derived, calls) => this.#send({ kind: "Calls", derived, calls }),
      impaired: (derived, { number: code, message }) =>
        this.#send({ kind: "Impaired", derived, code, message }),
      pause: () => this.#sign(),
      types: this.#types,
      views: this.#views,
      timeMs: Date.now(),
    };
  }

  /** @throws JechoError `FRAME_UNEXPECTED` */
  act(frame: Frame): void {
    this.#signedAt = 0;
    switch (frame.kind) {
      case "Events":
        return this.#runBatch(frame);
      case "BaseType": {
        const schema = frame.schema.slice();
        this.#types.add(frame.channel, schema);
        this.#schemas.set(frame.channel, schema);
        return;
      }
      case "Context": {
        const { channel, name, value } = frame;
        const known = this.#views.get(channel) ?? new Map<string, ContextValue>();
        const view = { name, value: value.slice() };
        this.#views.set(channel, known.set(name, view));
        for (const modulator of this.#meant(channel)) modulator.setContext(view);
        return;
      }
      case "Clock":
        this.#surroundings.timeMs = frame.timeMs;
        return;
      case "Prepare":
        if (frame.derived === 0) return void this.#surroundings.engine.prepare();
        return this.#turnOf(frame.derived, running => {
          void running.prepareNext();
          return 0;
        });
      case "Install":
        return this.#install(frame);
      case "Remove":
        return this.#remove(frame.derived);
      case "Only":
        // The frame's memory is reused for the next one.
        this.#only = frame.derived.slice();
        return;
      case "ObjectUpdate":
        for (const modulator of this.#modulators.values())
          this.#attempt(modulator, () => modulator.update(frame));
        return;
      case "Flow": {
        const modulator = this.#modulators.get(frame.derived);
        if (modulator !== undefined) modulator.ready = frame.ready;
        if (frame.ready) this.#turnOf(frame.derived, running => running.flush());
        return;
      }
      case "Period":
        return this.#turnOf(frame.derived, running => running.period());
      default:
        throw new JechoError("FRAME_UNEXPECTED", `a modulator host takes no ${frame.kind}`);
    }
  }

  #runBatch(run: EventsFrame): void {
    const batch = ++this.#batch;
    const chunks = chunksOf(run);
    const { token, producer, flags, versions } = run;
    for (const modulator of this.#meant(run.channel))
      this.#turn(modulator, batch, () => modulator.run(chunks, token, producer, flags, versions));
  }

  /** The modulators that the next frame is for: the named ones, or all of its channel. */
  *#meant(channel: number): Generator<RunningModulator> {
    const only = this.#only;
    this.#only = undefined;
    if (only === undefined) {
      for (const modulator of this.#modulators.values()) if (modulator.channel === channel) yield modulator;
      return;
    }
    for (const derived of only) {
      const modulator = this.#modulators.get(derived);
      if (modulator?.channel === channel) yield modulator;
    }
  }

  /** A turn without events. A producer that asks it of a removed modulator has been told of the removal. */
  #turnOf(derived: number, act: (modulator: RunningModulator) => number): void {
    const modulator = this.#modulators.get(derived);
    if (modulator !== undefined) this.#turn(modulator, 0, () => act(modulator));
  }

  /** Does a modulator's turn, and tells its outcome before the next turn. */
  #turn(modulator: RunningModulator, batch: number, act: () => number): void {
    const { derived, cpuMs, periodMs, mostPerSecond } = modulator;
    const dropped = this.#attempt(modulator, act);
    if (dropped === undefined) return;
    if (modulator.periodMs !== periodMs)
      this.#send({ kind: "Period", derived, periodMs: modulator.periodMs });
    if (modulator.mostPerSecond !== mostPerSecond)
      this.#send({ kind: "Rate", derived, mostPerSecond: modulator.mostPerSecond });
    const { waiting } = modulator;
    this.#send({
      kind: "Done",
      derived,
      batch,
      dropped,
      cpuMs: Math.max(0, modulator.cpuMs - cpuMs),
      waiting,
    });
    this.#memory.turned(modulator);
    this.#keepTotal();
  }

  #install(frame: Install): void {
    const { request, derived, channel, timeMs } = frame;
    this.#surroundings.timeMs = timeMs;
    try {
      const modulator = new RunningModulator(frame, this.#schemas.get(channel), this.#surroundings);
      this.#memory.add(modulator, frame.by);
      if (this.#memory.isExceeded && !this.#collected()) {
        this.#forget(modulator);
        throw new JechoError("OVERLOADED", `${this.#total()}: there is no room for more`);
      }
      this.#modulators.set(derived, modulator);
      const { periodMs, mostPerSecond, needs, schema = NONE, reads = NONE } = modulator;
      this.#send({ kind: "Installed", request, derived, schema, needs, reads, cpuMs: modulator.cpuMs });
      if (periodMs > 0) this.#send({ kind: "Period", derived, periodMs });
      if (mostPerSecond > 0) this.#send({ kind: "Rate", derived, mostPerSecond });
    } catch (error) {
      this.#send(refusal(request, error));
    }
  }

  #remove(derived: number): void {
    const modulator = this.#modulators.get(derived);
    const before = modulator?.cpuMs ?? 0;
    modulator?.remove();
    if (modulator !== undefined) this.#forget(modulator);
    const cpuMs = Math.max(0, (modulator?.cpuMs ?? 0) - before);
    this.#send({ kind: "Removed", derived, code: 0, message: "", cpuMs });
  }

  /** Removes the modulator where it fails. */
  #attempt<T>(modulator: RunningModulator, act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      this.#fail(modulator, JechoError.from(error));
      return undefined;
    }
  }

  /** Where all modulators together take too much, and it is not garbage, some go. */
  #keepTotal(): void {
    if (!this.#memory.isExceeded) return;
    if (!this.#collected()) this.#removeLargest();
    while (this.#memory.isExceeded) this.#removeLargest();
  }

  /** Collects garbage. @returns whether there is room again for a while */
  #collected(): boolean {
    return this.#memory.collect(() => this.#sign()) && !this.#memory.isExceeded;
  }

  #removeLargest(): void {
    const largest = this.#memory.largest();
    if (largest === undefined) return;
    const message = `${this.#total()}, and this one is the largest of the subject that uses most`;
    this.#fail(largest, new JechoError("MODULATOR_OUT_OF_MEMORY", message));
  }

  #total(): string {
    return `all modulators of the host together use more than ${this.#surroundings.limits.totalMemoryMiB} MiB`;
  }

  #fail(modulator: RunningModulator, { number, message }: JechoError): void {
    this.#forget(modulator);
    this.#send({ kind: "Removed", derived: modulator.derived, code: number, message });
  }

  #forget(modulator: RunningModulator): void {
    this.#memory.forget(modulator);
    modulator.dispose();
    if (this.#modulators.get(modulator.derived) === modulator) this.#modulators.delete(modulator.derived);
  }

  /** Sends a sign of life where one is due: the producer takes a long silence for a call that does not end. */
  #sign(): void {
    const now = performance.now();
    if (this.#signedAt === 0) this.#signedAt = now;
    else if (now - this.#signedAt > SIGN_MS) this.#send({ kind: "Ping", time: 0 });
  }

  #send(control: Outgoing): void {
    this.#write(encodeForNow(control));
    this.#signedAt = 0;
  }
}
