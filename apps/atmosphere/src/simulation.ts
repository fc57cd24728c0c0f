import { encodeEvent, type Producer, type Session } from "@jecho/client";
import { type Model, type ModelState, monthLabel } from "./model/mod.ts";
import { CHANNELS, GridData, Status, Steering } from "./types.ts";

export interface SimulationOptions {
  readonly model: Model;
  readonly session: Session;
  /** Model seconds that a step advances; 7,200 by default. */
  readonly secondsPerStep?: number;
  /** Steps per second; 2 by default. */
  readonly speed?: number;
  /** State of an earlier run, to go on from. */
  readonly from?: SimulationState | undefined;
  /** Is given what a later run can go on from: every few seconds, after each command, and at the end. */
  readonly onCheckpoint?: ((state: SimulationState) => void) | undefined;
}

/** All that a simulation goes on from after its process has died. */
export interface SimulationState {
  readonly step: number;
  readonly speed: number;
  readonly paused: boolean;
  readonly model: ModelState;
  /** Subjects of those who added the model's sources, by its number. */
  readonly by: readonly (readonly [source: number, subject: string])[];
}

const SPEED_RANGE = [0.1, 20] as const;

/** @throws RangeError where no simulation runs at that many steps per second */
export function checkSpeed(speed: number): void {
  const [least, most] = SPEED_RANGE;
  if (!(speed >= least && speed <= most))
    throw new RangeError(`speed is ${least} to ${most} steps per second, not ${speed}`);
}

const PAUSED_STATUS_MS = 1000;
/** While steps are this far apart or more, a changed view is served from the present step. */
const SLOW_STEP_MS = 1000;
const REPUBLISH_MS = 150;
const CHECKPOINT_MS = 5000;
/** How far back the fields that were looked at can be seen again. */
const HISTORY_SECONDS = 90;

