import { JechoError, type Type } from "@jecho/shared";
import { FLAG_URGENT, type Install, type ObjectUpdate } from "@jecho/shared/internal";
import { isStarved, unsound } from "../sandbox/failures.ts";
import type { ContextValue, Emit, Program, RunChunk, Sandbox, Turn } from "../sandbox/sandbox.ts";
import { TimeBudget } from "./budgets.ts";
import { NO_EVENTS } from "./chunks.ts";
import { InputTypes } from "./input-types.ts";
import { typeOf } from "./known-types.ts";
import { ObjectStates } from "./object-states.ts";
import { RunWriter } from "./run-writer.ts";
import { checkSizes } from "./sizes.ts";
import type { Surroundings } from "./surroundings.ts";

/** Factors of a call's wall-clock limit at the first, second, ... attempt, on a machine too busy to run it. */
const PATIENCE = [1, 4, 16] as const;

/** Installation time, in milliseconds, beyond which a source is not prepared ahead, for others may wait meanwhile. */
const PREPARED_MS = 10;

const NONE_BEHIND: readonly number[] = [];

/** A running modulator of the hosted or local tier: its sandbox, its limits, and the frames of its derived channel. */
export class RunningModulator {
  readonly derived: number;
  readonly channel: number;
  /** Type of its output, if it declares one. */
  schema: Uint8Array | undefined;
  ready = true;
  readonly #surroundings: Surroundings;
  readonly #program: Omit<Program, "context" | "timeMs" | "schemas" | "objects">;
  readonly #objects: ObjectStates;
  readonly #types: InputTypes;
  readonly #budget: TimeBudget;
  readonly #writer: RunWriter;
  #sandbox: Sandbox;
  /** Versions that its input was made with, and the ones that the sandbox knows. */
  #behind: readonly number[];
  #known: readonly number[];
  /** The number of the newest run's type. */
  #type = 0;
  /** Number of the producer of the newest events that it has seen. */
  #producer = 0;
  /** The present turn: the flags of its input, and whether any output was written. */
  #flags = 0;
  #written = false;
  readonly #emit: Emit = (events, versions, urgent, type) => {
    this.#written = true;
    this.#writer.write(events, {
      versions,
      producer: this.#producer,
      flags: urgent ? this.#flags | FLAG_URGENT : this.#flags,
      type: this.#madeType(type),
    });
  };
  #needs: readonly string[] = [];
  /** Processor time that its installation took. */
  #installedMs = 0;
  /** Views of the producer's state that the sandbox does not have yet, by name. */
  #views: Map<string, ContextValue> | undefined;

  /**
   * @param schema of what comes in, at first; undefined for opaque bytes
   * @throws JechoError why it cannot be installed
   */
  constructor(
    install: Pick<Install, "derived" | "channel" | "modulator" | "offers" | "behind">,
    schema: Uint8Array | undefined,
    surroundings: Surroundings,
  ) {
    const { modulator } = install;
    if (modulator === undefined) throw new JechoError("FRAME_UNEXPECTED", "an Install without its modulator");
    const { limits } = surroundings;
    checkSizes(modulator, limits);
    this.derived = install.derived;
    this.channel = install.channel;
    this.#surroundings = surroundings;
    this.#program = { ...modulator, offers: install.offers, behind: install.behind };
    this.#objects = ObjectStates.of(modulator.objects, limits);
    this.#budget = new TimeBudget(limits);
    this.#writer = new RunWriter(install, surroundings);
    this.#types = new InputTypes(
      token => surroundings.types.find(this.channel, token),
      mismatch => surroundings.impaired(this.derived, mismatch),
    );
    if (schema !== undefined) this.#type = this.#types.add(schema);
    this.#behind = install.behind === 0 ? NONE_BEHIND : new Array<number>(install.behind).fill(0);
    this.#known = this.#behind;
    this.#sandbox = this.#installed();
    this.#sendCalls();
  }

  /** The schema (.bfbs) of the type that it was written for; undefined where it takes any. */
  get reads(): Uint8Array | undefined {
    return this.#types.reads?.schema;
  }

  get eventsOut(): number {
    return this.#writer.raised;
  }

  get cpuMs(): number {
    return this.#sandbox.cpuMs;
  }

  /** Memory that it takes now. */
  get heldBytes(): number {
    return this.#sandbox.heldBytes;
  }

  /** Collects its garbage, where its engine has not done so yet. */
  collect(): void {
    this.#sandbox.collect?.();
  }

  /** Interval of the modulator's period, in milliseconds; 0 for none. */
  get periodMs(): number {
    return this.#sandbox.periodMs;
  }

  /** Events a second that it wants at most of a producer; 0 for every event. */
  get mostPerSecond(): number {
    return this.#sandbox.mostPerSecond;
  }

  /** Number of events since the oldest one that waits in the modulator's queue, that one included; 0 where none waits. */
  get waiting(): number {
    return this.#sandbox.waiting;
  }

  get needs(): readonly string[] {
    return this.#needs;
  }

  /** Sets a view of the producer's state, for the next call. */
  setContext(context: ContextValue): void {
    if (!this.#needs.includes(context.name)) return;
    this.#views ??= new Map();
    this.#views.set(context.name, context);
  }

  /**
   * Sets a new state of a shared object, for the next call. A lazy copy is only told that there is one, unless it has pulled it.
   *
   * @returns whether the copy has a new state
   */
  update(update: ObjectUpdate): boolean {
    const isMeant = update.derived === 0 || update.derived === this.derived;
    return isMeant && this.#objects.update(update);
  }

  /**
   * Takes a run of events, cut into chunks, and writes frames of what comes out.
   *
   * @param token names the type that they were written with
   * @param producer number of the producer that raised them
   * @param flags of the run, which its output gets, too
   * @param versions that the run was made with
   * @param picks see `Turn`
   * @returns events dropped by the modulator's queue, or all of them where it cannot read them
   * @throws JechoError why it has to be removed
   */
  run(
    chunks: readonly RunChunk[],
    token: bigint,
    producer: number,
    flags: number,
    versions: readonly number[],
    picks?: readonly number[],
  ): number {
    if (!this.#types.canRead(token, producer)) return chunks.reduce((events, { end }) => events + end, 0);
    const isUrgent = (flags & FLAG_URGENT) !== 0;
    // Nobody could tell later which of the waiting events are urgent, or another producer's: they leave as what they are, and urgent ones do not wait.
    const parts = !this.ready && (isUrgent || (producer !== this.#producer && this.waiting > 0));
    const dropped = parts ? this.flush(true) : 0;
    if (this.#behind.length > 0) this.#behind = this.#behind.map((_, i) => versions[i] ?? 0);
    this.#type = this.#types.numberOf(token);
    this.#producer = producer;
    return dropped + this.#run(chunks, flags, this.ready || isUrgent, picks);
  }

  /** Writes frames of the waiting events, where the transport is ready. @returns and throws as `run` */
  flush(ready = this.ready): number {
    return this.#run([NO_EVENTS], 0, ready);
  }

  #run(chunks: readonly RunChunk[], flags: number, ready: boolean, picks?: readonly number[]): number {
    let dropped = 0;
    this.#writer.beginBatch();
    for (const chunk of chunks) {
      this.#writer.give(chunk);
      dropped += this.#turn(flags, chunk, ready, picks);
      this.#surroundings.pause();
    }
    this.#writer.endBatch();
    return dropped;
  }

  /** Called when the modulator's period is over. @returns and throws as `run` */
  period(): number {
    this.#writer.beginBatch();
    return this.#turn(0, undefined, this.ready);
  }

  /** Tells the modulator that it is removed, and ends it. A failure now has no consequence. */
  remove(): void {
    try {
      this.#sandbox.remove();
      this.#sendCalls();
    } catch {}
    this.dispose();
  }

  /** Prepares the next installation of the same source with other parameters. */
  prepareNext(): void | Promise<void> {
    const { engine, limits, watch, timeMs } = this.#surroundings;
    const { schemas } = this.#types;
    const program = { ...this.#program, schemas, objects: [], context: [], timeMs };
    return engine.prepare(this.#installedMs > PREPARED_MS ? undefined : { program, limits, watch });
  }

  dispose(): void {
    this.#sandbox.dispose();
  }

  /** @param chunk undefined for its period */
  #turn(flags: number, chunk: RunChunk | undefined, ready: boolean, picks?: readonly number[]): number {
    this.#flags = flags;
    for (let starved = 0; ; starved++) {
      const before = this.#sandbox.cpuMs;
      this.#written = false;
      try {
        this.#objects.tell(this.#sandbox);
        this.#tellBehind();
        this.#tellViews();
        const { timeMs } = this.#surroundings;
        const turn: Turn = { ready, timeMs, emit: this.#emit, picks };
        const dropped =
          chunk === undefined ? this.#sandbox.period(turn) : this.#sandbox.run(chunk, this.#type, turn);
        this.#sendCalls();
        const spent = this.#sandbox.cpuMs - before;
        if (spent > 0) this.#budget.spend(spent, chunk?.end ?? 0);
        return dropped;
      } catch (error) {
        if (this.#written || !isStarved(error) || starved === PATIENCE.length - 1) throw error;
        // The machine was too busy to run it: that is not its fault, so it is started again.
        this.#sandbox.dispose();
        this.#sandbox = this.#installed(starved + 1);
        const { message } = JechoError.from(error);
        this.#surroundings.impaired(this.derived, new JechoError("MODULATOR_RESTARTED", message));
      }
    }
  }

  #tellBehind(): void {
    const [known, behind] = [this.#known, this.#behind];
    if (known === behind) return;
    if (known.some((version, i) => version !== behind[i])) this.#sandbox.behind(behind);
    this.#known = behind;
  }

  #tellViews(): void {
    if (this.#views === undefined) return;
    for (const view of this.#views.values()) this.#sandbox.setContext(view);
    this.#views = undefined;
  }

  #installed(first = 0): Sandbox {
    for (let starved = 0; ; starved++) {
      const patience = PATIENCE[first + starved] ?? PATIENCE[2];
      const { engine, limits, watch, views, timeMs } = this.#surroundings;
      const callMs = limits.callMs * patience;
      const installMs = limits.installMs * Math.min(patience, PATIENCE[1]);
      const context = [...(views.get(this.channel)?.values() ?? [])];
      const { schemas } = this.#types;
      const program = { ...this.#program, schemas, objects: this.#objects.begin(), context, timeMs };
      const sandbox = engine.create({ ...limits, callMs, installMs }, watch, program);
      try {
        this.#known = this.#behind.map(() => 0);
        const declared = sandbox.install(program);
        this.#installedMs = sandbox.cpuMs;
        this.schema = declared.schema;
        this.#types.readIn(sandbox, declared.reads);
        this.#needs = declared.needs;
        this.#views = undefined;
        this.#writer.declared = this.schema && typeOf(this.schema);
        return sandbox;
      } catch (error) {
        sandbox.dispose();
        if (!isStarved(error) || starved > 0) throw error;
      }
    }
  }

  #sendCalls(): void {
    const calls = this.#sandbox.takeCalls();
    if (calls !== undefined) this.#surroundings.called(this.derived, calls);
  }

  /** The type of a made event, by the sandbox's number. */
  #madeType(number: number): Type | undefined {
    const { declared } = this.#writer;
    if (declared !== undefined) return declared;
    const type = number === 0 ? this.#types.reads : this.#types.at(number);
    const areBytes = number === 0 && (this.#types.size === 0 || this.#type === 0);
    if (type === undefined && !areBytes) throw unsound();
    return type;
  }
}
