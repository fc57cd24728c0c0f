import { createHash } from "node:crypto";
import { errorCode, JechoError, Type } from "@jecho/shared";
import type { Modulator } from "@jecho/shared/internal";
import type { Channel } from "./channel.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { Connection } from "./connection.ts";
import type { Place } from "./endpoints.ts";
import type { SharedObjects } from "./shared-objects.ts";

/**
 * What makes two modulators equal: their source, their key, what they may use, and what they are run on. The key is the
 * consumer's to choose.
 */
export function equalityKey(modulator: Modulator, parent?: DerivedChannel): string {
  return createHash("sha256")
    .update(`${parent?.key ?? ""}:`)
    .update(`${modulator.source.length}:`)
    .update(modulator.source)
    .update(JSON.stringify([...modulator.capabilities].sort()))
    .update(modulator.key)
    .digest("base64");
}

/** What a modulator makes of its parent channel. It exists while it has consumers, and is installed in every producer. */
export class DerivedChannel {
  readonly manager: ChannelManager;
  readonly channel: Channel;
  /** Where its consumers are. */
  readonly place: Place;
  readonly key: string;
  readonly modulator: Modulator;
  /** The derived channel that this one is derived from; undefined for the channel itself. */
  readonly parent: DerivedChannel | undefined;
  /** The types that its modulators declared at their installation, by token. Without one it has its parent's types. */
  readonly types = new Map<bigint, Type>();
  /** Consumers that wait for the installation, and channels derived from this one. */
  joining = 0;
  readonly #objects: SharedObjects;
  readonly #installations = new Map<Connection, Promise<void>>();
  #removed = false;

  constructor(
    manager: ChannelManager,
    channel: Channel,
    key: string,
    modulator: Modulator,
    objects: SharedObjects,
    parent?: DerivedChannel,
  ) {
    this.manager = manager;
    this.channel = channel;
    this.place = { manager, channel, derived: this };
    this.key = key;
    this.modulator = modulator;
    this.#objects = objects;
    this.parent = parent;
    if (parent !== undefined) parent.joining++;
    objects.use(this);
  }

  /** Tokens of what it is written with at present. */
  get tokens(): bigint[] {
    if (this.types.size > 0) return [...this.types.keys()];
    return this.parent?.tokens ?? this.manager.tokens;
  }

  /**
   * A consumer that declares a type must be able to read what the modulator makes.
   *
   * @throws JechoError `TYPE_MISMATCH`
   */
  checkReader(type: Type | undefined): void {
    if (type === undefined) return;
    if (this.types.size === 0) (this.parent ?? this.manager).checkReader(type);
    for (const written of this.types.values()) type.readerOf(written);
  }

  /** Resolves when every present producer has the modulator; rejects with the first reason why one has not. */
  async installed(): Promise<void> {
    await Promise.all([...this.manager.producingConnections()].map(connection => this.#install(connection)));
  }

  /** Installs at a producer that comes later. Where that fails the derived channel ends: it is all or nothing. */
  async installAt(connection: Connection): Promise<void> {
    try {
      await this.#install(connection);
    } catch (error) {
      this.manager.modulatorRemoved(this, JechoError.from(error));
    }
  }

  /** Is this run one that the connection's modulator may have made? */
  allows(connection: Connection, token: bigint): boolean {
    return this.#installations.has(connection) && this.#mayBe(token);
  }

  /** Where the modulator is installed. */
  connections(): Iterable<Connection> {
    return this.#installations.keys();
  }

  /** Takes the modulator out of every producer. */
  remove(): void {
    this.#removed = true;
    if (this.parent !== undefined) this.parent.joining--;
    this.#objects.release(this);
    for (const type of this.types.values()) this.manager.names.types.release(type);
    for (const connection of this.#installations.keys()) {
      connection.send({ kind: "Remove", derived: this.channel.number });
    }
    this.#installations.clear();
  }

  /** Takes the modulator out of a process that produces here no more. */
  removeAt(connection: Connection): void {
    if (this.#installations.delete(connection))
      connection.send({ kind: "Remove", derived: this.channel.number });
  }

  #mayBe(token: bigint): boolean {
    if (token === 0n || this.types.has(token) || this.manager.isWritten(token)) return true;
    const { parent } = this;
    return parent === undefined ? false : parent.#mayBe(token);
  }

  #install(connection: Connection): Promise<void> {
    let installation = this.#installations.get(connection);
    if (installation === undefined) {
      installation = this.#request(connection);
      this.#installations.set(connection, installation);
      installation.catch(() => this.#installations.delete(connection));
    }
    return installation;
  }

  async #request(connection: Connection): Promise<void> {
    // It runs behind the other one, which has to be there first.
    if (this.parent !== undefined) await this.parent.#install(connection);
    if (this.#removed) return;
    const modulator = { ...this.modulator, objects: this.#objects.current(this.modulator.objects) };
    const { channel } = this;
    const answer = await connection
      .request(request => ({
        kind: "Install",
        request,
        channel: (this.parent ?? this.manager).channel.number,
        derived: channel.number,
        modulator,
        offers: [],
      }))
      .catch((error: JechoError) => {
        // A producer that left in the meantime is not present any more, so nothing is missing.
        if (error.code === "PRODUCER_GONE") return undefined;
        throw error;
      });
    if (answer === undefined || this.#removed) return;
    if (answer.kind === "Refused") throw new JechoError(errorCode(answer.code), answer.message);
    if (answer.kind !== "Installed")
      throw new JechoError("FRAME_UNEXPECTED", `an installation was answered by ${answer.kind}`);
    if (answer.schema.byteLength > 0) {
      const type = Type.fromSchema(answer.schema);
      if (!this.types.has(type.token)) {
        this.types.set(type.token, type);
        this.manager.names.types.hold(type);
        this.manager.announceDerivedType(this, type);
      }
    }
  }
}
