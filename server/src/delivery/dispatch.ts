import { type ErrorCode, errorCode, JechoError } from "@jecho/shared";
import {
  EventsFrame,
  type Frame,
  type Hello,
  type Impaired,
  PROTOCOL,
  type Removed,
  refusal,
} from "@jecho/shared/internal";
import type { Connection } from "../connection.ts";
import type { Handovers } from "../management/handovers.ts";
import type { NameServer } from "../management/name-server.ts";
import { type OpeningLimits, Openings } from "../management/openings.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { Gathering } from "./gathering.ts";
import { Intake } from "./intake.ts";

export interface DispatchOptions extends OpeningLimits {
  readonly heartbeatMs: number;
  readonly limitBytes: number;
  /** What the gateway's process for modulators shows; undefined where it has none. */
  readonly modulatingToken: string | undefined;
}

/** What a modulator may suffer, and go on. */
const IMPAIRING: ReadonlySet<ErrorCode> = new Set(["MODULATOR_RESTARTED", "TYPE_MISMATCH"]);

/** Acts on what connections send. One arm for each kind of frame; what a connection may not send ends it. */
export class Dispatcher {
  readonly #names: NameServer;
  readonly #objects: SharedObjects;
  readonly #acknowledgements: Acknowledgements;
  readonly #handovers: Handovers;
  readonly #gathering: Gathering;
  readonly #options: DispatchOptions;
  readonly #openings: Openings;
  readonly #intake: Intake;
  #nextSession = 1;

  constructor(
    names: NameServer,
    objects: SharedObjects,
    acknowledgements: Acknowledgements,
    handovers: Handovers,
    gathering: Gathering,
    options: DispatchOptions,
  ) {
    this.#names = names;
    this.#objects = objects;
    this.#acknowledgements = acknowledgements;
    this.#handovers = handovers;
    this.#gathering = gathering;
    this.#options = options;
    this.#openings = new Openings(names, objects, options);
    this.#intake = new Intake(names, acknowledgements);
  }

