import { laterTurn } from "#platform";
import { Concentrator } from "../concentrator/concentrator.ts";
import type { ConsumerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import type { RaisedEvents, TakeRecords } from "../concentrator/outgoing/outgoing.ts";
import type { PlaceWays } from "../concentrator/parts.ts";
import type { ConcentratorOptions } from "../options/concentrator-options.ts";
import { atEndOfTurn } from "../platform/face.ts";
import { type Status, statusNow } from "../session/status.ts";
import { Attachment } from "./attachment.ts";
import type { PortListener, SessionNotice } from "./port.ts";

/** A concentrator and its ports: one for each session of the process, or of all tabs of a browser, that shares its connection. */
export class Hub {
  /** For attachments: what acts on their requests. */
  readonly concentrator: Concentrator;
  readonly #attachments = new Set<Attachment>();
  /** Detached attachments whose last events are still to be sent. */
  readonly #leaving = new Set<Attachment>();
  #status: Status = statusNow("connecting");
  /** The gateway's identity, once there was a connection. */
  #gateway = "";
  #draining = false;
  #willDrain = false;
  #closed = false;
  readonly #ended: () => void;

  /**
   * @param ended called when no port may be attached any more
   */
  constructor(options: ConcentratorOptions, ways: PlaceWays, ended: () => void) {
    this.#ended = ended;
    this.concentrator = new Concentrator(options, this.#source(), notice => this.#tell(notice), ways);
  }

  /** Whether a port may still be attached: not when the last has gone, or the gateway will not have us. */
  get isUsable(): boolean {
    return !this.#closed && this.#status.state !== "refused";
  }

  attach(listener: PortListener): Attachment {
    const attachment = new Attachment(this, listener);
    this.#attachments.add(attachment);
    for (const schema of this.concentrator.schemas) listener.notify({ is: "type", schema });
    if (this.#gateway !== "") listener.notify({ is: "gateway", gateway: this.#gateway });
    listener.notify({ is: "status", status: this.#status });
    return attachment;
  }

  /** For attachments: their threads stop taking these consumers' events, or begin again. */
  stall(consumers: readonly ConsumerEndpoint[], stalled: boolean): void {
    this.concentrator.together(() => this.concentrator.stall(consumers, stalled));
  }

  /** For attachments: stops reading the connection, or begins again. @returns false where others have this connection, too, or it cannot be had */
  pause(attachment: Attachment, isPaused: boolean): boolean {
    const isAlone = this.#attachments.size === 1 && this.#attachments.has(attachment);
    return (isAlone || !isPaused) && this.concentrator.pause(isPaused);
  }

  /** For attachments: detaches one. With the last, the concentrator ends. Resolves when what was raised has been taken, or after 30 s. */
  async detach(attachment: Attachment): Promise<void> {
    if (!this.#attachments.delete(attachment)) return;
    if (!attachment.isEmpty) this.#leaving.add(attachment);
    this.concentrator.detach(attachment);
    attachment.silence();
    if (this.#attachments.size > 0) {
      this.drainSoon();
      return this.concentrator.through();
    }
    this.#closed = true;
    this.#ended();
    return this.concentrator.close();
  }

  drain(): void {
    // Events that a handler in this thread raises while its own event is being raised go out next.
    if (this.#draining) this.drainSoon();
    else this.concentrator.drain();
  }

  /** At the end of the turn: what one turn raises goes out together. */
  drainSoon(defer: (drain: () => void) => void = atEndOfTurn): void {
    if (this.#willDrain) return;
    this.#willDrain = true;
    defer(this.#drainNow);
  }

  readonly #drainNow = (): void => {
    this.#willDrain = false;
    this.drain();
  };

  #source(): RaisedEvents {
    const areEmpty = (attachments: Iterable<Attachment>): boolean => {
      for (const attachment of attachments) if (!attachment.isEmpty) return false;
      return true;
    };
    return {
      isEmpty: () => areEmpty(this.#attachments) && areEmpty(this.#leaving),
      drain: take => this.#drainQueues(take),
      drainSoon: () => this.drainSoon(),
    };
  }

  #drainQueues(take: TakeRecords): void {
    if (this.#draining) return;
    this.#draining = true;
    let left: Attachment | undefined;
    try {
      for (const attachment of [...this.#leaving, ...this.#attachments]) {
        // A writer that is as fast as this loop must not keep the connection's messages from being read.
        if (!attachment.drain(take)) this.drainSoon(laterTurn);
        if (attachment.isEmpty) this.#leaving.delete(attachment);
        else left ??= attachment;
      }
      // Whoever had all the room is last the next time.
      if (left !== undefined && this.#attachments.delete(left)) this.#attachments.add(left);
    } finally {
      this.#draining = false;
    }
  }

  #tell(notice: SessionNotice): void {
    if (notice.is === "gateway") this.#gateway = notice.gateway;
    if (notice.is === "status") {
      this.#status = notice.status;
      if (!this.isUsable) this.#ended();
    }
    for (const attachment of [...this.#attachments]) attachment.listener.notify(notice);
  }
}
