import type { JechoError } from "@jecho/shared";
import { type ConsumerOpened, FROM } from "@jecho/shared/internal";
import { Successor } from "../incoming/successor.ts";
import type { LateProduction } from "../late-production.ts";
import type { Link } from "../link.ts";
import type { ConsumerEndpoint } from "./endpoint.ts";
import { type Change, comingOf, type Reset } from "./endpoint-states.ts";

export interface ModulatorChangesParts {
  readonly link: Link;
  readonly production: LateProduction;
  readonly nextRequest: () => number;
}

/** The gateway has opened a consumer. @param isLost whether it has ended the one that this replaces */
type Entered = (consumer: ConsumerEndpoint, opened: ConsumerOpened, isLost: boolean) => void;

/** Changes consumers' modulators. The present one goes on until the next one is installed, and it has made all that it owes. */
export class ModulatorChanges {
  readonly #parts: ModulatorChangesParts;
  readonly #entered: Entered;

  constructor(parts: ModulatorChangesParts, entered: Entered) {
    this.#parts = parts;
    this.#entered = entered;
  }

  /** A consumer's modulator is to be another one. */
  reset(consumer: ConsumerEndpoint, { reset, modulator }: Reset): void {
    consumer.resets.push({ reset, modulator });
    this.askNext(consumer);
  }

  /**
   * Asks for the newest reset. Earlier ones are answered with it or, where it is refused, asked for in their turn: the result is the same
   * as if each had waited for the one before it.
   */
  askNext(consumer: ConsumerEndpoint): void {
    const { open, past } = consumer;
    const next = consumer.resets.at(-1);
    // Events from while it was away are still for the present pair.
    const isOwed = past?.isOwed || (open?.is === "replaying" && open.comesBack);
    if (next !== undefined && !isOwed && open?.change === undefined) this.ask(consumer, next);
  }

  /** @param compared the newest derived channel that the modulator has been compared with */
  ask(consumer: ConsumerEndpoint, reset: Reset, compared = 0): void {
    const { open, epoch, from: asked } = consumer;
    if (open === undefined) return;
    const request = this.#parts.nextRequest();
    consumer.become({ ...open, change: { reset, awaits: { request } } });
    // It has had the past that it asked for, but not the newest event of the new pair.
    const from = { from: asked?.from === FROM.last ? FROM.last : FROM.now, epoch, seq: 0n, at: 0, speed: 0 };
    // The name stays with the old modulator's output, for those who subscribed to that.
    this.#parts.link.send(consumer.opening({ request, modulator: reset.modulator, as: "", from, compared }));
  }

  /** The channel of a consumer's next modulator is open. Its output waits until the present one has made what it owes. */
  opened(consumer: ConsumerEndpoint, opened: ConsumerOpened): void {
    const { open, past } = consumer;
    // A consumer that leaves a past in the middle, or begins with the newest, is owed nothing.
    const isSeamless = open?.is === "live" && past === undefined && opened.replay === 0;
    if (!isSeamless || open.change === undefined || open.channelNumber === opened.channel)
      return this.#entered(consumer, opened, false);
    const { consumer: number, channel: channelNumber } = opened;
    const successor = new Successor(opened, consumer.tracker, () => {
      if (consumer.successor === successor && successor.isDue()) this.succeed(consumer, false);
    });
    const { reset } = open.change;
    consumer.become({ ...open, change: { reset, awaits: { number, channelNumber, successor } } });
    successor.check();
  }

  /** The next modulator takes the place of the present one. @param isLost whether the gateway has ended that one */
  succeed(consumer: ConsumerEndpoint, isLost: boolean): void {
    const { successor } = consumer;
    if (successor === undefined) return;
    this.#entered(consumer, successor.opened, isLost);
    successor.held.hand();
  }

  /** The gateway refuses the next modulator, or has ended it: the present one goes on. */
  refused(consumer: ConsumerEndpoint, { reset }: Change, error: JechoError): void {
    const { open, id: endpoint, listener } = consumer;
    consumer.resets = consumer.resets.filter(other => other !== reset);
    if (open !== undefined) consumer.become({ ...open, change: undefined });
    listener.notify({ is: "refused", endpoint, reset: reset.reset, error });
    this.askNext(consumer);
  }

  /** Leaves the channel of the next modulator, where that is open already. */
  leave(consumer: ConsumerEndpoint): void {
    const coming = comingOf(consumer.open);
    if (coming === undefined) return;
    this.#parts.link.send({ kind: "CloseEndpoint", endpoint: coming.number });
    this.#parts.production.parts?.demands.left(coming.channelNumber);
  }
}
