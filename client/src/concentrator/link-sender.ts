import { JechoError } from "@jecho/shared";
import {
  CHECKED_SUBPROTOCOL,
  checksumOf,
  encodeControl,
  encodeForNow,
  type Frame,
  joinFrames,
  MOST_CONTROL_BYTES,
  type Outgoing,
  refusal,
} from "@jecho/shared/internal";
import type { Socket } from "../platform/face.ts";
import type { LinkTimers } from "./link-timers.ts";

const HIGH_WATER_BYTES = 4 << 20;
const LOW_WATER_BYTES = 1 << 20;
const DRAIN_POLL_MS = 10;

export interface SenderEvents {
  /** An answer in the gateway's stead. */
  onFrame(frame: Frame): void;
  /** The connection's buffers hold more than they should (false), or no longer (true). */
  onReady(ready: boolean): void;
}

/** Sends messages over the present connection, none larger than the gateway takes. */
export class LinkSender {
  readonly #timers: LinkTimers;
  readonly #events: SenderEvents;
  #socket: Socket | undefined;
  #isReady = true;
  /** Control messages that wait to go out together. */
  #gathered: Uint8Array[] | undefined;
  /** Size of the largest message that the gateway takes, as it said when it was last there. */
  limitBytes = Number.POSITIVE_INFINITY;

  constructor(timers: LinkTimers, events: SenderEvents) {
    this.#timers = timers;
    this.#events = events;
  }

  /** Whether there is room for more without letting the buffers grow. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Whether long parts of a message are sent without being copied. */
  get takesParts(): boolean {
    return this.#socket?.sendParts !== undefined;
  }

  /** Sets the connection for all that follows; undefined for none. */
  use(socket: Socket | undefined): void {
    this.#socket = socket;
  }

  /** The connection broke, and what waited in its buffers is gone. */
  lost(): void {
    this.#socket = undefined;
    if (!this.#isReady) this.#becomeReady();
  }

  control(control: Outgoing): void {
    const isAlone = this.#gathered === undefined;
    const bytes = isAlone ? encodeForNow(control) : encodeControl(control);
    const mostBytes = Math.min(this.limitBytes, MOST_CONTROL_BYTES);
    if (bytes.byteLength > mostBytes) this.#refuse(control, bytes.byteLength, mostBytes);
    else if (isAlone) this.#send([bytes]);
    else this.#gathered?.push(bytes);
  }

  /** Refuses a request that is too large for the gateway, which would end the connection for it, again after each reconnection. */
  #refuse(control: Outgoing, bytes: number, mostBytes: number): void {
    const socket = this.#socket;
    const error = new JechoError(
      "FRAME_TOO_LARGE",
      `${control.kind} of ${bytes} bytes: the gateway takes at most ${mostBytes}`,
    );
    const request = "request" in control ? (control.request ?? 0) : 0;
    const { number: code, message } = error;
    // The asker does not expect an answer before its call returns.
    queueMicrotask(() => {
      if (socket !== this.#socket) return;
      const isAsked = request !== 0 && control.kind !== "Installed";
      this.#events.onFrame(isAsked ? refusal(request, error) : { kind: "Fault", code, message, producer: 0 });
    });
  }

  /** Sends everything but messages of events that `act` causes in one message; within another such act, in that one's. */
  together(act: () => void): void {
    if (this.#gathered !== undefined) return act();
    this.#gathered = [];
    try {
      act();
    } finally {
      this.#sendGathered();
      this.#gathered = undefined;
    }
  }

  /** Sends whole frames, which are to stay as they are, in one message. */
  message(parts: readonly Uint8Array[]): void {
    this.#sendGathered();
    this.#sendParts(parts);
    if (!this.#isReady || (this.#socket?.bufferedAmount ?? 0) <= HIGH_WATER_BYTES) return;
    this.#isReady = false;
    this.#events.onReady(false);
    this.#pollDrain();
  }

  #sendGathered(): void {
    const gathered = this.#gathered;
    if (gathered === undefined || gathered.length === 0) return;
    this.#gathered = [];
    this.#sendParts(gathered);
  }

  /** Sends parts of whole frames as one message, or as several where that would be too large. */
  #sendParts(parts: readonly Uint8Array[]): void {
    let first = 0;
    let bytes = 0;
    for (const [i, { byteLength }] of parts.entries()) {
      if (i > first && bytes + byteLength > this.limitBytes) {
        this.#send(parts.slice(first, i));
        first = i;
        bytes = 0;
      }
      bytes += byteLength;
    }
    this.#send(first === 0 ? parts : parts.slice(first));
  }

  #send(frames: readonly Uint8Array[]): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    const parts = socket.protocol === CHECKED_SUBPROTOCOL ? [...frames, checksumOf(frames)] : frames;
    if (parts.length > 1 && socket.sendParts !== undefined) socket.sendParts(parts);
    else socket.send(joinFrames(parts) as Uint8Array<ArrayBuffer>);
  }

  #pollDrain(): void {
    this.#timers.after(DRAIN_POLL_MS, () => {
      if ((this.#socket?.bufferedAmount ?? 0) > LOW_WATER_BYTES) this.#pollDrain();
      else this.#becomeReady();
    });
  }

  #becomeReady(): void {
    this.#isReady = true;
    this.#events.onReady(true);
  }
}
