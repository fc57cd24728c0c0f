import { createHash, randomInt } from "node:crypto";
import { JechoError } from "@jecho/shared";
import type { Connection } from "../connections/connection.ts";

/** Time that the number of a process is kept after its connection broke. */
const RETURN_MS = 60_000;
/** Most kept numbers; beyond, the oldest are forgotten. */
const MOST_GONE = 4096;
const MAX_INSTANCE_LENGTH = 64;
/** Processes with a name have numbers from here to 2^32 - 1. */
const FIRST_NAMED = 2 ** 31;

interface ProducingProcess {
  readonly number: number;
  readonly connection: Connection;
}

/**
 * The numbers of producing processes. A process that returns after a broken connection gets its former number, also at a gateway that was
 * started again, so that modulators that run in its stead keep their state.
 */
export class Processes {
  /** Processes by their secret names. */
  readonly #known = new Map<string, ProducingProcess>();
  readonly #instances = new Map<Connection, string>();
  /** The numbers of known processes, from `FIRST_NAMED` on. */
  readonly #numbers = new Set<number>();
  /** The names of those without a connection, oldest first. */
  readonly #gone = new Map<string, NodeJS.Timeout>();
  /** The next number of a process without a name. Random, so that a gateway that was started again does not give another one's. */
  #next = randomInt(1, 2 ** 30);

  /** The former connection of a process that begins to produce at this one; it is ended, and may still be letting go of its endpoints. */
  formerOf(connection: Connection, instance: string): Connection | undefined {
    const former = this.#known.get(instance)?.connection;
    if (former === connection) return undefined;
    former?.end("CONNECTION_LOST", "its process has another connection by now");
    return former;
  }

  /**
   * A process begins to produce at this connection.
   *
   * @param instance the process's secret name; "" for none, which gets a number that is never reused
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
    connection.process = known?.number ?? this.#numberOf(instance);
    if (instance === "") return;
    this.#numbers.add(connection.process);
    clearTimeout(this.#gone.get(instance));
    this.#gone.delete(instance);
    this.#known.set(instance, { number: connection.process, connection });
    this.#instances.set(connection, instance);
  }

  /** A connection has gone. */
  left(connection: Connection): void {
    const instance = this.#instances.get(connection);
    this.#instances.delete(connection);
    // It may have another connection by now.
    if (instance === undefined || this.#known.get(instance)?.connection !== connection) return;
    const timer = setTimeout(() => this.#forget(instance), RETURN_MS).unref();
    this.#gone.set(instance, timer);
    for (const oldest of this.#gone.keys()) {
      if (this.#gone.size <= MOST_GONE) return;
      this.#forget(oldest);
    }
  }

  /** A number that nobody has: for a name the same at each gateway, unless it is taken there. */
  #numberOf(instance: string): number {
    if (instance === "") return this.#next++;
    let hash = hashOf(instance);
    while (this.#numbers.has(FIRST_NAMED + hash)) hash = (hash + 1) % FIRST_NAMED;
    return FIRST_NAMED + hash;
  }

  #forget(instance: string): void {
    const number = this.#known.get(instance)?.number;
    if (number !== undefined) this.#numbers.delete(number);
    clearTimeout(this.#gone.get(instance));
    this.#gone.delete(instance);
    this.#known.delete(instance);
  }
}

/** 31 bits from which nobody learns the secret name. */
function hashOf(instance: string): number {
  return createHash("sha256").update(instance).digest().readUInt32LE() >>> 1;
}
