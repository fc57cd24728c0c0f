import type { Position } from "@jecho/shared/internal";
import type { Reception } from "./reception.ts";
import type { Routes } from "./routes.ts";
import { TrackedSource } from "./tracked-source.ts";

/** The gateway's word on sources that have ended without an output. Where modulators here make the channel, it counts once these have finished. */
export class EndedSources {
  readonly #routes: Routes;
  readonly #reception: Reception;
  readonly #finishedFor: (channel: number) => Promise<void> | undefined;

  /** @param finishedFor resolves when modulators that make this channel here have finished; undefined for none */
  constructor(
    routes: Routes,
    reception: Reception,
    finishedFor: (channel: number) => Promise<void> | undefined,
  ) {
    this.#routes = routes;
    this.#reception = reception;
    this.#finishedFor = finishedFor;
  }

  /** @returns false for another position, which counts at once */
  takes(position: Position): boolean {
    const { channel, source, origin, raised } = position;
    const finished = source === origin && raised > 0n ? this.#finishedFor(channel) : undefined;
    if (finished === undefined) return false;
    const route = this.#routes.get(channel);
    const consumers = this.#routes.membersOf(channel);
    void finished.then(() => {
      // Its number may have changed.
      if (this.#routes.get(channel) === route) this.#reception.position(position, false);
      // Consumers that left meanwhile are told here: the gateway may not say it again.
      const of = new TrackedSource(source, position.urgent);
      const count = Number(raised);
      const at = { ...position, of: { source: of, origin: of }, raised: count, after: count, through: count };
      for (const entry of consumers) {
        if (!entry.isApplications) continue;
        const place = (): void => this.#reception.statedFor(entry, at);
        if (entry.state.is === "live" && entry.past === undefined) place();
        else entry.waiting.add(of.name, 0, place, place);
      }
    });
    return true;
  }
}
