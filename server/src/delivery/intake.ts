import { JechoError } from "@jecho/shared";
import type { EventsFrame, Position } from "@jecho/shared/internal";
import type { Connection } from "../connections/connection.ts";
import type { ChannelManager } from "../management/channel-manager.ts";
import type { DerivedChannel } from "../management/derived-channel.ts";
import type { NameServer } from "../management/name-server.ts";
import type { GatewayProducer, ProducerOutlet } from "../management/producers.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { Channel } from "./channel.ts";
import { checkCounts } from "./lane.ts";

/** Takes runs and positions to their channels. */
export class Intake {
  readonly #names: NameServer;
  readonly #acknowledgements: Acknowledgements;

  constructor(names: NameServer, acknowledgements: Acknowledgements) {
    this.#names = names;
    this.#acknowledgements = acknowledgements;
  }

  /** A run of a channel, or of a derived one. @throws JechoError that ends the connection */
  run(connection: Connection, frame: EventsFrame): void {
    const producer = this.#names.producer(connection, frame.producer);
    if (producer === undefined) return this.#runInstead(connection, frame);
    const { channel, outlet } = producer;
    const own = outlet === undefined ? channel : sendingTo(outlet, producer);
    if (frame.channel === own?.number) {
      if (frame.token !== producer.token)
        throw new JechoError("TYPE_MISMATCH", "a run of another type than its producer's");
      return own.fanOut(frame, connection, connection.process);
    }
    if (frame.channel === channel.number)
      throw new JechoError(
        "FRAME_UNEXPECTED",
        "a run of the channel, of a producer that publishes behind it",
      );
    const derived = this.#names.derived(frame.channel);
    if (derived === undefined) {
      // Its last consumer left while this was under way, and the sender is about to be told.
      if (frame.isSync) this.#acknowledgements.unheard(frame, connection);
      return;
    }
    const isServed = derived.manager === producer.manager && derived.placements.wasAsked(connection);
    if (!isServed || !derived.mayBe(frame.token)) {
      throw new JechoError(
        "FRAME_UNEXPECTED",
        "a run of a derived channel that this producer does not serve",
      );
    }
    // The sender is about to be told that the modulator was removed.
    if (!derived.placements.isAtProducer(connection)) {
      if (frame.isSync) this.#acknowledgements.unheard(frame, connection);
      return;
    }
    derived.channel.fanOut(frame, connection, connection.process);
  }

  /**
   * Takes a producer's position in its count, on a channel or on one that a modulator derives.
   *
   * @throws JechoError that ends the connection
   */
  position(connection: Connection, position: Position): void {
    const derived = this.#names.derived(position.channel);
    const producer =
      this.#names.producer(connection, position.producer) ?? this.#standIn(connection, derived, position);
    const manager = producer?.manager ?? this.#goneBehind(connection, derived);
    if (manager === undefined) return;
    checkCounts(position.raised, position.after, position.through);
    const { channel } = manager;
    if (position.channel === channel.number) {
      if (producer?.outlet !== undefined) return;
      if (channel.position(connection, position)) manager.unmade.speaks(connection, position);
      return;
    }
    if (derived?.manager !== manager) return;
    // The gateway's own process speaks for all producers in whose stead it runs modulators.
    const isOwn = position.origin === 0n || position.origin === producer?.source;
    if (!isOwn && connection !== this.#names.modulating)
      throw new JechoError("FRAME_UNEXPECTED", "a position in what is made of another producer's events");
    if (derived.channel.position(connection, position)) derived.unmade.speaks(connection, position);
  }

  /** Takes output that was made in another process than the producer's. */
  #runInstead(connection: Connection, frame: EventsFrame): void {
    const derived = this.#names.derived(frame.channel);
    const producer = this.#standIn(connection, derived, frame);
    const manager = producer?.manager ?? this.#goneBehind(connection, derived);
    // Events of a producer that was just closed may still arrive.
    if (derived === undefined || manager === undefined) return;
    // The channel's types are forgotten with its last producer.
    if (producer === undefined) return derived.channel.fanOutLate(frame, connection);
    if (!derived.mayBe(frame.token))
      throw new JechoError("FRAME_UNEXPECTED", "a run of a type that its modulator did not declare");
    derived.channel.fanOut(frame, connection, producer.connection.process);
  }

  /** The producer in whose stead this connection runs the modulator. */
  #standIn(
    connection: Connection,
    derived: DerivedChannel | undefined,
    { producer }: { readonly producer: number },
  ): GatewayProducer | undefined {
    return derived?.placements.standIn(connection, derived.feeders.find(producer));
  }

  /** Whether the gateway's own process may still be working on events of a producer that has just gone. */
  #goneBehind(connection: Connection, derived: DerivedChannel | undefined): ChannelManager | undefined {
    return connection === this.#names.modulating ? derived?.manager : undefined;
  }
}

/** The derived channel that takes this producer's events, if any. */
function sendingTo({ derived, sending }: ProducerOutlet, { number }: GatewayProducer): Channel | undefined {
  return sending.find(number) === undefined ? undefined : derived?.channel;
}
