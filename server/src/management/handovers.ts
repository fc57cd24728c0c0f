import { randomBytes } from "node:crypto";
import { JechoError } from "@jecho/shared";
import type { HeldPlace, Inherited, Modulator } from "@jecho/shared/internal";
import type { AnswerOf } from "../cluster/answers.ts";
import type { ClientConnection } from "../connections/client-connection.ts";
import { ENDPOINT_BYTES } from "../connections/crowd.ts";
import type { SharedObjects } from "../objects/shared-objects.ts";
import type { GatewayConsumer } from "./consumer.ts";

/** Most valid tokens of one session. */
export const MOST_PER_CONNECTION = 8;
/** Most consumers of a process that hands one of its sessions over: a token takes time for each, all at once. */
const MOST_CONSUMERS = 4096;

interface HandoverOffer {
  readonly from: ClientConnection;
  /** The request for the token, by which the process knows which of its sessions is meant. */
  readonly asked: number;
  /** Consumers whose events are kept for the second device, each with the awaited consumer that stands for it. */
  readonly awaited: ReadonlyMap<GatewayConsumer, GatewayConsumer>;
  readonly timer: NodeJS.Timeout;
}

/**
 * Moves sessions from one device to another. A token is random, and valid once and for a short time; the first device
 * tells the position of each of its subscriptions, and the second goes on there.
 */
export class Handovers {
  readonly #objects: SharedObjects;
  readonly #validMs: number;
  readonly #index: number;
  readonly #offers = new Map<string, HandoverOffer>();

  /**
   * @param validMs validity of a token
   * @param index of the gateway in its cluster, where a session's token has a part of each gateway that it has something at
   */
  constructor(objects: SharedObjects, validMs: number, index = 0) {
    this.#objects = objects;
    this.#validMs = validMs;
    this.#index = index;
  }

  /** Makes a token for the session that asks for it by this request. @throws JechoError `OVERLOADED` */
  offer(from: ClientConnection, asked: number): { token: string; validMs: number } {
    const own = [...this.#offers.values()].filter(offer => offer.from === from).length;
    if (own >= MOST_PER_CONNECTION)
      throw new JechoError("OVERLOADED", `a process has at most ${MOST_PER_CONNECTION} handover tokens`);
    const open = [...from.consumers].filter(({ isOpen }) => isOpen);
    if (open.length > MOST_CONSUMERS)
      throw new JechoError(
        "OVERLOADED",
        `a process that hands a session over has at most ${MOST_CONSUMERS} consumers`,
      );
    from.checkKeeping(open.length * ENDPOINT_BYTES);
    const token = `${this.#index}-${randomBytes(24).toString("base64url")}`;
    const timer = setTimeout(() => this.#offers.delete(token), this.#validMs).unref();
    // From now on events are kept that the first device may not have handled when the token is used.
    const awaited = new Map(open.map(consumer => [consumer, consumer.awaitSuccessor(this.#validMs)]));
    this.#offers.set(token, { from, asked, awaited, timer });
    return { token, validMs: this.#validMs };
  }

  /**
   * Moves the token's session: the first device stops it and tells the position of each consumer. Other sessions
   * of that process go on.
   *
   * @returns what the second device goes on with
   * @throws JechoError `HANDOVER_INVALID`, or `TIMED_OUT` where the first device does not answer; with that the token is used up
   */
  async take(token: string, to: ClientConnection): Promise<AnswerOf<"Inheritance">> {
    const offer = this.#offers.get(token);
    if (offer === undefined || !offer.from.isOpen)
      throw new JechoError("HANDOVER_INVALID", "the handover token is unknown, used or too old");
    // A subject that may not use the token does not use it up.
    if (offer.from.subject?.name !== to.subject?.name)
      throw new JechoError("HANDOVER_INVALID", "the session to be handed over is another subject's");
    this.#offers.delete(token);
    clearTimeout(offer.timer);
    const { from, asked, awaited } = offer;
    const answer = await from.request(request => ({ kind: "Yield", request, asked }));
    if (answer.kind !== "Yielded") {
      const why = answer.kind === "Refused" ? `: ${answer.message}` : "";
      throw new JechoError("HANDOVER_INVALID", `the first device did not yield${why}`);
    }
    const places = new Map(answer.places.map(place => [place.consumer, place]));
    const subscriptions: Inherited[] = [];
    const handed: GatewayConsumer[] = [];
    for (const consumer of from.consumers) {
      const place = places.get(consumer.number);
      if (place === undefined || !consumer.isOpen) continue;
      handed.push(consumer);
      subscriptions.push(this.#inherited(consumer, place, to));
    }
    const used = handed.flatMap(({ derived }) => derived?.modulator.objects ?? []);
    const objects = this.#objects.transfer(
      from,
      to,
      answer.copies,
      // Modulators at other gateways read objects of this one, too.
      new Set([...answer.objects, ...used.map(({ object }) => object)]),
    );
    // It has been removed already: what it was given has to go to others.
    if (!to.isOpen) this.#objects.forgetConnection(to);
    for (const consumer of handed) {
      if (awaited.has(consumer)) consumer.end();
      else consumer.awaitReturn();
    }
    return { kind: "Inheritance", subscriptions, objects };
  }

  /** The session has ended: its tokens become invalid, and no other device is awaited. Yields after each of its consumers. */
  *lost(connection: ClientConnection): Generator<void> {
    for (const [token, { from, timer, awaited }] of this.#offers) {
      if (from !== connection) continue;
      clearTimeout(timer);
      this.#offers.delete(token);
      for (const successor of awaited.values()) yield successor.end();
    }
  }

  /** @param place the first device's position: the second one gets all events since, even if that is all that are kept */
  #inherited(
    { manager, derived, terms }: GatewayConsumer,
    { label, epoch, seq, sources, sinceMs }: HeldPlace,
    to: ClientConnection,
  ): Inherited {
    return {
      channel: manager.derivations.nameUnder(derived?.parent),
      // The first device may have relabelled it.
      label,
      as: terms.as,
      modulator: derived === undefined ? undefined : this.#shownTo(to, derived.modulator),
      epoch,
      seq,
      sources,
      sinceMs,
    };
  }

  /** A modulator with the newest states of its objects, as far as this device may read them. */
  #shownTo({ subject }: ClientConnection, modulator: Modulator): Modulator {
    const newest = this.#objects.withNewest(modulator);
    const objects = newest.objects.map(one =>
      subject?.may("share", one.object) === false ? { ...one, state: "{}" } : one,
    );
    return { ...newest, objects };
  }
}

/** The parts of a token by the index of their gateway. */
export function partsOf(token: string): ReadonlyMap<number, string> {
  return new Map(token.split(".").map(part => [Number.parseInt(part, 10), part]));
}
