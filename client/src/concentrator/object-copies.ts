import type { CopyUpdate, ObjectWrite } from "@jecho/shared/internal";
import type { ControlRequest } from "../places/port.ts";
import type { CopyEndpoint } from "./endpoints/endpoint.ts";
import type { EndpointIndex } from "./endpoints/endpoint-index.ts";
import type { Link } from "./link.ts";

type ObjectRequest<Is extends ControlRequest["is"]> = Extract<ControlRequest, { is: Is }>;

/** Sends changes of applications' copies of shared objects to the gateway, and hands them the changes of others. */
export class ObjectCopies {
  readonly #index: EndpointIndex;
  readonly #link: Link;

  constructor(index: EndpointIndex, link: Link) {
    this.#index = index;
    this.#link = link;
  }

  /** The master copy is here, and has changed. */
  update(copy: CopyEndpoint, { version, state, taken }: ObjectRequest<"updateObject">): void {
    for (const { copy, write } of taken) this.#link.send({ kind: "ObjectTaken", copy, write });
    this.#link.send({ kind: "ObjectUpdate", object: copy.object, version, state });
    this.#know(copy, version, state);
  }

  /** A copy that is not the master changes something. */
  write({ open }: CopyEndpoint, { write, patch }: ObjectRequest<"writeObject">): void {
    if (open !== undefined) this.#link.send({ kind: "ObjectWrite", copy: open.number, write, patch });
  }

  pull({ open }: CopyEndpoint): void {
    if (open !== undefined) this.#link.send({ kind: "PullObject", copy: open.number });
  }

  /** A copy is newer, or has another master. */
  updated(update: CopyUpdate): void {
    const entry = this.#index.copyOf(update.copy);
    if (entry === undefined) return;
    entry.term = update.term;
    if (update.terms.length > 0) entry.terms = update.terms;
    const isNewer = update.version > entry.version || !update.master;
    if (update.state !== "" && isNewer) this.#know(entry, update.version, update.state);
    const { id: endpoint, listener } = entry;
    listener.notify({ is: "object", endpoint, update });
    if (update.request !== 0) listener.notify({ is: "opened", endpoint, reset: 0 });
  }

  /** Hands a write of another copy to the master copy here. */
  written(write: ObjectWrite): void {
    const entry = this.#index.copyOf(write.copy);
    entry?.listener.notify({ is: "written", endpoint: entry.id, write });
  }

  /** Stores the newest state for reopening copies, and modulators that read the object. */
  #know(entry: CopyEndpoint, version: number, state: string): void {
    entry.version = version;
    entry.objectState = state;
    const { object } = entry;
    for (const consumer of this.#index) {
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
}
