import { type ErrorCode, errorCode, JechoError } from "@jecho/shared";
import {
  type Control,
  EventsFrame,
  type Frame,
  type Hello,
  type Impaired,
  PROTOCOL,
  type Removed,
  refusal,
  type Tiered,
} from "@jecho/shared/internal";
import { type Access, tell } from "../access/access.ts";
import type { AuditLog } from "../access/audit-log.ts";
import { needsOf } from "../access/needs.ts";
import type { Need } from "../access/rights.ts";
import { ANYBODY, type Subject } from "../access/subject.ts";
import type { AllGateways, PartOfAnswer } from "../cluster/answers.ts";
import type { ClientConnection } from "../connections/client-connection.ts";
import type { Portions } from "../connections/portions.ts";
import type { KnownLimits } from "../gateway/gateway-limits.ts";
import type { Handovers } from "../management/handovers.ts";
import type { NameServer } from "../management/name-server.ts";
import { GatewayOpenings } from "../management/openings.ts";
import type { Overviews } from "../management/overview.ts";
import { reasonSaid } from "../management/said.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { Acknowledgements } from "./acknowledgements.ts";
import type { Gathering } from "./gathering.ts";
import { Intake } from "./intake.ts";

/** Parts of a gateway that act on frames, and settings. */
export interface DispatcherParts {
  readonly names: NameServer;
  readonly objects: SharedObjects;
  readonly acknowledgements: Acknowledgements;
  readonly handovers: Handovers;
  readonly gathering: Gathering;
  readonly access: Access;
  readonly audit: AuditLog | undefined;
  readonly portions: Portions;
  readonly overviews: Overviews;
  readonly allGateways: AllGateways;
  readonly heartbeatMs: number;
  /** The gateway's. */
  readonly identity: string;
  readonly limits: KnownLimits;
  /** Token of the gateway's own process for modulators; undefined where there is none. */
  readonly modulatingToken: string | undefined;
}

/** Codes of events after which a modulator goes on. */
const IMPAIRING: ReadonlySet<ErrorCode> = new Set(["MODULATOR_RESTARTED", "TYPE_MISMATCH"]);

/** Acts on frames, with one arm for each kind that clients send. A frame that a connection may not send ends it. */
export class Dispatcher {
  readonly #parts: DispatcherParts;
  readonly #openings: GatewayOpenings;
  readonly #intake: Intake;

  constructor(parts: DispatcherParts) {
    this.#parts = parts;
    this.#openings = new GatewayOpenings(parts.names, parts.objects, parts.portions, parts.limits);
    this.#intake = new Intake(parts.names, parts.acknowledgements);
  }

