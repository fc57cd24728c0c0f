import { errorCode, JechoError } from "@jecho/shared";
import { type Control, Few, type Install, type Instead, type Placement } from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { DerivedChannel } from "./derived-channel.ts";
import type { Producer } from "./endpoints.ts";

const AT = { producer: 0, gateway: 1, consumer: 2 } as const;

/** Where a modulator runs for the producers of one process. */
interface Spot {
  readonly at: keyof typeof AT;
  /** Who makes the derived events for everybody; undefined where each consumer's process makes its own. */
  readonly maker: Connection | undefined;
  /** Why it is not with the producer. */
  readonly why: JechoError | undefined;
}

/** A producer says by these that somebody else is to run the modulator. */
const ELSEWHERE = new Set(["MODULATORS_NOT_SERVED", "OVERLOADED"]);

/** What a process is to install. */
export type Wanted = Pick<Install, "channel" | "derived" | "modulator" | "behind">;

/**
 * Where one derived channel's modulator runs, for each producing process: there; at the gateway's side, where that has a
 * process for modulators; or with each consumer. What runs elsewhere is fed with what that process raises, and nothing
 * changes for the others.
 */
export class Placements {
  readonly #derived: DerivedChannel;
  /** By the producing process. */
  readonly #places = new Few<Connection, Spot>();
  readonly #placing = new Few<Connection, Promise<Spot | undefined>>();
  /** What runs in consumers' processes, by these, and by the producing process. */
  readonly #own = new Few<Connection, Map<Connection, Promise<void>>>();
  #ended = false;

  constructor(derived: DerivedChannel) {
    this.#derived = derived;
  }

