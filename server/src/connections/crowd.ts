import type { JechoError } from "@jecho/shared";
import type { KnownLimits } from "../gateway/gateway-limits.ts";
import { LimitReached } from "../gateway/limit-reached.ts";

/** Bytes counted for a producer, a consumer, a shared object or a copy of one, besides its own data; and for a channel. */
export const ENDPOINT_BYTES = 1 << 10;
export const CHANNEL_BYTES = 4 << 10;

/** The part of a connection that is used here. */
interface CrowdMember {
  address: string;
  parties: readonly Party[];
  readonly subject: { readonly name: string } | undefined;
}

/** Seconds of its rate that a party may use at once. */
const BURST_SECONDS = 10;
/** Time that a party without connections is remembered: after it, its buckets would be full again anyway. */
const REMEMBERED_MS = 2 * BURST_SECONDS * 1000;

/** The longest ban from having producers wait; after as long without another one, the length starts again. */
const LONGEST_SUSPENSION_MS = 600_000;

/** The connections of one address or subject, the bytes kept for them, and two token buckets for what they may send. */
export class Party {
  connections = 0;
  /** Connections of other gateways that use this one. */
  visitors = 0;
  /** Bytes kept for them, also while none is connected. */
  keptBytes = 0;
  readonly #limits: KnownLimits;
  readonly #of: string;
  #frames: number;
  #bytes: number;
  #filledAt = performance.now();
  /** End of the ban from having producers wait, and length of the last one; 0 where there has been none. */
  #suspendedUntil = 0;
  #suspendedMs = 0;

  /** @param of its name in messages */
  constructor(limits: KnownLimits, of: string) {
    this.#limits = limits;
    this.#of = of;
    this.#frames = BURST_SECONDS * limits.framesPerSecond;
    this.#bytes = BURST_SECONDS * limits.bytesPerSecond;
  }

