import type { Position } from "@jecho/shared/internal";
import type { Reception } from "./reception.ts";
import type { Routes } from "./routes.ts";
import { TrackedSource } from "./tracked-source.ts";

/**
 * The gateway's word on sources that have ended, of which it knows no output. Where modulators here make the channel, it counts once they have been
 * through what they have.
 */
export class EndedSources {
  readonly #routes: Routes;
  readonly #reception: Reception;
  readonly #finishedFor: (channel: number) => Promise<void> | undefined;

  /** @param finishedFor resolves when modulators that make this channel here have finished; undefined where none does */
  constructor(
    routes: Routes,
    reception: Reception,
    finishedFor: (channel: number) => Promise<void> | undefined,
  ) {
    this.#routes = routes;
    this.#reception = reception;
    this.#finishedFor = finishedFor;
  }

  /** @returns false where the position is none of these, and counts at once */
  takes(position: Position): boolean {
    const { channel, source, origin, raised } = position;
    const finished = source === origin && raised > 0n ? this.#finishedFor(channel) : undefined;
    if (finished === undefined) return false;
    const route = this.#routes.get(channel);
    const consumers = this.#routes.membersOf(channel);
    void finished.then(() => {
      // The channel may have another number by then.
      if (this.#routes.get(channel) === route) this.#reception.position(position, false);
      // Who is away by now is told once it is back: the gateway may not say it again.
      const of = new TrackedSource(source, position.urgent);
      const count = Number(raised);
      const at = { ...position, of: { source: of, origin: of }, raised: count, after: count, through: count };
      for (const entry of consumers) {
        const place = (): void => this.#reception.statedFor(entry, at);
        if (entry.isApplications && entry.open === undefined) entry.waiting.add(of.name, 0, place, place);
      }
    });
    return true;
  }
}
