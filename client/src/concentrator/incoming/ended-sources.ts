import type { Position } from "@jecho/shared/internal";
import type { Reception } from "./reception.ts";
import type { Routes } from "./routes.ts";

/**
 * The gateway's word on sources that have ended, of which it knows no output. Where modulators here make the channel for consumers here alone, it does not know
 * what they still have to do: its word counts once they have been through what they have.
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
      // Who has left meanwhile may not be told again by the gateway.
      this.#reception.ended(consumers, position);
    });
    return true;
  }
}
