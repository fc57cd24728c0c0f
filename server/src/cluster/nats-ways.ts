import { randomInt } from "node:crypto";
import { joinFrames } from "@jecho/shared/internal";
import type { NatsConnection } from "@nats-io/transport-node";
import { NatsCarrier, PACKET } from "./nats-carrier.ts";
import type { CarrierEvents, TrunkCarrier } from "./trunk-carrier.ts";

/** A packet's header: its kind (1 byte), 7 bytes of nothing, the carrier's number and a count, of 8 bytes each. */
const HEADER_BYTES = 24;
/** Time until a carrier that ended is opened again: a random part of the double of it; and until a question whether it is open is asked again. */
const AGAIN_MS = 250;
const NO_BYTES = new Uint8Array(0);

/** The member that opens a carrier, by its index and the id under which it is reached. */
interface CarrierRequest {
  readonly index: number;
  readonly id: string;
}

/** A carrier to or from another member. */
interface Way {
  readonly carrier: NatsCarrier;
  readonly index: number;
  /** Id under which the other is reached. */
  readonly id: string;
  readonly isOpener: boolean;
  askedAt: number;
}

/** The list of members, as carriers use it. */
export interface WaysHost {
  /** This gateway as it is reached now; undefined while it is no member. */
  self(): CarrierRequest | undefined;
  /** Id under which a member is reached; undefined where it is none. */
  idOf(index: number): string | undefined;
  opened(index: number, carrier: TrunkCarrier): CarrierEvents;
  accepted(index: number, carrier: TrunkCarrier): CarrierEvents;
}

/** The carriers to and from all other members, and their packets. */
export class NatsWays {
  readonly #connection: NatsConnection;
  readonly #prefix: string;
  readonly #host: WaysHost;
  /** By the numbers that their openers gave them. */
  readonly #ways = new Map<number, Way>();

  constructor(connection: NatsConnection, prefix: string, host: WaysHost) {
    this.#connection = connection;
    this.#prefix = prefix;
    this.#host = host;
  }

  /** Subject of packets to whoever is reached under this id. */
  subjectOf(id: string): string {
    return `${this.#prefix}.way.${id}`;
  }

  /** Opens a carrier to a member, again and again as long as that is reached under this id. Where there is one it stays the only one. */
  open(index: number, id: string): void {
    if (this.#host.self() === undefined || this.#host.idOf(index) !== id) return;
    for (const way of this.#ways.values()) if (way.isOpener && way.index === index) return;
    const again = (): void => {
      setTimeout(() => this.open(index, id), 2 * AGAIN_MS * Math.random()).unref();
    };
    const number = randomInt(2 ** 47);
    this.#askToOpen(number, this.#add(number, index, id, true, again));
  }

  /** Ends those with a member, which has gone, or is reached otherwise. */
  close(index: number): void {
    for (const way of [...this.#ways.values()]) if (way.index === index) way.carrier.close();
  }

  /** Resolves when nothing waits to go out. A carrier whose other side is gone ends before long. */
  async sent(): Promise<void> {
    await Promise.all(Array.from(this.#ways.values(), ({ carrier }) => carrier.sent()));
  }

  /** Ends all. */
  end(): void {
    for (const { carrier } of [...this.#ways.values()]) carrier.end();
  }

  /** Looks at what does not come. */
  look(now: number): void {
    for (const [number, way] of [...this.#ways]) {
      if (way.carrier.hasBegun) way.carrier.look(now);
      else if (way.isOpener && now - way.askedAt > AGAIN_MS) this.#askToOpen(number, way);
    }
  }

  /** A packet has come. */
  packet(data: Uint8Array): void {
    // One that was stopped has packets from before, and may have no lease by now.
    if (this.#host.self() === undefined || data.byteLength < HEADER_BYTES) return;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const [kind, number, count] = [view.getUint8(0), view.getFloat64(8, true), view.getFloat64(16, true)];
    const bytes = data.byteLength === HEADER_BYTES ? NO_BYTES : data.subarray(HEADER_BYTES);
    if (kind === PACKET.open) return this.#accept(number, bytes);
    const way = this.#ways.get(number);
    if (kind !== PACKET.opened) way?.carrier.packet(kind, count, bytes);
    else if (way?.carrier.hasBegun === false) way.carrier.begin(this.#host.opened(way.index, way.carrier));
  }

  #add(number: number, index: number, id: string, isOpener: boolean, ended: () => void): Way {
    const carrier = new NatsCarrier(
      (kind, count, parts) => this.#send(id, number, kind, count, parts),
      () => (this.#connection.info?.max_payload ?? 1 << 20) - HEADER_BYTES,
      () => {
        this.#ways.delete(number);
        ended();
      },
    );
    const way = { carrier, index, id, isOpener, askedAt: 0 };
    this.#ways.set(number, way);
    return way;
  }

  #askToOpen(number: number, way: Way): void {
    way.askedAt = performance.now();
    const request = this.#host.self();
    if (request !== undefined)
      this.#send(way.id, number, PACKET.open, 0, [Buffer.from(JSON.stringify(request))]);
  }

  /** Another gateway asks for a carrier. Where its lease is not known here yet, it asks again. */
  #accept(number: number, bytes: Uint8Array): void {
    const request = requestOf(bytes);
    if (request === undefined || this.#host.idOf(request.index) !== request.id) return;
    const { index, id } = request;
    const isKnown = this.#ways.has(number);
    if (!isKnown)
      for (const way of [...this.#ways.values()])
        if (way.index === index && !way.isOpener) way.carrier.close();
    this.#send(id, number, PACKET.opened, 0, []);
    if (isKnown) return;
    const { carrier } = this.#add(number, index, id, false, () => {});
    carrier.begin(this.#host.accepted(index, carrier));
  }

  #send(id: string, number: number, kind: number, count: number, parts: readonly Uint8Array[]): void {
    if (this.#connection.isClosed()) return;
    const header = new Uint8Array(HEADER_BYTES);
    const view = new DataView(header.buffer);
    view.setUint8(0, kind);
    view.setFloat64(8, number, true);
    view.setFloat64(16, count, true);
    this.#connection.publish(this.subjectOf(id), joinFrames([header, ...parts]));
  }
}

/** Undefined where it is none. */
function requestOf(bytes: Uint8Array): CarrierRequest | undefined {
  try {
    return JSON.parse(Buffer.from(bytes).toString()) as CarrierRequest;
  } catch {
    return undefined;
  }
}
