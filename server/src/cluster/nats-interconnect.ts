import { randomBytes, randomInt } from "node:crypto";
import { JechoError } from "@jecho/shared";
import type { KvEntry, KvWatchEntry } from "@nats-io/kv";
import type { Msg, NatsConnection, QueuedIterator, Subscription } from "@nats-io/transport-node";
import type { ClusterEvents, Interconnect } from "./interconnect.ts";
import { NatsCarrier, PACKET } from "./nats-carrier.ts";
import { connectNats, type NatsClusterOptions } from "./nats-connection.ts";
import { isKnownVersion, LEASE_MS, NatsLease, readMember } from "./nats-lease.ts";

/** A packet's header: its kind (1 byte), 7 bytes of nothing, the carrier's number and a count, of 8 bytes each. */
const HEADER_BYTES = 24;
const ID_BYTES = 12;
/** Interval of renewals of a lease, and of looks at what does not come. */
const RENEW_MS = 750;
const LOOK_MS = 100;
/** Time until a carrier that ended is opened again: a random part of the double of it; and until a question whether it is open is asked again. */
const AGAIN_MS = 250;
const NO_BYTES = new Uint8Array(0);

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

/** A carrier to or from another member. */
interface Way {
  readonly carrier: NatsCarrier;
  readonly index: number;
  readonly isOpener: boolean;
  askedAt: number;
}

/** Who opens a carrier. */
interface CarrierRequest {
  readonly index: number;
  readonly id: string;
}

/** Carriers and members by NATS. While NATS cannot be reached, and when its lease has run out, this gateway is no member. */
export class NatsInterconnect implements Interconnect {
  readonly #connection: NatsConnection;
  readonly #lease: NatsLease;
  readonly #prefix: string;
  readonly #replicas: number;
  readonly #limitBytes: number;
  readonly #log: (line: string) => void;
  readonly #others = new Map<number, Other>();
  readonly #ways = new Map<number, Way>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #id: string;
  /** Under which it was reached before it parted. */
  #formerId: string;
  /** Whether others had ended its lease while it was parted. */
  #wasReplaced = false;
  #state: "member" | "parted" | "ended" = "member";
  /** The lease may run out from then on. */
  #validUntil: number;
  #isConnected = true;
  #isRenewing = false;
  #events: ClusterEvents | undefined;
  #subscription: Subscription | undefined;
  #watch: QueuedIterator<KvWatchEntry> | undefined;

  private constructor(
    connection: NatsConnection,
    lease: NatsLease,
    { prefix, replicas, id, sentAt }: { prefix: string; replicas: number; id: string; sentAt: number },
    limitBytes: number,
    log: (line: string) => void,
  ) {
    this.#connection = connection;
    this.#lease = lease;
    this.#prefix = prefix;
    this.#replicas = replicas;
    this.#id = id;
    this.#formerId = id;
    this.#validUntil = sentAt + LEASE_MS;
    this.#limitBytes = limitBytes;
    this.#log = log;
    this.#timers.add(setInterval(() => void this.#renew(), RENEW_MS).unref());
    this.#timers.add(setInterval(() => this.#look(), LOOK_MS).unref());
    void this.#follow();
  }

