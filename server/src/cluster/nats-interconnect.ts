import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { JechoError } from "@jecho/shared";
import type { KvEntry, KvWatchEntry } from "@nats-io/kv";
import type { NatsConnection, QueuedIterator, Subscription } from "@nats-io/transport-node";
import { StreamStore, type StreamStoreHost } from "../history/stream-store.ts";
import type { ClusterEvents, Interconnect } from "./interconnect.ts";
import { connectNats, type NatsClusterOptions } from "./nats-connection.ts";
import { isKnownVersion, LEASE_MS, NatsLease, readMember } from "./nats-lease.ts";
import { NatsWays } from "./nats-ways.ts";
import { FINISH_MS } from "./trunk-carrier.ts";

const ID_BYTES = 12;
/** Interval of renewals of a lease, and of looks at what does not come. */
const RENEW_MS = 750;
const LOOK_MS = 100;

/** Another member. */
interface Other {
  readonly id: string;
  readonly host: string;
  /** Newest renewal of its lease, and when that came. */
  revision: number;
  seenAt: number;
  /** Whether its lease is being ended. */
  isDoubted: boolean;
}

/** Carriers and members by NATS. While NATS cannot be reached, and when its lease has run out, this gateway is no member. */
export class NatsInterconnect implements Interconnect {
  readonly homes = undefined;
  readonly #connection: NatsConnection;
  readonly #lease: NatsLease;
  readonly #prefix: string;
  readonly #replicas: number;
  readonly #log: (line: string) => void;
  readonly #others = new Map<number, Other>();
  readonly #ways: NatsWays;
  readonly #timers: readonly NodeJS.Timeout[];
  #id: string;
  /** Under which it was reached before it parted. */
  #formerId: string;
  /** Whether others had ended its lease while it was parted; undefined where it has not. */
  #wasReplaced: boolean | undefined;
  #state: "member" | "parted" | "ended" = "member";
  /** The lease may run out from then on. */
  #validUntil: number;
  /** Whether the other members are known, and so whose a channel is. */
  #isListed = false;
  #isConnected = true;
  #renewal: Promise<void> | undefined;
  /** When the watch last told of this gateway's own renewals, which it does as long as it tells of others'. */
  #heardAt = 0;
  #events: ClusterEvents | undefined;
  #subscription: Subscription | undefined;
  #watch: QueuedIterator<KvWatchEntry> | undefined;

