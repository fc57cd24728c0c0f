/** An HTTP request comes within 10 s, or uWebSockets.js closes its connection: by then this one has been answered, or has gone. */
const LONGEST_MS = 15_000;

/**
 * Connections of each address that have come and are not answered yet, for a server that says of an answer which address it is for, and not which connection:
 * then that counts which has waited longest.
 */
export class AskingConnections {
  readonly #byAddress = new Map<string, Set<() => void>>();

  /** @param went called once, when the connection counts no longer @returns what says that it has gone */
  add(address: string, went: () => void): () => void {
    const known = this.#byAddress.get(address) ?? new Set();
    const end = (): void => {
      if (!known.delete(end)) return;
      clearTimeout(timer);
      if (known.size === 0 && this.#byAddress.get(address) === known) this.#byAddress.delete(address);
      went();
    };
    const timer = setTimeout(end, LONGEST_MS).unref();
    known.add(end);
    this.#byAddress.set(address, known);
    return end;
  }

  /** A connection of this address has been answered. */
  answered(address: string): void {
    const [longest] = this.#byAddress.get(address) ?? [];
    longest?.();
  }
}
