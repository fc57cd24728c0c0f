import { encodeControl, type ObjectUpdate } from "@jecho/shared/internal";
import { encodeValues, type Value } from "../../sandbox/values.ts";
import type { HostClock } from "../periods.ts";
import type { Errand, HostedModulator } from "./installation.ts";
import type { HostKeeper } from "./keeper.ts";
import type { Roster } from "./roster.ts";
import type { Order, Outstanding } from "./work.ts";

/** The first events that a modulator is given go before that. */
const PREPARE_MS = 3;
/** Time expected of an installation. */
const INSTALL_MS = 5;

type SendInTurn = (installation: HostedModulator, send: Errand["send"]) => void;

/** Orders for the host, besides events. Orders that it answers are entered among its work. */
export class Orders {
  readonly #keeper: HostKeeper;
  readonly #outstanding: Outstanding;
  readonly #roster: Roster;
  readonly #clock: HostClock;
  /**
   * Updates that the host has not been told yet: of each object the newest state, and the newest version, for all
   * modulators or for one.
   */
  readonly #updates = new Map<string, ObjectUpdate>();
  /** Modulators whose rate may change with these updates. */
  readonly #rated = new Set<HostedModulator>();
  readonly #inTurn: SendInTurn;
  #timeMs = 0;
  #stopPreparing = (): void => {};

  /** @param inTurn sends an order in its modulator's turn */
  constructor(
    to: { keeper: HostKeeper; outstanding: Outstanding; roster: Roster; clock: HostClock },
    inTurn: SendInTurn,
  ) {
    this.#keeper = to.keeper;
    this.#outstanding = to.outstanding;
    this.#roster = to.roster;
    this.#clock = to.clock;
    this.#inTurn = inTurn;
  }

  /** A new host knows nothing. */
  begin(): void {
    this.#timeMs = 0;
    // Installations carry the newest states.
    this.#updates.clear();
  }

  close(): void {
    this.#stopPreparing();
  }

  /** Installs the modulator, as the last one at the host. */
  install(installation: HostedModulator, order?: number): void {
    this.#roster.add(installation);
    installation.isOrdered = true;
    const { request, ready, derived, grants, context, heard } = installation;
    const { channel, schema, modulator, behind = 0 } = request;
    for (const other of request.further ?? []) this.addType(channel, other);
    // It begins with the newest one.
    if (schema !== undefined) this.addType(channel, schema);
    for (const [name, value] of context) {
      // Others have it, or have yet to be given what was raised before.
      this.#keeper.send(encodeControl({ kind: "Only", derived: [derived] }));
      this.#keeper.send(contextFrame(channel, name, value));
    }
    this.#timeMs = this.#clock.now();
    this.#push("install", derived, INSTALL_MS, order);
    this.#keeper.send(
      encodeControl({
        kind: "Install",
        request: derived,
        channel,
        derived,
        modulator,
        offers: grants,
        behind,
        by: request.by ?? "",
        timeMs: this.#timeMs,
      }),
    );
    for (const [object, version] of heard)
      this.#keeper.send(encodeControl({ kind: "ObjectUpdate", object, version, derived }));
    if (!ready) this.#keeper.send(encodeControl({ kind: "Flow", derived, ready }));
  }

  addType(channel: number, schema: Uint8Array): void {
    this.#keeper.send(encodeControl({ kind: "BaseType", channel, schema }));
  }

  remove({ derived, share }: HostedModulator, order?: number): void {
    this.#push("remove", derived, share.expectedMs, order);
    this.#keeper.send(encodeControl({ kind: "Remove", derived }));
  }

  flow({ derived, ready, share }: HostedModulator, order?: number): void {
    this.#sendUpdates();
    if (ready) this.#push("turn", derived, share.expectedMs, order);
    this.#keeper.send(encodeControl({ kind: "Flow", derived, ready }));
  }

  period({ derived, share }: HostedModulator, order?: number): void {
    this.timeIfNeeded();
    this.#sendUpdates();
    this.#push("turn", derived, share.expectedMs, order);
    this.#keeper.send(encodeControl({ kind: "Period", derived, periodMs: 0 }));
  }

  /**
   * Takes a new version of an object. However often it changes, the host is woken for it only by the next call of a
   * modulator, which it counts from: for one whose rate may follow the object, that is at the end of the turn.
   *
   * @param readers the modulators that have an older version
   */
  update(update: ObjectUpdate, readers: readonly HostedModulator[]): void {
    const { derived, state, object } = update;
    this.#updates.set(`${derived}${state === "" ? "?" : "="}${object}`, update);
    const rated = readers.filter(({ mostPerSecond }) => mostPerSecond > 0);
    if (rated.length === 0) return;
    if (this.#rated.size === 0) setTimeout(() => this.updates());
    for (const reader of rated) this.#rated.add(reader);
  }

  /** Sends the updates of shared objects. */
  updates(): void {
    this.#sendUpdates();
    const rated = [...this.#rated];
    this.#rated.clear();
    // Where the transport is not ready, the turn comes when it is.
    for (const reader of rated) {
      if (!reader.ready || this.#roster.get(reader.derived) !== reader) continue;
      this.#inTurn(reader, order => {
        if (reader.ready) this.flow(reader, order);
        return reader.ready;
      });
    }
  }

  #sendUpdates(): void {
    for (const update of this.#updates.values()) this.#keeper.send(encodeControl(update));
    this.#updates.clear();
  }

  timeIfNeeded(): void {
    if (this.#roster.mayNeed("clock")) this.#time();
  }

  /**
   * The host makes ready what the next installation of the same module needs: a viewer who pans installs it again and again. Measured
   * in a host by itself, 16 ms after the last one: a module of 300 bytes is in force after 0.7 ms, and without a fresh isolate after 5; one
   * of 20 KB after 1.2 ms, and without having been evaluated ahead after 4.
   */
  prepareSoon(installation: HostedModulator): void {
    this.#stopPreparing();
    this.#stopPreparing = this.#clock.after(PREPARE_MS, () => {
      if (this.#roster.get(installation.derived) !== installation) return this.#prepare(0);
      // Its module's code runs for this, so a failure is blamed on it.
      const { derived, share } = installation;
      this.#inTurn(installation, order => {
        this.#push("turn", derived, share.expectedMs, order);
        this.#prepare(derived);
        return true;
      });
    });
  }

  #prepare(derived: number): void {
    this.#keeper.send(encodeControl({ kind: "Prepare", derived }));
  }

  #push(kind: Order["kind"], derived: number, expectedMs: number, order = this.#outstanding.next()): void {
    this.#outstanding.push({ kind, derived, expectedMs, order });
  }

  /** Every modulator sees the producer's time as of its newest events. */
  #time(): void {
    const timeMs = this.#clock.now();
    if (timeMs !== this.#timeMs) this.#keeper.send(encodeControl({ kind: "Clock", timeMs }));
    this.#timeMs = timeMs;
  }
}

/** A view of the producer's state, for a host. */
export function contextFrame(channel: number, name: string, value: Value): Uint8Array {
  return encodeControl({ kind: "Context", channel, name, value: encodeValues([{ name, values: [value] }]) });
}