  private constructor(
    connection: NatsConnection,
    lease: NatsLease,
    { prefix, replicas, id, sentAt }: { prefix: string; replicas: number; id: string; sentAt: number },
    log: (line: string) => void,
  ) {
    this.#connection = connection;
    this.#lease = lease;
    this.#prefix = prefix;
    this.#replicas = replicas;
    this.#id = id;
    this.#formerId = id;
    this.#validUntil = sentAt + LEASE_MS;
    this.#ways = new NatsWays(connection, prefix, {
      self: () =>
        this.isMember && this.#events !== undefined ? { index: this.self, id: this.#id } : undefined,
      idOf: index => this.#others.get(index)?.id,
      opened: (index, carrier) => (this.#events as ClusterEvents).opened(index, carrier),
      accepted: (index, carrier) => (this.#events as ClusterEvents).accepted(index, carrier),
    });
    this.#log = log;
    this.#timers = [
      setInterval(() => this.#renew(), RENEW_MS).unref(),
      setInterval(() => this.#look(), LOOK_MS).unref(),
    ];
    void this.#follow();
  }

  /**
   * Takes a lease on an index.
   *
   * @throws JechoError `ARGUMENT_INVALID` where the options are none, or NATS cannot be used
   */
  static async open(options: NatsClusterOptions, log: (line: string) => void): Promise<NatsInterconnect> {
    const { prefix = "jecho", replicas = 1 } = options;
    if (!/^[\w-]{1,64}$/.test(prefix))
      throw new JechoError(
        "ARGUMENT_INVALID",
        `cluster: "${prefix}" is no prefix; it has letters, digits, _ and -`,
      );
    const connection = await connectNats(options);
    try {
      const [id, sentAt] = [freshId(), performance.now()];
      const lease = await NatsLease.claim(connection, prefix, replicas, id);
      return new NatsInterconnect(connection, lease, { prefix, replicas, id, sentAt }, log);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  get self(): number {
    return this.#lease.index;
  }

  get identity(): string {
    return this.#lease.identity;
  }

  get isMember(): boolean {
    return this.#isListed && this.#hasLease;
  }

  get #hasLease(): boolean {
    return this.#state === "member" && performance.now() < this.#validUntil;
  }

  nameOf(index: number): string {
    const host = this.#others.get(index)?.host;
    return host === undefined ? `number ${index}` : `number ${index} at ${host}`;
  }

  async start(events: ClusterEvents): Promise<void> {
    this.#events = events;
    if (this.#state === "member") await this.#begin();
  }

  openHistory(host: Omit<StreamStoreHost, "isMember">): Promise<StreamStore> {
    const isMember = (): boolean => this.isMember;
    return StreamStore.open(this.#connection, this.#prefix, this.#replicas, { ...host, isMember });
  }

  async stop(): Promise<void> {
    if (this.#state === "ended") return;
    const wasMember = this.#hasLease;
    if (wasMember) await Promise.race([this.#ways.sent(), delay(FINISH_MS, undefined, { ref: false })]);
    this.#finish();
    await this.#renewal;
    // Without it the others notice a little later.
    if (wasMember) await this.#lease.end().catch(() => {});
    await this.#connection.close();
  }

  #finish(): void {
    this.#state = "ended";
    this.#watch?.stop();
    this.#ways.end();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Is reached, and hears of others, from now on. */
  async #begin(): Promise<void> {
    this.#subscription = this.#connection.subscribe(this.#ways.subjectOf(this.#id), {
      callback: (error, message) => {
        if (error === null) this.#ways.packet(message.data);
      },
    });
    const now = performance.now();
    for (const other of this.#others.values()) other.seenAt = now;
    await this.#listen();
  }

  /** Hears what the bucket has, and what changes there. Resolves when what it has is known. */
  async #listen(): Promise<void> {
    this.#watch?.stop();
    this.#watch = undefined;
    this.#heardAt = performance.now();
    const id = this.#id;
    const watch = await this.#lease.bucket.watch();
    // It may have parted meanwhile.
    if (this.#state !== "member" || this.#id !== id || this.#watch !== undefined) return watch.stop();
    this.#watch = watch;
    await new Promise<void>(known => void this.#hear(watch, known));
    if (watch !== this.#watch || this.#isListed) return;
    this.#isListed = true;
    if (this.#wasReplaced !== undefined) this.#events?.rejoined(this.#wasReplaced);
    this.#wasReplaced = undefined;
    for (const [index, { id }] of this.#others) this.#ways.open(index, id);
  }

  async #hear(watch: QueuedIterator<KvWatchEntry>, known: () => void): Promise<void> {
    for await (const entry of watch) {
      if (watch === this.#watch) this.#noted(entry);
      // The last entry from before counts as an update: this gateway's own lease is there at least.
      if (entry.isUpdate) known();
    }
    known();
  }

  /** Follows the connection to NATS. */
  async #follow(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === "disconnect") {
        this.#isConnected = false;
        // What was under way is lost, and nobody else is told.
        this.#part("the connection to NATS broke");
      } else if (type === "reconnect") {
        this.#isConnected = true;
        this.#renew();
      }
    }
    if (this.#state !== "ended") this.#expel("NATS wants no connection of this gateway");
  }

  #renew(): void {
    if (this.#renewal !== undefined || !this.#isConnected || this.#state === "ended") return;
    this.#renewal = (this.#state === "member" ? this.#stay() : this.#rejoin())
      // NATS does not answer: the lease runs out, or has.
      .catch(() => {})
      .finally(() => {
        this.#renewal = undefined;
      });
  }

  async #stay(): Promise<void> {
    const sentAt = performance.now();
    const state = await this.#lease.renew(this.#id);
    this.#wasReplaced ||= state === "anew";
    if (this.#state !== "member") return;
    if (state === "held" && this.#hasLease) this.#validUntil = sentAt + LEASE_MS;
    else this.#part("the lease ran out");
  }

  async #rejoin(): Promise<void> {
    const sentAt = performance.now();
    if (!(await this.#lease.isOfBucket(this.#connection, this.#prefix, this.#replicas)))
      return this.#expel("NATS has forgotten the cluster, and begun another");
    const state = await this.#lease.renew(this.#id, this.#formerId);
    this.#wasReplaced ||= state === "anew";
    if (this.#state !== "parted") return;
    if (state === "taken") return this.#expel("its number is another gateway's by now");
    if (!this.#isConnected || performance.now() >= sentAt + LEASE_MS) return;
    this.#state = "member";
    this.#validUntil = sentAt + LEASE_MS;
    if (this.#events === undefined) return;
    // Where that fails it is tried again.
    this.#begin().catch(() => {});
  }

  #part(why: string): void {
    if (this.#state !== "member") return;
    this.#state = "parted";
    this.#isListed = false;
    if (this.#events !== undefined) this.#wasReplaced ??= false;
    this.#formerId = this.#id;
    this.#id = freshId();
    this.#events?.parted(why);
    this.#watch?.stop();
    this.#watch = undefined;
    this.#subscription?.unsubscribe();
    this.#ways.end();
  }

  #expel(why: string): void {
    this.#part(why);
    this.#finish();
    void this.#connection.close();
    this.#events?.expelled(why);
  }

  #look(): void {
    if (this.#state !== "member") return;
    if (!this.#hasLease) return this.#part("the lease ran out");
    const now = performance.now();
    if (this.#events !== undefined && now - this.#heardAt > LEASE_MS) this.#listen().catch(() => {});
    this.#ways.look(now);
    for (const [index, other] of this.#others)
      if (now - other.seenAt > LEASE_MS && !other.isDoubted) void this.#doubt(index, other);
  }

  /** Ends a lease that was not renewed. */
  async #doubt(index: number, other: Other): Promise<void> {
    other.isDoubted = true;
    // Where it was renewed, or is ended by another member, the watch tells.
    await this.#lease.evict(index, other.revision);
    other.isDoubted = false;
  }

  /** Takes the bucket's entry of a member. */
  #noted(entry: KvEntry): void {
    const index = Number(entry.key);
    if (index === this.self) this.#heardAt = performance.now();
    if (index === this.self || this.#state !== "member") return;
    const member = readMember(entry);
    if (member === undefined) return this.#gone(index);
    const known = this.#others.get(index);
    const { revision } = entry;
    const seenAt = performance.now();
    if (known?.id === member.id) return void Object.assign(known, { revision, seenAt });
    if (!isKnownVersion(member)) {
      this.#log(
        `the gateway number ${index} at ${member.host} does not belong to this cluster: its version is another`,
      );
      return this.#gone(index);
    }
    this.#ways.close(index);
    const other = { id: member.id, host: member.host, revision, seenAt, isDoubted: false };
    this.#others.set(index, other);
    if (known === undefined) this.#events?.came(index);
    this.#ways.open(index, other.id);
  }

  #gone(index: number): void {
    if (!this.#others.has(index)) return;
    this.#ways.close(index);
    this.#events?.left(index);
    this.#others.delete(index);
  }
}

function freshId(): string {
  return randomBytes(ID_BYTES).toString("hex");
}