  /**
   * Resolves when the modulator runs for every present producer, in this consumer's process where that is the place for it.
   *
   * @throws JechoError the first reason why it does not
   */
  async install(consumer: Connection): Promise<void> {
    const producing = [...this.#derived.feeders.connections()];
    await Promise.all(producing.map(one => this.#installFor(consumer, one)));
  }

  async #installFor(consumer: Connection, producing: Connection): Promise<void> {
    let place: Spot | undefined;
    try {
      place = await this.place(producing);
    } catch (error) {
      this.#failed(producing, error);
    }
    if (place?.at === "consumer") await this.installOwn(consumer, producing);
  }

  /** A process' producers may go, and come again, while it is installed for them: what matters then is the later installation. */
  #failed(producing: Connection, error: unknown): void {
    if (!this.#placing.has(producing)) throw error;
  }

  /** For a producer that comes later, at the consumers that there are. @throws JechoError as `install` */
  async admit(producing: Connection): Promise<void> {
    const known = await this.#placing.get(producing);
    if (known !== undefined) {
      // It feeds it in one more way: both have to come to where it runs.
      const before = await this.#before(producing);
      const isThere = known.at === "producer" && (before === undefined || before.at === "producer");
      if (!isThere) this.remove(producing);
    }
    let place: Spot | undefined;
    try {
      place = await this.place(producing);
    } catch (error) {
      this.#failed(producing, error);
    }
    if (place?.at === "consumer") await this.#installWithConsumers(producing);
    this.#derived.manager.announcePlacements(this.#derived);
  }

  /** Has it, or is it to have, a place for what this process raises? */
  isPlacing(producing: Connection): boolean {
    return this.#placing.has(producing);
  }

  /** Where the modulator before it runs for a process; undefined where there is none that takes what that raises. */
  async #before(producing: Connection): Promise<Spot | undefined> {
    const { parent } = this.#derived;
    return parent?.feeders.isAt(producing) === true ? parent.placements.place(producing) : undefined;
  }

  /** Finds the place for a process' producers, and installs the modulator there unless that is with each consumer. */
  place(producing: Connection): Promise<Spot | undefined> {
    let placing = this.#placing.get(producing);
    if (placing === undefined) {
      placing = this.#find(producing);
      this.#placing.set(producing, placing);
      placing.then(
        place => {
          if (place === undefined || this.#placing.get(producing) !== placing) return;
          this.#places.set(producing, place);
        },
        () => {
          if (this.#placing.get(producing) === placing) this.#placing.delete(producing);
        },
      );
    }
    return placing;
  }

  /** Runs in a consumer's process for what another one raises. */
  installOwn(consumer: Connection, producing: Connection): Promise<void> {
    const own = this.#own.get(consumer) ?? new Map<Connection, Promise<void>>();
    this.#own.set(consumer, own);
    const known = own.get(producing);
    if (known !== undefined) return known;
    const installing = this.#installOwn(consumer, producing);
    own.set(producing, installing);
    const forget = (): void => {
      if (own.get(producing) === installing) own.delete(producing);
      // It may have left, and be back.
      if (own.size === 0 && this.#own.get(consumer) === own) this.#own.delete(consumer);
    };
    installing.then(() => {
      // Of a connection that was lost meanwhile nobody else takes it out.
      if (!consumer.isOpen) forget();
    }, forget);
    return installing;
  }

  /** The producer that this connection makes derived events for in another's stead. */
  standIn(maker: Connection, producer: Producer | undefined): Producer | undefined {
    if (producer === undefined || this.#places.get(producer.connection)?.maker !== maker) return undefined;
    return producer;
  }

  /** Does the connection run it for its own producers? */
  isAtProducer(connection: Connection): boolean {
    // What it makes may come before its answer has been seen to.
    const place = this.#places.get(connection);
    return place === undefined ? this.#placing.has(connection) : place.maker === connection;
  }

  /** Does the connection run it for everybody? What it says of it may come before its answer has been seen to, too. */
  isMaker(connection: Connection): boolean {
    if (this.isAtProducer(connection) || this.makers().has(connection)) return true;
    return connection === this.#derived.manager.names.modulating && this.#placing.size > this.#places.size;
  }

  /** Does it run there for the consumers of that process alone? */
  isOwn(consumer: Connection): boolean {
    return this.#own.has(consumer);
  }

  /** Everybody who runs it. */
  connections(): Set<Connection> {
    const all = new Set(this.#own.keys());
    for (const producing of this.#placing.keys()) all.add(this.#places.get(producing)?.maker ?? producing);
    return all;
  }

  /** Who makes events of the derived channel, and of which processes' events. */
  makers(): Map<Connection, number[]> {
    const makers = new Map<Connection, number[]>();
    for (const [producing, { maker }] of this.#places) {
      if (maker !== undefined) makers.set(maker, [...(makers.get(maker) ?? []), producing.process]);
    }
    return makers;
  }

  /** Who makes for this consumer's process what is made in others' stead, and of which processes' events. */
  *standInsFor(consumer: Connection): Generator<{ maker: Connection; process: number }> {
    for (const [producing, { maker }] of this.#places)
      if (maker !== undefined && maker !== producing) yield { maker, process: producing.process };
    for (const { process } of this.#own.get(consumer)?.keys() ?? []) yield { maker: consumer, process };
  }

  /** As consumers are told it. */
  describe(): Placement[] {
    const numbers = this.#derived.feeders.numbers();
    const described: Placement[] = [];
    for (const [producing, { at, why }] of this.#places) {
      const producers = numbers.get(producing) ?? [];
      described.push({ producers, at: AT[at], code: why?.number ?? 0, message: why?.message ?? "" });
    }
    return described;
  }

  /** A process produces here no more. */
  remove(producing: Connection): void {
    const maker = this.#places.get(producing)?.maker ?? producing;
    if (this.#placing.delete(producing)) this.#uninstall(maker, maker === producing ? 0 : producing.process);
    this.#places.delete(producing);
    for (const [consumer, own] of this.#own) {
      if (own.delete(producing)) this.#uninstall(consumer, producing.process);
      if (own.size === 0) this.#own.delete(consumer);
    }
  }

  /** A process has no consumers any more, of this channel or of those derived from it. */
  leave(consumer: Connection): void {
    const own = this.#own.get(consumer);
    this.#own.delete(consumer);
    for (const producing of own?.keys() ?? []) this.#uninstall(consumer, producing.process);
  }

  /** The gateway's process for modulators has gone: what ran there goes on, anew, with the consumers. */
  async lostMaker(maker: Connection): Promise<void> {
    const moved = [...this.#places].filter(
      ([producing, { maker: one }]) => one === maker && producing !== maker,
    );
    for (const [producing] of moved) {
      this.#places.delete(producing);
      this.#placing.delete(producing);
    }
    await Promise.all(moved.map(([producing]) => this.admit(producing)));
  }

  end(): void {
    this.#ended = true;
    for (const consumer of [...this.#own.keys()]) this.leave(consumer);
    for (const producing of [...this.#placing.keys()]) this.remove(producing);
    this.#places.clear();
    this.#placing.clear();
    this.#own.clear();
  }

  async #find(producing: Connection): Promise<Spot | undefined> {
    const { manager, feeders, parent } = this.#derived;
    // Of most there is none, and the producer is asked at once.
    const before = parent === undefined ? undefined : await this.#before(producing);
    if (this.#ended) return undefined;
    // It runs behind the other one, which has made its events where it is.
    let why = before?.why;
    if (before === undefined || before.at === "producer") {
      why = feeders.runModulators(producing)
        ? await this.#attempt(producing, producing)
        : new JechoError("MODULATORS_NOT_SERVED", "the producer runs no modulators");
      if (why === undefined) return { at: "producer", maker: producing, why };
    }
    // Who comes back to a gateway that was started again is there sooner than its process is.
    if (before?.at !== "consumer") await manager.names.modulatingStarts;
    if (this.#ended) return undefined;
    const { modulating } = manager.names;
    if (before?.at !== "consumer" && modulating?.isOpen) {
      const refused = await this.#attempt(modulating, producing);
      if (refused === undefined) return { at: "gateway", maker: modulating, why };
      why = refused;
    }
    return { at: "consumer", maker: undefined, why };
  }

  /** @returns why it is to run elsewhere @throws JechoError why it runs nowhere */
  async #attempt(maker: Connection, producing: Connection): Promise<JechoError | undefined> {
    try {
      await this.#request(maker, producing, false);
      return undefined;
    } catch (error) {
      const refused = JechoError.from(error);
      if (ELSEWHERE.has(refused.code)) return refused;
      // The gateway's own process went while it was asked.
      if (maker !== producing && refused.code === "PRODUCER_GONE") return refused;
      throw error;
    }
  }

  async #installOwn(consumer: Connection, producing: Connection): Promise<void> {
    const { parent } = this.#derived;
    const before = await this.#before(producing);
    if (before?.at === "consumer") await parent?.placements.installOwn(consumer, producing);
    if (!this.#ended) await this.#request(consumer, producing, true);
  }

  async #installWithConsumers(producing: Connection): Promise<void> {
    const { manager } = this.#derived;
    await Promise.all(
      [...manager.consumers.connectionsOf(this.#derived)].map(consumer =>
        this.installOwn(consumer, producing).catch((error: unknown) =>
          manager.modulatorRemovedAt(this.#derived, consumer, JechoError.from(error)),
        ),
      ),
    );
  }

  async #request(maker: Connection, producing: Connection, own: boolean): Promise<void> {
    const { manager, parent, feeders } = this.#derived;
    const input = parent ?? manager;
    const instead = own || maker !== producing ? this.#insteadOf(producing, own) : undefined;
    let answer: Control;
    try {
      const wanted = this.#derived.wanted();
      answer = await maker.request(request => ({ kind: "Install", request, offers: [], instead, ...wanted }));
    } catch (error) {
      // A process that left in the meantime is not present any more, so nothing is missing.
      if ((error as JechoError).code === "PRODUCER_GONE" && (own || instead === undefined)) return;
      throw error;
    }
    // Nor does it matter then what came of it.
    if (this.#ended || !this.#derived.feeders.isAt(producing)) return;
    this.#installed(answer);
    if (instead === undefined) return;
    // Its events count from the moment that it knows of whom they go to; where it is not yet open, that is its first word.
    if (!feeders.isAdmitted(producing)) return;
    const feeding = new Set([(await this.#before(producing))?.maker ?? producing]);
    if (instead.direct) feeding.add(producing);
    for (const feeder of feeding)
      await input.channel.assureDemand(feeder, producing.process).catch((error: JechoError) => {
        if (error.code !== "PRODUCER_GONE") throw error;
      });
  }

  /** How a process is told to run it that is not the producing one, or runs it for itself alone. */
  #insteadOf(producing: Connection, own: boolean): Instead {
    const { manager, parent, feeders } = this.#derived;
    const isMade = parent?.feeders.isAt(producing) === true;
    return {
      process: producing.process,
      base: manager.name,
      producers: feeders.of(producing).map(({ number }) => number),
      schema: parent?.schemaOf(producing) ?? manager.schemaOf(producing),
      own,
      direct: isMade && parent.isDirectAt(producing),
      sources: this.#derived.reachedAt(producing),
    };
  }

  /** @throws JechoError why it is not */
  #installed(answer: Control): void {
    if (answer.kind === "Refused") throw new JechoError(errorCode(answer.code), answer.message);
    if (answer.kind !== "Installed")
      throw new JechoError("FRAME_UNEXPECTED", `an installation was answered by ${answer.kind}`);
    this.#derived.declares(answer.schema, answer.reads);
  }

  /** @param process that it ran in the stead of; 0 for none */
  #uninstall(maker: Connection, process: number): void {
    maker.send({ kind: "Remove", derived: this.#derived.channel.number, process });
  }
}
