import type { CopyUpdate, ObjectWrite } from "@jecho/shared/internal";
import type { ControlRequest, PortNotice } from "../port.ts";
import type { Entries } from "./entries.ts";
import type { ObjectEntry } from "./entry.ts";
import type { Link } from "./link.ts";

type Request<Is extends ControlRequest["is"]> = Extract<ControlRequest, { is: Is }>;

/** Applications' copies of shared objects: what they change goes to the gateway, and what others change comes to them. */
export class ObjectCopies {
  readonly #entries: Entries;
  readonly #link: Link;
  readonly #notify: (notice: PortNotice) => void;

  constructor(entries: Entries, link: Link, notify: (notice: PortNotice) => void) {
    this.#entries = entries;
    this.#link = link;
    this.#notify = notify;
  }

  /** The master copy is here, and has changed. */
  update({ endpoint, version, state, taken }: Request<"updateObject">): void {
    const entry = this.#entries.object(endpoint);
    if (entry === undefined) return;
    for (const { copy, write } of taken) this.#link.send({ kind: "ObjectTaken", copy, write });
    this.#link.send({ kind: "ObjectUpdate", object: entry.object, version, state });
    this.#know(entry, version, state);
  }

  /** A copy that is not the master changes something. */
  write({ endpoint, write, patch }: Request<"writeObject">): void {
    const copy = this.#numberOf(endpoint);
    if (copy !== 0) this.#link.send({ kind: "ObjectWrite", copy, write, patch });
  }

  pull(endpoint: number): void {
    const copy = this.#numberOf(endpoint);
    if (copy !== 0) this.#link.send({ kind: "PullObject", copy });
  }

  /** A copy is newer, or has another master. */
  updated(update: CopyUpdate): void {
    const entry = this.#entries.copyOf(update.copy);
    if (entry === undefined) return;
    entry.term = update.term;
    const isNewer = update.version > entry.version || !update.master;
    if (update.state !== "" && isNewer) this.#know(entry, update.version, update.state);
    const { endpoint } = entry;
    this.#notify({ is: "object", endpoint, update });
    if (update.request !== 0) this.#notify({ is: "opened", endpoint, reset: 0 });
  }

  /** For the master copy here: what another one changes. */
  written(write: ObjectWrite): void {
    const entry = this.#entries.copyOf(write.copy);
    if (entry !== undefined) this.#notify({ is: "written", endpoint: entry.endpoint, write });
  }

  /** Should a copy, or a modulator that reads the object, be opened again, then with the newest state. */
  #know(entry: ObjectEntry, version: number, state: string): void {
    entry.version = version;
    entry.state = state;
    const { object } = entry;
    for (const consumer of this.#entries) {
      if (consumer.is !== "consumer") continue;
      for (const asked of [consumer, ...consumer.resets]) {
        if (asked.modulator === undefined) continue;
        const objects = asked.modulator.objects.map(old =>
          old.object === object ? { ...old, version, state } : old,
        );
        asked.modulator = { ...asked.modulator, objects };
      }
    }
  }

  /** 0 where it is not open at the present connection. */
  #numberOf(endpoint: number): number {
    return this.#entries.object(endpoint)?.number ?? 0;
  }
}
