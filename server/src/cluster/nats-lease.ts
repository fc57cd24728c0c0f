import { randomInt } from "node:crypto";
import { hostname } from "node:os";
import { JechoError } from "@jecho/shared";
import { type KV, type KvEntry, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { identityFrom } from "./identities.ts";
import { MOST_GATEWAYS } from "./numbers.ts";

const VERSION = 2;
/** Life of a lease since its last renewal was sent. Other members end it when they have seen no renewal for as long: a gateway that is killed is missed for so long. */
export const LEASE_MS = 3000;
/** Time that one renewal may take. */
const RENEW_TIMEOUT_MS = 2000;

/** A member as the bucket has it. Its key is its index. */
export interface Member {
  readonly version: number;
  /** The subject's last part under which it is reached: another one whenever it had lost touch, so that nothing meant for the former comes to the new. */
  readonly id: string;
  readonly host: string;
}

/** A lease is held still; others had ended it, and it has begun anew; or its index is another gateway's by now. */
export type LeaseState = "held" | "anew" | "taken";

/**
 * A gateway's lease on its index: a key of a bucket that holds those of all members. A renewal names the revision before it, and so does another member that ends the
 * lease: only one succeeds. So whoever was stopped for longer learns whether others took over, which nobody does while NATS is away.
 */
export class NatsLease {
  readonly index: number;
  readonly identity: string;
  readonly bucket: KV;
  #revision: number;
  /** Whether others had ended it, and nobody heard: the answer to its new beginning may be lost. */
  #hadEnded = false;

  private constructor(bucket: KV, identity: string, index: number, revision: number) {
    this.bucket = bucket;
    this.identity = identity;
    this.index = index;
    this.#revision = revision;
  }

  /** Takes an index that nobody has. @throws JechoError `ARGUMENT_INVALID` where there is none, or no bucket */
  static async claim(
    connection: NatsConnection,
    prefix: string,
    replicas: number,
    id: string,
  ): Promise<NatsLease> {
    const [bucket, identity] = await openBucket(connection, prefix, replicas).catch((error: Error) => {
      throw new JechoError(
        "ARGUMENT_INVALID",
        `cluster: NATS has no bucket for its members: ${error.message}`,
      );
    });
    const taken = new Set<number>();
    for await (const key of await bucket.keys()) taken.add(Number(key));
    // An index that was somebody's a moment ago is best left alone, for he may come back.
    const first = randomInt(MOST_GATEWAYS);
    for (let i = 0; i < MOST_GATEWAYS; i++) {
      const index = (first + i) % MOST_GATEWAYS;
      if (taken.has(index)) continue;
      const revision = await bucket.create(String(index), memberOf(id)).catch(async () => {
        // Another one was quicker, or the answer was lost.
        const entry = await bucket.get(String(index));
        return readMember(entry)?.id === id ? entry?.revision : undefined;
      });
      if (revision !== undefined) return new NatsLease(bucket, identity, index, revision);
    }
    throw new JechoError(
      "ARGUMENT_INVALID",
      `cluster: it has ${MOST_GATEWAYS} members, and can have no more`,
    );
  }

  /** @param id under which this gateway is reached from now on @param former under which it was @throws Error where NATS does not answer */
  async renew(id: string, former = id): Promise<LeaseState> {
    const key = String(this.index);
    try {
      this.#revision = await this.bucket.update(key, memberOf(id), this.#revision, RENEW_TIMEOUT_MS);
      return "held";
    } catch {
      // Others have ended it, or the answer to an earlier renewal was lost.
      const entry = await this.bucket.get(key);
      const member = readMember(entry);
      if (member !== undefined && member.id !== id && member.id !== former) return "taken";
      const isHeld = entry !== null && member !== undefined;
      this.#hadEnded ||= !isHeld;
      this.#revision = isHeld
        ? await this.bucket.update(key, memberOf(id), entry.revision, RENEW_TIMEOUT_MS)
        : await this.bucket.create(key, memberOf(id));
      const state = this.#hadEnded ? "anew" : "held";
      this.#hadEnded = false;
      return state;
    }
  }

  /** Ends another member's lease, unless it has been renewed since that revision. @returns whether it has ended */
  async evict(index: number, revision: number): Promise<boolean> {
    return this.bucket.delete(String(index), { previousSeq: revision }).then(
      () => true,
      () => false,
    );
  }

  /** Gives it back, so that the others know at once. */
  async end(): Promise<void> {
    await this.bucket.delete(String(this.index), { previousSeq: this.#revision });
  }

  /** Whether NATS has the bucket still that this lease is in: another of its name would give the same indices to others. */
  async isOfBucket(connection: NatsConnection, prefix: string, replicas: number): Promise<boolean> {
    const [, identity] = await openBucket(connection, prefix, replicas);
    return identity === this.identity;
  }
}

/** The member that a key holds; undefined where its lease has ended. */
export function readMember(entry: KvEntry | null): Member | undefined {
  if (entry?.operation !== "PUT") return undefined;
  const { version, id, host } = entry.json<Member>();
  return { version, id, host };
}

/** Whether a member speaks as this gateway does. */
export function isKnownVersion({ version }: Member): boolean {
  return version === VERSION;
}

function memberOf(id: string): string {
  return JSON.stringify({ version: VERSION, id, host: hostname() } satisfies Member);
}

/** @returns the bucket, and an identity that it alone has */
async function openBucket(
  connection: NatsConnection,
  prefix: string,
  replicas: number,
): Promise<[bucket: KV, identity: string]> {
  const bucket = await new Kvm(connection).create(prefix, { replicas });
  const { streamInfo } = await bucket.status();
  return [bucket, identityFrom(JSON.stringify([prefix, streamInfo.created]))];
}
