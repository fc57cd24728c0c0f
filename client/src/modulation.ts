import type { Json, Value } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import {
  type Control,
  type EventsFrame,
  type Install,
  type ObjectUpdate,
  parseFrame,
  refusal,
} from "@jecho/shared/internal";
import type { DerivedDemand } from "./demand.ts";
import type { ProducerEntry } from "./entries.ts";
import type { Host, HostFactory } from "./platform/face.ts";

interface Installation {
  readonly channel: number;
  readonly parameters: Json;
  readonly needs: readonly string[];
  readonly objects: Map<string, { readonly name: string; version: number; state: Json }>;
  /** Consumers in other processes. */
  elsewhere: number;
}

export interface ModulationEvents {
  /** A run that a modulator made of the base channel's, as a frame and as the message that it is; of which synchronous event, if of one. */
  onEvents(frame: EventsFrame, base: number, message: Uint8Array, raising: string | undefined): void;
  /** Every modulator has seen this synchronous event to its end. */
  onDone(raising: string): void;
  onAnswer(answer: Control): void;
  /** What is wanted of this channel's producers may have changed. */
  onDemand(channel: number): void;
  /** The views that modulators of this channel need may have changed. */
  onNeeds(channel: number): void;
  /** A modulator of this channel called a control, or logged a line. */
  onCall(channel: number, name: string, values: readonly Value[]): void;
}

/** The modulators that are installed in this process, whichever producer's, and the host that they run in. */
export class Modulation {
  readonly #createHost: HostFactory | undefined;
  readonly #events: ModulationEvents;
  readonly #installed = new Map<number, Installation>();
  #host: Host | undefined;

  constructor(createHost: HostFactory | undefined, events: ModulationEvents) {
    this.#createHost = createHost;
    this.#events = events;
  }

  get isServed(): boolean {
    return this.#createHost !== undefined;
  }

  isWantedElsewhere(derived: number): boolean {
    return (this.#installed.get(derived)?.elsewhere ?? 0) > 0;
  }

  /** @param producer whose channel it is, and who offers what the modulator may need */
  install({ request, channel, derived, modulator }: Install, producer: ProducerEntry | undefined): void {
    if (modulator === undefined || this.#createHost === undefined || producer === undefined) {
      const why =
        producer === undefined ? "there is no producer of this channel here" : "no modulators run here";
      this.#events.onAnswer(refusal(request, new JechoError("MODULATORS_NOT_SERVED", why)));
      return;
    }
    this.#host ??= this.#createHost({
      onEvents: (frame, _derived, raising) => this.#receive(frame, raising),
      onDone: raising => this.#events.onDone(raising),
      onCall: (derived, name, values) => {
        const installation = this.#installed.get(derived);
        if (installation !== undefined) this.#events.onCall(installation.channel, name, values);
      },
      onRemoved: (derived, { number, message }) => {
        const { channel } = this.#installed.get(derived) ?? { channel: 0 };
        this.#installed.delete(derived);
        this.#events.onAnswer({ kind: "Removed", derived, code: number, message });
        this.#events.onDemand(channel);
        this.#events.onNeeds(channel);
      },
    });
    const { schema, offers, context } = producer;
    this.#host
      .install({
        derived,
        channel,
        schema: schema.byteLength === 0 ? undefined : schema,
        modulator,
        ...(offers !== undefined && { offers }),
        context,
      })
      .then(
        ({ schema: output, needs }) => {
          const objects = new Map(
            modulator.objects.map(({ name, object, version, state }) => [
              object,
              { name, version, state: JSON.parse(state) as Json },
            ]),
          );
          const parameters = JSON.parse(modulator.parameters || "null") as Json;
          this.#installed.set(derived, { channel, parameters, needs, objects, elsewhere: 0 });
          this.#events.onNeeds(channel);
          const made = output ?? new Uint8Array(0);
          this.#events.onAnswer({ kind: "Installed", request, derived, schema: made, needs });
        },
        (error: unknown) => this.#events.onAnswer(refusal(request, error)),
      );
  }

  remove(derived: number): void {
    const installation = this.#installed.get(derived);
    if (installation === undefined) return;
    this.#installed.delete(derived);
    this.#host?.remove(derived);
    this.#events.onDemand(installation.channel);
    this.#events.onNeeds(installation.channel);
  }

  removeAll(): void {
    for (const derived of [...this.#installed.keys()]) {
      this.#installed.delete(derived);
      this.#host?.remove(derived);
    }
  }

  setContext(channel: number, name: string, value: Value): void {
    this.#host?.setContext(channel, name, value);
  }

  /** The names of the views that modulators of a channel need. */
  needsOf(channel: number): string[] {
    const names = new Set<string>();
    for (const installation of this.#installed.values()) {
      if (installation.channel !== channel) continue;
      for (const name of installation.needs) if (name.startsWith("context.")) names.add(name);
    }
    return [...names];
  }

  update(update: ObjectUpdate): void {
    this.#host?.update(update);
    for (const { channel, objects } of this.#installed.values()) {
      const object = objects.get(update.object);
      if (object === undefined || object.version >= update.version) continue;
      object.version = update.version;
      object.state = JSON.parse(update.state) as Json;
      this.#events.onDemand(channel);
    }
  }

  demand(derived: number, consumers: number): void {
    const installation = this.#installed.get(derived);
    if (installation === undefined) return;
    installation.elsewhere = consumers;
    this.#events.onDemand(installation.channel);
  }

  /**
   * Gives a run to every modulator of its channel.
   *
   * @param raising names the synchronous event that the run is
   * @returns false where there is no modulator, so that `onDone` will not come
   */
  enqueue(frame: EventsFrame, raising?: string): boolean {
    return this.#host?.enqueue(frame.raw(), raising) ?? false;
  }

  flow(ready: boolean): void {
    for (const derived of this.#installed.keys()) this.#host?.flow(derived, ready);
  }

  /** What is wanted of a channel through modulators. */
  derivedOf(channel: number, here: (derived: number) => number): DerivedDemand[] {
    const list: DerivedDemand[] = [];
    for (const [id, installation] of this.#installed) {
      if (installation.channel !== channel) continue;
      const objects = Object.fromEntries(
        [...installation.objects.values()].map(({ name, state }) => [name, state]),
      );
      list.push({
        id,
        parameters: installation.parameters,
        objects,
        consumers: installation.elsewhere + here(id),
      });
    }
    return list;
  }

  async close(): Promise<void> {
    await this.#host?.close();
  }

  #receive(message: Uint8Array, raising: string | undefined): void {
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
    const frame = parseFrame(view, message, 0, message.byteLength);
    if (frame.kind !== "Events") return;
    const installation = this.#installed.get(frame.channel);
    if (installation !== undefined) this.#events.onEvents(frame, installation.channel, message, raising);
  }
}