/** Runs a model and shares it: publishes its fields and its status, and does what the steering channel asks. */
export class Simulation {
  readonly #model: Model;
  readonly #session: Session;
  readonly #secondsPerStep: number;
  readonly #bytesPerStep: number;
  #field: Producer<GridData> | undefined;
  #status: Producer<Status> | undefined;
  #speed: number;
  #paused = false;
  #step = 0;
  #madeAt = Date.now();
  #notice = { text: "", by: "", time: 0 };
  /** Subjects of those who added sources, by the source's number. */
  readonly #by: Map<number, string>;
  readonly #firstStep: number;
  readonly #onCheckpoint: ((state: SimulationState) => void) | undefined;
  #checkpointAt = performance.now();
  #stepping = false;
  #closed = false;
  #next: ReturnType<typeof setTimeout> | undefined;
  #republish: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SimulationOptions) {
    this.#model = options.model;
    this.#session = options.session;
    this.#secondsPerStep = options.secondsPerStep ?? 7200;
    this.#speed = options.from?.speed ?? options.speed ?? 2;
    this.#onCheckpoint = options.onCheckpoint;
    const { from } = options;
    if (from !== undefined) {
      this.#model.restore(from.model);
      this.#step = from.step;
      this.#paused = from.paused;
    }
    this.#firstStep = this.#step;
    this.#by = new Map(from?.by);
    // Every layer's event has the same size, whatever its values.
    this.#bytesPerStep = this.#model.layers.length * encodeEvent(GridData, this.#event(0)).byteLength;
  }

  /** Opens the channels and begins. */
  async start(): Promise<void> {
    this.#field = await this.#session
      .channel(CHANNELS.ozone, GridData)
      .produce({ history: { seconds: HISTORY_SECONDS, onDemand: true }, key: "layer" });
    this.#status = await this.#session
      .channel(CHANNELS.status, Status)
      .produce({ history: { latest: true, onDemand: true } });
    // A refused command fails at the viewer that sent it; here that is nothing out of the ordinary.
    const steer = (command: Steering, { by = "" }: { readonly by: string | undefined }): void =>
      this.#steer(command, by);
    await this.#session.channel(CHANNELS.steering, Steering).subscribe(steer, { onError: () => {} });
    this.#field.onDemand(() => this.#publishSoon());
    // What was kept may be old: nothing is sent while nobody listens.
    this.#status.onDemand(() => this.#publishStatus());
    this.#schedule(0);
  }

  close(): void {
    if (!this.#closed) this.#checkpoint();
    this.#closed = true;
    clearTimeout(this.#next);
    clearTimeout(this.#republish);
  }

  #schedule(delayMs: number): void {
    clearTimeout(this.#next);
    if (!this.#closed) this.#next = setTimeout(() => void this.#tick(), delayMs);
  }

  async #tick(): Promise<void> {
    if (this.#paused) {
      this.#publishStatus();
      this.#schedule(PAUSED_STATUS_MS);
      return;
    }
    const begin = performance.now();
    this.#stepping = true;
    for (const _ of this.#model.stepInSlices(this.#secondsPerStep)) {
      // The connection is served between slices.
      await new Promise(resolve => setImmediate(resolve));
    }
    this.#stepping = false;
    if (this.#closed) return;
    this.#step++;
    this.#madeAt = Date.now();
    this.#publishField();
    this.#publishStatus();
    if (begin - this.#checkpointAt >= CHECKPOINT_MS) this.#checkpoint();
    this.#schedule(Math.max(0, 1000 / this.#speed - (performance.now() - begin)));
  }

  /** In the middle of a step there is nothing to go on from: the next end of one is as good. */
  #checkpoint(): void {
    if (this.#stepping || this.#onCheckpoint === undefined) return;
    this.#checkpointAt = performance.now();
    this.#onCheckpoint({
      step: this.#step,
      speed: this.#speed,
      paused: this.#paused,
      model: this.#model.state,
      by: [...this.#by],
    });
  }

  /** Nothing is encoded that nobody would see. */
  #publishField(): void {
    const field = this.#field;
    if (this.#closed || field === undefined || field.demand.total === 0) return;
    field.batch(() => {
      for (let layer = 0; layer < this.#model.layers.length; layer++) field.publish(this.#event(layer));
    });
  }

  #publishStatus(): void {
    if (this.#closed || this.#status === undefined || this.#status.demand.total === 0) return;
    const { grid, layers, month, time, sources } = this.#model;
    this.#status.publish({
      step: this.#step,
      time,
      madeAt: this.#madeAt,
      month,
      speed: this.#speed,
      paused: this.#paused,
      layers: layers.length,
      rows: grid.rows,
      columns: grid.columns,
      bytesPerStep: this.#bytesPerStep,
      viewers: this.#field?.demand.total ?? 0,
      sources: sources.map(({ id, latitude, longitude, layer, amount, endsAt }) => {
        return { id, latitude, longitude, layer, amount, endsAt, by: this.#by.get(id) ?? "" };
      }),
      notice: this.#notice.text,
      noticeBy: this.#notice.by,
      noticeTime: this.#notice.time,
      firstStep: this.#firstStep,
      watchers: this.#watchers(),
    });
  }

  #watchers(): string[] {
    const subjects = this.#field?.demand.derived.flatMap(({ by, consumers }) =>
      by && consumers > 0 ? [by] : [],
    );
    return [...new Set(subjects)].sort();
  }

  /** Publishes the field for a changed view where the next step is long in coming. */
  #publishSoon(): void {
    const slow = this.#paused || 1000 / this.#speed >= SLOW_STEP_MS;
    if (!slow || this.#republish !== undefined) return;
    this.#republish = setTimeout(() => {
      this.#republish = undefined;
      if (!this.#stepping) this.#publishField();
    }, REPUBLISH_MS);
  }

  #event(layer: number): GridData {
    const { grid, time } = this.#model;
    return {
      step: this.#step,
      layer,
      time,
      latFirst: 90,
      latStep: -grid.latStep,
      rows: grid.rows,
      lonFirst: 0,
      lonStep: grid.lonStep,
      columns: grid.columns,
      values: this.#model.layer(layer),
    };
  }

  #steer(command: Steering, by: string): void {
    const note = (text: string): void => {
      this.#notice = { text, by, time: this.#model.time };
    };
    try {
      note(this.#obey(command, by));
    } catch (error) {
      note(`refused: ${(error as Error).message}`);
      throw error;
    } finally {
      this.#publishStatus();
      // A command is not lost with the process.
      this.#checkpointAt = Number.NEGATIVE_INFINITY;
      if (this.#paused) this.#checkpoint();
      if (!this.#stepping) this.#schedule(0);
    }
  }

  /** Does what is asked and says so. @throws RangeError naming what is wrong */
  #obey({ command, value, latitude, longitude, layer, amount }: Steering, by: string): string {
    switch (command) {
      case "pause":
        this.#paused = true;
        return "paused";
      case "resume":
        this.#paused = false;
        return "resumed";
      case "speed": {
        checkSpeed(value);
        this.#speed = value;
        return `speed is ${value} steps per second`;
      }
      case "month":
        this.#model.setMonth(value);
        return `it is ${monthLabel(value)}`;
      case "source": {
        const source = this.#model.addSource({ latitude, longitude, layer, amount });
        const active = new Set(this.#model.sources.map(({ id }) => id));
        for (const id of this.#by.keys()) if (!active.has(id)) this.#by.delete(id);
        if (by !== "") this.#by.set(source.id, by);
        const north = `${Math.abs(latitude).toFixed(1)}° ${latitude < 0 ? "S" : "N"}`;
        const east = `${Math.abs(longitude).toFixed(1)}° ${longitude < 0 ? "W" : "E"}`;
        return `source ${source.id} of ${amount} ppmv/day at ${north}, ${east}, ${this.#model.layers[layer]} hPa`;
      }
      case "remove": {
        if (!this.#model.removeSource(value)) throw new RangeError(`there is no source ${value}`);
        this.#by.delete(value);
        return `source ${value} is removed`;
      }
      default:
        throw new RangeError(`"${command.slice(0, 40)}" is no steering command`);
    }
  }
}