  /**
   * @param message that the frame came in: there it lies in [start, end) until this returns
   * @throws JechoError that ends the connection
   */
  frame(connection: Connection, frame: Frame, message: Uint8Array, start: number, end: number): void {
    if (!connection.greeted && frame.kind !== "Hello") {
      throw new JechoError("FRAME_UNEXPECTED", `the first frame is Hello, not ${frame.kind}`);
    }
    // By its class, which is one, where the kinds of all others are found in places of many kinds.
    if (frame instanceof EventsFrame) return this.#intake.run(connection, frame);
    // What others are sent on account of this comes behind the runs before it; a position comes in its place among them.
    if (frame.kind !== "Position") this.#gathering.flush();
    switch (frame.kind) {
      case "Hello":
        return this.#hello(connection, frame);
      case "Ping":
        connection.confirm();
        return connection.send({ kind: "Pong", time: frame.time, now: Date.now() });
      case "OpenProducer":
        return this.#attempt(connection, frame.request, () => this.#openings.openProducer(connection, frame));
      case "OpenConsumer":
        return this.#attempt(connection, frame.request, () => this.#openings.openConsumer(connection, frame));
      case "CloseEndpoint":
        return this.#openings.close(connection, frame);
      case "ObjectUpdate":
        return this.#attempt(connection, 0, () =>
          this.#objects.update(connection, frame, message.subarray(start, end)),
        );
      case "OpenObject":
        return this.#attempt(connection, frame.request, () =>
          this.#objects.open(connection, this.#names.newEndpoint(), frame),
        );
      case "PullObject":
        return this.#attempt(connection, 0, () => {
          if (frame.derived === 0) this.#objects.pull(connection, frame.copy);
          else this.#objects.pullFor(connection, this.#names.derived(frame.derived), frame.object);
        });
      case "ObjectWrite":
        return this.#attempt(connection, 0, () => this.#objects.write(connection, frame));
      case "ObjectTaken":
        return this.#objects.taken(connection, frame);
      case "Ack":
        return this.#attempt(connection, 0, () => this.#acknowledgements.receive(connection, frame));
      case "WantType":
        return this.#attempt(connection, frame.request, () => {
          const { schema } = this.#names.types.find(frame.token);
          connection.send({ kind: "TypeKnown", schema, request: frame.request });
        });
      case "WantTypes":
        return this.#attempt(connection, frame.request, () => {
          const { base, derived } = this.#names.split(frame.channel);
          const manager = this.#names.find(base);
          const tokens =
            (derived === "" ? manager?.types.tokens : manager?.derivations.named(derived)?.tokens) ?? [];
          connection.send({ kind: "Types", request: frame.request, tokens });
        });
      case "Position":
        return this.#intake.position(connection, frame);
      case "GiveUp":
        return this.#acknowledgements.giveUp(connection, frame);
      case "Flow":
        return this.#names.channel(frame.derived)?.listeners.flow(connection, frame.ready);
      case "AskHandover":
        return this.#attempt(connection, frame.request, () =>
          connection.send({
            kind: "HandoverToken",
            request: frame.request,
            ...this.#handovers.offer(connection, frame.request),
          }),
        );
      case "Yielded":
      case "Noted":
      case "Installed":
      case "Refused":
        return connection.answer(frame.request, frame);
      case "Removed":
        return this.#removed(connection, frame);
      case "Impaired":
        return this.#impaired(connection, frame);
      case "Welcome":
      case "Pong":
      case "Fault":
      case "ProducerOpened":
      case "ConsumerOpened":
      case "Compare":
      case "ConsumerLost":
      case "TypeKnown":
      case "Types":
      case "Processed":
      case "Demand":
      case "Install":
      case "Remove":
      case "Drain":
      case "Placed":
      case "Taken":
      case "Replayed":
      case "Dropped":
      case "HandoverToken":
      case "Yield":
      case "Inheritance":
      case "CopyUpdate":
      case "Done":
      case "BaseType":
      case "Period":
      case "Rate":
      case "Passed":
      case "Prepare":
      case "Context":
      case "Clock":
      case "Calls":
        throw new JechoError("FRAME_UNEXPECTED", `${frame.kind} is not for a gateway`);
      default:
        frame satisfies never;
    }
  }

  /**
   * Takes everything of a lost connection out of the books.
   *
   * @param isCut the other side did not take leave: it may come back
   */
  lost(connection: Connection, isCut: boolean): void {
    connection.lost();
    this.#acknowledgements.lost(connection);
    this.#handovers.lost(connection);
    for (const consumer of [...connection.consumers]) consumer.lost(isCut);
    for (const producer of connection.producers) producer.manager.removeProducer(producer);
    this.#objects.forgetConnection(connection);
    if (this.#names.modulating === connection) this.#names.modulatingLost();
  }

  #hello(connection: Connection, { protocol, handover, modulating }: Hello): void {
    if (connection.greeted) throw new JechoError("FRAME_UNEXPECTED", "a second Hello");
    if (protocol !== PROTOCOL) {
      throw new JechoError(
        "PROTOCOL_UNSUPPORTED",
        `this gateway speaks version ${PROTOCOL}, not ${protocol}`,
      );
    }
    if (modulating !== "") {
      if (modulating !== this.#options.modulatingToken)
        throw new JechoError("MODULATORS_NOT_SERVED", "this gateway has not asked for modulators to be run");
      this.#names.modulating = connection;
      connection.willPublish();
    }
    connection.greeted = true;
    const { heartbeatMs, limitBytes } = this.#options;
    const session = String(this.#nextSession++);
    connection.send({ kind: "Welcome", session, heartbeatMs, limitBytes, now: Date.now() });
    if (handover === "") return;
    this.#handovers.take(handover, connection).then(
      inheritance => connection.send(inheritance),
      (error: unknown) => {
        const { code, message } = JechoError.from(error);
        connection.end(code === "PRODUCER_GONE" ? "HANDOVER_INVALID" : code, message);
      },
    );
  }

  #removed(connection: Connection, { derived, process, code, message }: Removed): void {
    const error = new JechoError(errorCode(code), message);
    this.#names.derived(derived)?.placements.failed(connection, process, error);
  }

  #impaired(connection: Connection, { derived: number, code, message }: Impaired): void {
    const derived = this.#names.derived(number);
    if (!IMPAIRING.has(errorCode(code)) || derived?.placements.wasAsked(connection) === false)
      throw new JechoError("FRAME_UNEXPECTED", "Impaired of what it cannot be");
    // Who runs it for its own consumers alone says nothing about others.
    if (derived?.placements.isMaker(connection)) derived.manager.modulatorImpaired(derived, code, message);
    else if (derived?.placements.isOwn(connection))
      connection.send({ kind: "Impaired", derived: number, code, message });
  }

  /** What fails inside is the asker's to know, by a coded answer; the connection goes on. */
  #attempt(connection: Connection, request: number, act: () => void | Promise<void>): void {
    const refuse = (error: unknown): void => {
      const refused = refusal(request, error);
      if (request !== 0 || refused.kind !== "Refused") connection.send(refused);
      else connection.send({ kind: "Fault", code: refused.code, message: refused.message });
    };
    try {
      const acting = act();
      if (acting !== undefined) acting.catch(refuse);
    } catch (error) {
      refuse(error);
    }
  }
}
