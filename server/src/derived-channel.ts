import { createHash } from "node:crypto";
import { errorCode, JechoError, Type } from "@jecho/shared";
import type { Modulator } from "@jecho/shared/internal";
import type { Channel } from "./channel.ts";
import type { ChannelManager } from "./channel-manager.ts";
import type { Connection } from "./connection.ts";
import type { SharedObjects } from "./shared-objects.ts";

/** What makes two modulators equal: their source, their key, and what they may use. The key is the consumer's to choose. */
export function equalityKey(modulator: Modulator): string {
  return createHash("sha256")
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
  readonly key: string;
  readonly modulator: Modulator;
  /** The types that its modulators declared at their installation, by token. Without one it has its parent's types. */
  readonly types = new Map<bigint, Type>();
  /** Consumers that wait for the installation. */
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
  ) {
    this.manager = manager;
    this.channel = channel;
    this.key = key;
    this.modulator = modulator;
    this.#objects = objects;
    objects.use(this);
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
    return (
      this.#installations.has(connection) &&
      (token === 0n || this.types.has(token) || this.manager.isWritten(token))
    );
  }

  /** Where the modulator is installed. */
  connections(): Iterable<Connection> {
    return this.#installations.keys();
  }

  /** Takes the modulator out of every producer. */
  remove(): void {
    this.#removed = true;
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
    const modulator = { ...this.modulator, objects: this.#objects.current(this.modulator.objects) };
    const { channel } = this;
    const answer = await connection
      .request(request => ({
        kind: "Install",
        request,
        channel: this.manager.channel.number,
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
