import { Ring, type Visit } from "../../src/queues/ring.ts";

/** Events that were raised and wait in a ring, for the tests of what takes them. */
export class RaisedEvents {
  readonly #ring: Ring;

  /** @param capacity in bytes, a power of two */
  constructor(capacity: number) {
    this.#ring = Ring.ofBytes(capacity);
  }

  /** @param raised the event's count */
  raise(endpoint: number, raised: number, content: Uint8Array): void {
    const at = this.#ring.reserve(content.byteLength);
    this.#ring.bytes.set(content, at);
    this.#ring.commit(endpoint, raised, at + content.byteLength);
  }

  drain(visit: Visit): void {
    this.#ring.drain(visit);
  }
}
