import { randomInt } from "node:crypto";
import { JechoError } from "@jecho/shared";
import type { Connection } from "../connections/connection.ts";

/** Time that the number of a process is kept after its connection broke. */
const RETURN_MS = 60_000;
/** Largest number of kept numbers; beyond it, those of the longest gone go. */
const MOST_GONE = 4096;
const MAX_INSTANCE_LENGTH = 64;

interface ProducingProcess {
  readonly number: number;
  readonly connection: Connection;
}

/**
 * The numbers of producing processes. A process that comes back after a broken connection has the number that it had, so that what
 * runs elsewhere in its stead goes on with its state.
 */
export class Processes {
  /** Processes by the secret name that each has for itself. */
  readonly #known = new Map<string, ProducingProcess>();
  readonly #instances = new Map<Connection, string>();
  /** The names of those without a connection, the longest gone first. */
  readonly #gone = new Map<string, NodeJS.Timeout>();
  // Random, so that processes at a gateway that was started again do not have the numbers that others had.
  #next = randomInt(1, 2 ** 31);

  /**
   * A process is to produce at this connection. Its former connection, if it is still there, ends: nobody reads it any more.
   *
   * @param instance the process' secret name; "" for none, and a number that no later connection gets
   * @throws JechoError `ARGUMENT_INVALID`
   */
  enter(connection: Connection, instance: string): void {
    if (connection.process !== 0) return;
    if (instance.length > MAX_INSTANCE_LENGTH)
      throw new JechoError(
        "ARGUMENT_INVALID",
        `a process' name has at most ${MAX_INSTANCE_LENGTH} characters`,
      );
    const known = this.#known.get(instance);
    connection.process = known?.number ?? this.#next++;
    if (instance === "") return;
    clearTimeout(this.#gone.get(instance));
    this.#gone.delete(instance);
    this.#known.set(instance, { number: connection.process, connection });
    this.#instances.set(connection, instance);
    if (known?.connection.isOpen)
      known.connection.end("CONNECTION_LOST", "its process has another connection by now");
  }

  /** A connection has gone. */
  left(connection: Connection): void {
    const instance = this.#instances.get(connection);
    this.#instances.delete(connection);
    // It may have another one.
    if (instance === undefined || this.#known.get(instance)?.connection !== connection) return;
    const timer = setTimeout(() => this.#forget(instance), RETURN_MS).unref();
    this.#gone.set(instance, timer);
    for (const oldest of this.#gone.keys()) {
      if (this.#gone.size <= MOST_GONE) return;
      this.#forget(oldest);
    }
  }

  #forget(instance: string): void {
    clearTimeout(this.#gone.get(instance));
    this.#gone.delete(instance);
    this.#known.delete(instance);
  }
}