  /** Counts a message. @throws JechoError `OVERLOADED` */
  message(bytes: number, now: number): void {
    const { framesPerSecond, bytesPerSecond } = this.#limits;
    const seconds = (now - this.#filledAt) / 1000;
    this.#filledAt = now;
    this.#frames = Math.min(BURST_SECONDS * framesPerSecond, this.#frames + seconds * framesPerSecond);
    this.#bytes = Math.min(BURST_SECONDS * bytesPerSecond, this.#bytes + seconds * bytesPerSecond);
    if (this.#bytes <= 0) throw this.#over("bytes", bytesPerSecond);
    this.#bytes -= bytes;
  }

  /** Counts a frame. @throws JechoError `OVERLOADED` */
  frame(): void {
    if (this.#frames <= 0) throw this.#over("frames", this.#limits.framesPerSecond);
    this.#frames--;
  }

  /** Reserves bytes to be kept. @throws JechoError `OVERLOADED` */
  checkKeeping(bytes: number): void {
    const { keptBytes } = this.#limits;
    if (this.keptBytes + bytes > keptBytes)
      throw new LimitReached(
        "keptBytes",
        "OVERLOADED",
        `for ${this.#of} at most ${keptBytes} bytes are kept (keptBytes)`,
      );
  }

  /** Bans the party from having producers wait for a while, each time for twice as long. */
  blockedTooLong(now: number): void {
    if (now > this.#forgottenAt) this.#suspendedMs = 0;
    this.#suspendedMs = Math.min(LONGEST_SUSPENSION_MS, 2 * this.#suspendedMs || this.#limits.blockMs);
    this.#suspendedUntil = now + this.#suspendedMs;
  }

  /** Checks that a consumer with the policy `block` may be opened. @throws JechoError `OVERLOADED` */
  checkBlocking(now: number): void {
    const leftMs = this.#suspendedUntil - now;
    if (leftMs > 0)
      throw new LimitReached(
        "blockMs",
        "OVERLOADED",
        `${this.#of} that had producers wait for more than ${this.#limits.blockMs} ms (blockMs) may block again in ${Math.ceil(leftMs / 1000)} s`,
      );
  }

  /** Whether it may be forgotten that it was there, with its last connection until then. */
  isForgotten(leftAt: number, now: number): boolean {
    if (this.visitors > 0 || this.keptBytes > 0) return false;
    return Math.max(leftAt + REMEMBERED_MS, this.#forgottenAt) <= now;
  }

  get #forgottenAt(): number {
    return this.#suspendedMs === 0 ? 0 : this.#suspendedUntil + LONGEST_SUSPENSION_MS;
  }

  #over(what: "frames" | "bytes", most: number): JechoError {
    return new LimitReached(
      `${what}PerSecond`,
      "OVERLOADED",
      `${this.#of} sends at most ${most} ${what} a second (${what}PerSecond)`,
    );
  }
}

/** The parties of one kind, by their names. */
class Parties {
  readonly #limits: KnownLimits;
  readonly #of: string;
  readonly #limit: "connectionsPerAddress" | "connectionsPerSubject";
  readonly #most: number;
  readonly #all = new Map<string, Party>();
  /** When a party lost its last connection, by `performance.now()`, oldest first. */
  readonly #left = new Map<string, number>();

  constructor(limits: KnownLimits, of: string, limit: "connectionsPerAddress" | "connectionsPerSubject") {
    this.#limits = limits;
    this.#of = of;
    this.#limit = limit;
    this.#most = limits[limit];
  }

  /** The party of this name, for a connection that is not counted here. */
  known(name: string): Party {
    this.#forgetOld();
    let party = this.#all.get(name);
    if (party === undefined) {
      party = new Party(this.#limits, this.#of);
      this.#all.set(name, party);
      this.#left.set(name, performance.now());
    }
    return party;
  }

  /** @throws JechoError `OVERLOADED`, in which case it is not counted */
  enter(name: string): Party {
    const party = this.known(name);
    if (party.connections >= this.#most)
      throw new LimitReached(this.#limit, "OVERLOADED", `${this.#of} has at most ${this.#most} connections`);
    party.connections++;
    this.#left.delete(name);
    return party;
  }

  leave(name: string): void {
    const party = this.#all.get(name);
    if (party !== undefined && --party.connections === 0) this.#left.set(name, performance.now());
  }

  #forgetOld(): void {
    const now = performance.now();
    for (const [name, leftAt] of this.#left) {
      if (leftAt + REMEMBERED_MS > now) return;
      this.#left.delete(name);
      // Looked at again later.
      const party = this.#all.get(name);
      if (party?.isForgotten(leftAt, now) === false) this.#left.set(name, now);
      else this.#all.delete(name);
    }
  }
}

/** Counts connections, and what they send: of all, of each address, and of each subject. */
export class Crowd {
  readonly #most: number;
  readonly #addresses: Parties;
  readonly #subjects: Parties;
  #all = 0;

  constructor(limits: KnownLimits) {
    this.#most = limits.connections;
    this.#addresses = new Parties(limits, "an address", "connectionsPerAddress");
    this.#subjects = new Parties(limits, "a subject", "connectionsPerSubject");
  }

  /** Counts one more connection. @throws JechoError `OVERLOADED`, in which case it is not counted */
  enter(connection: CrowdMember, address: string): void {
    if (this.#all >= this.#most)
      throw new LimitReached(
        "connections",
        "OVERLOADED",
        `the gateway has at most ${this.#most} connections`,
      );
    connection.parties = [this.#addresses.enter(address)];
    connection.address = address;
    this.#all++;
  }

  /** Counts a connection whose subject is known. @param subject "" at a gateway without keys @throws JechoError `OVERLOADED` */
  greeted(connection: CrowdMember, subject: string): void {
    if (subject !== "") connection.parties = [...connection.parties, this.#subjects.enter(subject)];
  }

  /** The parties of a connection of another gateway that uses this one: they account for what it has here. */
  visits(connection: CrowdMember, subject: string): void {
    connection.parties = [this.#addresses.known(connection.address)];
    if (subject !== "") connection.parties = [...connection.parties, this.#subjects.known(subject)];
    for (const party of connection.parties) party.visitors++;
  }

  /** Such a connection has gone. */
  visited({ parties }: Pick<CrowdMember, "parties">): void {
    for (const party of parties) party.visitors--;
  }

  leave({ address, subject, parties }: CrowdMember): void {
    this.#all--;
    this.#addresses.leave(address);
    if (parties.length > 1) this.#subjects.leave(subject?.name ?? "");
  }
}