  /**
   * @param message the message with the frame at [start, end), valid until this returns
   * @throws JechoError that ends the connection
   */
  frame(connection: ClientConnection, frame: Frame, message: Uint8Array, start: number, end: number): void {
    if (connection.subject === undefined && frame.kind !== "Hello") {
      throw new JechoError("FRAME_UNEXPECTED", `the first frame is Hello, not ${frame.kind}`);
    }
    // By its class, which is one, where the kinds of all others are found in places of many kinds.
    if (frame instanceof EventsFrame) return this.#intake.run(connection, frame);
    // Messages that this frame causes go behind the runs before it; a position goes in order among them.
    if (frame.kind !== "Position") this.#parts.gathering.flush();
    switch (frame.kind) {
      case "Hello":
        return this.#hello(connection, frame);
      case "Ping":
        return connection.pong(frame.time);
      case "OpenProducer":
        return this.#attempt(connection, frame, () => this.#openings.openProducer(connection, frame));
      case "OpenConsumer":
        return this.#attempt(connection, frame, () => this.#openings.openConsumer(connection, frame));
      case "CloseEndpoint":
        return this.#openings.close(connection, frame);
      case "ObjectUpdate":
        return this.#attempt(connection, frame, () =>
          this.#parts.objects.update(connection, frame, message.subarray(start, end)),
        );
      case "OpenObject":
        return this.#attempt(connection, frame, () =>
          this.#parts.objects.open(connection, this.#parts.names.newEndpoint(), frame),
        );
      case "PullObject":
        return this.#attempt(connection, frame, () => {
          if (frame.derived === 0) this.#parts.objects.pull(connection, frame.copy);
          else
            this.#parts.objects.pullFor(connection, this.#parts.names.derived(frame.derived), frame.object);
        });
      case "ObjectWrite":
        return this.#attempt(connection, frame, () => this.#parts.objects.write(connection, frame));
      case "ObjectTaken":
        return this.#parts.objects.taken(connection, frame);
      case "Ack":
        return this.#attempt(connection, frame, () =>
          this.#parts.acknowledgements.receive(connection, frame),
        );
      case "WantType":
        return this.#attempt(connection, frame, () => {
          const { schema } = this.#parts.names.types.find(frame.token);
          connection.send({ kind: "TypeKnown", schema, request: frame.request });
        });
      case "WantTypes":
        return this.#attempt(connection, frame, () => {
          const { base, derived } = this.#parts.names.split(frame.channel);
          const manager = this.#parts.names.find(base);
          const tokens =
            (derived === "" ? manager?.types.tokens : manager?.derivations.named(derived)?.tokens) ?? [];
          connection.send({ kind: "Types", request: frame.request, tokens });
        });
      case "Position":
        return this.#intake.position(connection, frame);
      case "Departed":
        return this.#attempt(connection, frame, () => this.#openings.departed(connection, frame));
      case "GiveUp":
        return this.#parts.acknowledgements.giveUp(connection, frame);
      case "Flow":
        return this.#parts.names.channel(frame.derived)?.listeners.flow(connection, frame.ready);
      case "AskHandover":
        return this.#attempt(connection, frame, () => {
          const { request } = frame;
          this.#tell(connection, {
            kind: "HandoverToken",
            request,
            ...this.#parts.handovers.offer(connection, request),
          });
        });
      case "Token":
        return this.#attempt(connection, frame, async () => {
          await this.#parts.access.renew(connection, frame.token);
          this.#parts.allGateways.renewed(connection, frame.token);
        });
      case "Kick":
        return this.#attempt(connection, frame, () => {
          const connections = this.#parts.access.kick(frame.subject, connection);
          this.#tell(connection, { kind: "Kicked", request: frame.request, connections });
        });
      case "WantOverview":
        return this.#attempt(connection, frame, async () => {
          const overview = await this.#parts.overviews.of(frame.pattern, connection.subject ?? ANYBODY);
          this.#tell(connection, { kind: "Overview", request: frame.request, ...overview });
        });
      case "Surveyed":
      case "Yielded":
      case "Noted":
      case "Installed":
      case "Refused":
        return connection.answer(frame.request, frame);
      case "Removed":
        return this.#removed(connection, frame);
      case "Impaired":
        return this.#impaired(connection, frame);
      case "Tiered":
        return this.#tiered(connection, frame);
      default:
        throw new JechoError("FRAME_UNEXPECTED", `${frame.kind} is not for a gateway`);
    }
  }

  /**
   * Removes everything of a lost connection, in portions: it may have very many endpoints.
   *
   * @param isCut whether the other side did not close it in order, and may come back
   */
  lost(connection: ClientConnection, isCut: boolean): void {
    connection.lost(isCut);
    this.#parts.portions.begin(connection, this.#part(connection, isCut));
  }

  *#part(connection: ClientConnection, isCut: boolean): Generator<void> {
    yield* this.#parts.handovers.lost(connection);
    for (const consumer of [...connection.consumers]) yield consumer.lost(isCut);
    for (const producer of connection.producers) {
      connection.keep(-producer.keptBytes);
      yield producer.manager.removeProducer(producer);
    }
    this.#parts.names.processes.left(connection);
    this.#parts.acknowledgements.lost(connection);
    this.#parts.objects.forgetConnection(connection);
    this.#parts.names.modulatingLost(connection);
    // Nobody answers what was asked of it meanwhile.
    connection.lost(isCut);
  }

  #hello(connection: ClientConnection, hello: Hello): void {
    const { protocol, modulating, token, inquires } = hello;
    if (connection.subject !== undefined) throw new JechoError("FRAME_UNEXPECTED", "a second Hello");
    if (protocol !== PROTOCOL) {
      throw new JechoError(
        "PROTOCOL_UNSUPPORTED",
        `this gateway speaks version ${PROTOCOL}, not ${protocol}`,
      );
    }
    if (inquires) {
      // Answered without a token: who reaches the address may know which gateway it is.
      this.#sendWelcome(connection);
      return connection.end("CLOSED", "asked and answered");
    }
    if (modulating !== "") {
      if (modulating !== this.#parts.modulatingToken)
        throw new JechoError("MODULATORS_NOT_SERVED", "this gateway has not asked for modulators to be run");
      connection.willPublish();
      // Its messages and memory are on account of other parties.
      connection.parties = [];
      this.#welcome(connection, hello, ANYBODY);
      return this.#parts.names.modulatingCame(connection);
    }
    this.#parts.access.greet(connection, token, subject => this.#welcome(connection, hello, subject));
  }

  #welcome(connection: ClientConnection, { handover, name }: Hello, subject: Subject): void {
    connection.subject = subject;
    this.#parts.audit?.connected(connection, name);
    this.#sendWelcome(connection);
    tell(connection, subject);
    const part = handover === "" ? undefined : this.#parts.allGateways.takeOver(connection, handover);
    if (part !== undefined) this.takeOver(connection, part);
  }

  /** A client goes on with another one's session. @param part this gateway's, of the token */
  takeOver(connection: ClientConnection, part: string): void {
    this.#parts.handovers.take(part, connection).then(
      inheritance => this.#tell(connection, inheritance),
      (error: unknown) => {
        const { code, message } = JechoError.from(error);
        connection.end(code === "PRODUCER_GONE" ? "HANDOVER_INVALID" : code, message);
      },
    );
  }

  /** Tells this gateway's answer, or its part of all gateways'. */
  #tell(connection: ClientConnection, part: PartOfAnswer): void {
    if (!this.#parts.allGateways.join(connection, part)) connection.send(part);
  }

  #sendWelcome(connection: ClientConnection): void {
    const { identity: gateway, heartbeatMs, limits } = this.#parts;
    const { limitBytes } = limits;
    connection.send({ kind: "Welcome", gateway, heartbeatMs, limitBytes, now: Date.now() });
  }

  #removed(connection: ClientConnection, { derived, process, code, message }: Removed): void {
    const error = new JechoError(errorCode(code), reasonSaid(message));
    this.#parts.names.derived(derived)?.placements.failed(connection, process, error);
  }

  #impaired(connection: ClientConnection, { derived: number, code, message }: Impaired): void {
    const derived = this.#parts.names.derived(number);
    if (!IMPAIRING.has(errorCode(code)) || derived?.placements.wasAsked(connection) === false)
      throw new JechoError("FRAME_UNEXPECTED", "Impaired of what it cannot be");
    // A process that runs it for its own consumers speaks for no other.
    if (derived?.placements.isMaker(connection))
      derived.manager.derivedChannels.impaired(derived, code, message);
    else if (derived?.placements.isOwn(connection))
      connection.send({ kind: "Impaired", derived: number, code, message });
  }

  #tiered(connection: ClientConnection, { derived: number, process, tier, tierWhy }: Tiered): void {
    const placements = this.#parts.names.derived(number)?.placements;
    if (placements?.wasAsked(connection) === false)
      throw new JechoError("FRAME_UNEXPECTED", "Tiered of a modulator that it was not asked to install");
    placements?.tiered(connection, process, tier, tierWhy);
  }

  /** Acts on a request. A missing right or a failure is answered by its code; the connection goes on. */
  #attempt(connection: ClientConnection, frame: Control, act: () => void | Promise<void>): void {
    const request = "request" in frame ? frame.request : 0;
    const { subject = ANYBODY, consumers } = connection;
    const isWatched = subject !== ANYBODY || this.#parts.audit !== undefined;
    let needs: readonly Need[] = [];
    const refuse = (error: unknown): void => {
      this.#parts.audit?.refused(connection, frame, error);
      this.#parts.names.counts.refused(error);
      const refused = refusal(request, error);
      if (request !== 0 || refused.kind !== "Refused") connection.send(refused);
      else connection.send({ kind: "Fault", code: refused.code, message: refused.message });
    };
    try {
      if (isWatched) needs = needsOf(frame, consumers);
      for (const need of needs) subject.check(...need);
      const acting = act();
      if (acting === undefined) this.#parts.audit?.did(connection, frame, needs);
      else acting.then(() => this.#parts.audit?.did(connection, frame, needs), refuse);
    } catch (error) {
      refuse(error);
    }
  }
}