  /**
   * Takes a lease on an index.
   *
   * @param limitBytes of a message
   * @throws JechoError `ARGUMENT_INVALID` where the options are none, or NATS cannot be used
   */
  static async open(
    options: NatsClusterOptions,
    limitBytes: number,
    log: (line: string) => void,
  ): Promise<NatsInterconnect> {
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
      return new NatsInterconnect(connection, lease, { prefix, replicas, id, sentAt }, limitBytes, log);
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

  async stop(): Promise<void> {
    if (this.#state === "ended") return;
    const wasMember = this.isMember;
    this.#finish();
    // Without it the others notice a little later.
    if (wasMember) await this.#lease.end().catch(() => {});
    await this.#connection.close();
  }

  #finish(): void {
    this.#state = "ended";
    this.#watch?.stop();
    for (const { carrier } of [...this.#ways.values()]) carrier.end();
    for (const timer of this.#timers) clearTimeout(timer);
  }

  /** Is reached, and hears of others, from now on. */
  async #begin(): Promise<void> {
    this.#subscription = this.#connection.subscribe(this.#subjectOf(this.#id), {
      callback: (error, message) => {
        if (error === null) this.#packet(message);
      },
    });
    const now = performance.now();
    for (const [index, other] of this.#others) {
      other.seenAt = now;
      this.#open(index, other);
    }
    const watch = await this.#lease.bucket.watch();
    // It may have parted meanwhile.
    if (this.#state !== "member") return watch.stop();
    this.#watch = watch;
    void this.#hear(watch);
  }

  async #hear(watch: QueuedIterator<KvWatchEntry>): Promise<void> {
    for await (const entry of watch) if (watch === this.#watch) this.#noted(entry);
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
        void this.#renew();
      }
    }
    if (this.#state !== "ended") this.#expel("NATS wants no connection of this gateway");
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing || !this.#isConnected || this.#state === "ended") return;
    this.#isRenewing = true;
    try {
      if (this.#state === "member") await this.#stay();
      else await this.#rejoin();
    } catch (error) {
      // NATS does not answer: the lease runs out, or has.
      if (!(error instanceof Error)) throw error;
    } finally {
      this.#isRenewing = false;
    }
  }

  async #stay(): Promise<void> {
    const sentAt = performance.now();
    const state = await this.#lease.renew(this.#id);
    this.#wasReplaced ||= state === "anew";
    if (this.#state !== "member") return;
    if (state === "held" && this.isMember) this.#validUntil = sentAt + LEASE_MS;
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
    this.#events.rejoined(this.#wasReplaced);
    this.#wasReplaced = false;
    await this.#begin();
  }

  #part(why: string): void {
    if (this.#state !== "member") return;
    this.#state = "parted";
    this.#formerId = this.#id;
    this.#id = freshId();
    this.#events?.parted(why);
    this.#watch?.stop();
    this.#watch = undefined;
    this.#subscription?.unsubscribe();
    for (const { carrier } of [...this.#ways.values()]) carrier.end();
  }

  #expel(why: string): void {
    this.#part(why);
    this.#finish();
    void this.#connection.close();
    this.#events?.expelled(why);
  }

  #look(): void {
    if (this.#state !== "member") return;
    if (!this.isMember) return this.#part("the lease ran out");
    const now = performance.now();
    for (const [number, way] of [...this.#ways]) {
      if (way.carrier.hasBegun) way.carrier.look(now);
      else if (way.isOpener && now - way.askedAt > AGAIN_MS) this.#askToOpen(number, way);
    }
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

  /** What the bucket has of a member. */
  #noted(entry: KvEntry): void {
    const index = Number(entry.key);
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
    this.#closeWays(index);
    const other = { id: member.id, host: member.host, revision, seenAt, isDoubted: false };
    this.#others.set(index, other);
    if (known === undefined) this.#events?.came(index);
    this.#open(index, other);
  }

  #gone(index: number): void {
    if (!this.#others.has(index)) return;
    this.#closeWays(index);
    this.#events?.left(index);
    this.#others.delete(index);
  }

  #closeWays(index: number): void {
    for (const way of [...this.#ways.values()]) if (way.index === index) way.carrier.close();
  }

  #open(index: number, other: Other): void {
    if (this.#state !== "member" || this.#others.get(index) !== other) return;
    const number = randomInt(2 ** 47);
    const carrier = this.#carrier(number, index, other.id, () => {
      const timer = setTimeout(
        () => {
          this.#timers.delete(timer);
          this.#open(index, other);
        },
        2 * AGAIN_MS * Math.random(),
      ).unref();
      this.#timers.add(timer);
    });
    const way = { carrier, index, isOpener: true, askedAt: 0 };
    this.#ways.set(number, way);
    this.#askToOpen(number, way);
  }

  #askToOpen(number: number, way: Way): void {
    way.askedAt = performance.now();
    const id = this.#others.get(way.index)?.id;
    const request: CarrierRequest = { index: this.self, id: this.#id };
    if (id !== undefined) this.#send(id, number, PACKET.open, 0, [Buffer.from(JSON.stringify(request))]);
  }

  #carrier(number: number, index: number, id: string, ended: () => void): NatsCarrier {
    return new NatsCarrier(
      (kind, count, parts) => this.#send(id, number, kind, count, parts),
      () => (this.#connection.info?.max_payload ?? 1 << 20) - HEADER_BYTES,
      this.#limitBytes,
      () => {
        this.#ways.delete(number);
        if (this.#others.get(index)?.id === id) ended();
      },
    );
  }

  /** Another gateway asks for a carrier. Where its lease is not known here yet, it asks again. */
  #accept(number: number, { index, id }: CarrierRequest): void {
    if (this.#others.get(index)?.id !== id) return;
    const known = this.#ways.get(number);
    if (known === undefined) {
      for (const way of [...this.#ways.values()])
        if (way.index === index && !way.isOpener) way.carrier.close();
      const carrier = this.#carrier(number, index, id, () => {});
      this.#ways.set(number, { carrier, index, isOpener: false, askedAt: 0 });
      this.#send(id, number, PACKET.opened, 0, []);
      if (this.#events !== undefined) carrier.begin(this.#events.accepted(index, carrier));
    } else this.#send(id, number, PACKET.opened, 0, []);
  }

  #packet({ data }: Msg): void {
    // One that was stopped has packets from before, and may have no lease by now.
    if (!this.isMember || data.byteLength < HEADER_BYTES) return;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const [kind, number, count] = [view.getUint8(0), view.getFloat64(8, true), view.getFloat64(16, true)];
    const bytes = data.byteLength === HEADER_BYTES ? NO_BYTES : data.subarray(HEADER_BYTES);
    if (kind === PACKET.open) {
      const request = requestOf(bytes);
      if (request !== undefined) this.#accept(number, request);
      return;
    }
    const way = this.#ways.get(number);
    if (way === undefined) return;
    if (kind !== PACKET.opened) return way.carrier.packet(kind, count, bytes);
    if (!way.carrier.hasBegun && this.#events !== undefined)
      way.carrier.begin(this.#events.opened(way.index, way.carrier));
  }

  #send(id: string, number: number, kind: number, count: number, parts: readonly Uint8Array[]): void {
    if (!this.#isConnected || this.#connection.isClosed()) return;
    let bytes = HEADER_BYTES;
    for (const part of parts) bytes += part.byteLength;
    const packet = new Uint8Array(bytes);
    const view = new DataView(packet.buffer);
    view.setUint8(0, kind);
    view.setFloat64(8, number, true);
    view.setFloat64(16, count, true);
    let at = HEADER_BYTES;
    for (const part of parts) {
      packet.set(part, at);
      at += part.byteLength;
    }
    this.#connection.publish(this.#subjectOf(id), packet);
  }

  #subjectOf(id: string): string {
    return `${this.#prefix}.way.${id}`;
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

function freshId(): string {
  return randomBytes(ID_BYTES).toString("hex");
}
