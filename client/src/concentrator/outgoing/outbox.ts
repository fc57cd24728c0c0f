import {
  type EventsFrame,
  encodeControl,
  type Frame,
  type Outgoing,
  parseMessage,
  sliceRun,
} from "@jecho/shared/internal";
import type { Link } from "../link.ts";
import type { Lane, Lanes } from "./lane.ts";
import type { MessageMemory } from "./message-memory.ts";
import { MESSAGE_BYTES } from "./outgoing.ts";

/** A sent run: its lane, the count of its first event and, where it is derived, the last event accounted for before it. */
interface SentRun {
  readonly lane: Lane;
  readonly raised: number;
  /** Count of the newest event before it that was not dropped; that of the event before it, where undefined. */
  readonly behind?: number;
  readonly after?: number;
}

/** A message in parts, with its runs in order. */
interface Sent {
  readonly parts: readonly Uint8Array[];
  /** Blocks of memory that nothing else uses. */
  readonly own: readonly Uint8Array[];
  readonly bytes: number;
  readonly lanes: readonly Lane[];
}

const NONE: readonly Uint8Array[] = [];
/** Most unconfirmed bytes; beyond, events wait in the ring. */
const WINDOW_BYTES = 8 << 20;
/** Most unconfirmed bytes of modulators, which do not wait, beside a message: for more a gateway ends a connection. */
const MOST_BYTES = 16 << 20;
/** Size from which on messages are sent by themselves. */
const LONG_BYTES = 64 << 10;
/** Most bytes that are gathered for one message; a single run may be larger. */
const GATHERED_BYTES = 2 * MESSAGE_BYTES;

/**
 * Keeps sent runs until the gateway has confirmed them, so that a broken connection loses nothing: on the next one each lane's
 * unconfirmed runs are sent first. Consumers recognise those that they have had by source and count.
 */
export class Outbox {
  readonly #link: Link;
  readonly #memory: MessageMemory;
  #sent: (Sent | undefined)[] = [];
  #head = 0;
  #bytes = 0;
  /** Messages that are gathered into one. */
  #gathered: Uint8Array[] = [];
  #gatheredOwn: Uint8Array[] = [];
  #gatheredRuns: SentRun[] = [];
  #gatheredBytes = 0;
  #isGathering = false;
  /** Whether the gateway was asked to confirm everything sent so far. */
  #isAsked = false;

  /** @param memory of messages, to which it is given back once they are confirmed */
  constructor(link: Link, memory: MessageMemory) {
    this.#link = link;
    this.#memory = memory;
  }

  /** Whether so much is unconfirmed that more should wait. */
  get isFull(): boolean {
    return this.#bytes > WINDOW_BYTES;
  }

  /** Whether everything is confirmed. */
  get isEmpty(): boolean {
    return this.#head === this.#sent.length;
  }

  /** Whether these lanes owe something, or have unconfirmed runs, which a broken connection gives back to them. */
  owes(lanes: Lanes): boolean {
    const isTheirs = (lane: Lane): boolean => lane === lanes.usual || lane === lanes.urgent;
    return (
      lanes.owe ||
      this.#gatheredRuns.some(({ lane }) => isTheirs(lane)) ||
      this.#sent.some(sent => sent?.lanes.some(isTheirs))
    );
  }

  /** Gathers what is sent while this acts, to go out together; within another such act, at the end of either. */
  together<R>(act: () => R): R {
    const wasGathering = this.#isGathering;
    this.#isGathering = true;
    try {
      return act();
    } finally {
      this.#isGathering = wasGathering;
      this.release();
    }
  }

  /**
   * Sends a message as `send` does, but `together` with others. A long message is not copied for it: it goes by itself,
   * behind them, where the connection takes no parts.
   *
   * @param isOwn whether nothing else uses its memory
   * @returns as `send`
   */
  gather(message: Uint8Array, runs: readonly SentRun[], isOwn: boolean): boolean {
    if (!this.#link.isLive) return false;
    if (this.#gatheredBytes + message.byteLength > GATHERED_BYTES) this.release();
    const { byteLength } = message;
    if (this.#isTooMuch(byteLength) || (byteLength >= LONG_BYTES && !this.#link.takesParts)) {
      this.release();
      return this.send([message], runs, isOwn ? [message] : NONE);
    }
    this.#gathered.push(message);
    if (isOwn) this.#gatheredOwn.push(message);
    for (const run of runs) this.#gatheredRuns.push(run);
    this.#gatheredBytes += message.byteLength;
    if (!this.#isGathering) this.release();
    return true;
  }

  /** Sends the gathered messages now. */
  release(): void {
    const gathered = this.#gathered;
    if (gathered.length === 0) return;
    const runs = this.#gatheredRuns;
    const own = this.#gatheredOwn;
    this.#gathered = [];
    this.#gatheredOwn = [];
    this.#gatheredRuns = [];
    this.#gatheredBytes = 0;
    this.send(gathered, runs, own);
  }

  /**
   * Sends a message, in parts of whole runs.
   *
   * @param own parts whose memory nothing else uses
   * @returns false where there is no connection, or one of the events is dropped
   */
  send(parts: readonly Uint8Array[], runs: readonly SentRun[], own = NONE): boolean {
    if (!this.#link.isLive) return false;
    let bytes = 0;
    for (const part of parts) bytes += part.byteLength;
    if (this.#isTooMuch(bytes)) return this.#sendApart(parts, runs);
    this.#sendNow(parts, runs, own, bytes);
    return true;
  }

  #isTooMuch(bytes: number): boolean {
    const { limitBytes } = this.#link;
    return bytes > limitBytes || this.#bytes > MOST_BYTES + limitBytes;
  }

  #sendNow(
    parts: readonly Uint8Array[],
    runs: readonly SentRun[],
    own: readonly Uint8Array[],
    bytes: number,
  ): void {
    const lanes: Lane[] = [];
    // A process that begins to raise on many channels states all its positions in one message.
    const positions: Uint8Array[] = [];
    for (const run of runs) {
      const { lane, raised, behind = raised - 1, after } = run;
      if (!lane.isPlaced)
        for (const position of placings(lane, behind, after)) positions.push(encodeControl(position));
      lanes.push(lane);
    }
    if (positions.length > 0) this.#link.sendMessage(positions);
    this.#sent.push({ parts, own, bytes, lanes });
    this.#bytes += bytes;
    this.#isAsked = false;
    this.#link.sendMessage(parts);
  }

  /** Sends each run by itself, in pieces where it is too large, and a position instead of what is dropped. */
  #sendApart(parts: readonly Uint8Array[], runs: readonly SentRun[]): boolean {
    let isWhole = true;
    let next = 0;
    const sendRun = (run: SentRun, frame: EventsFrame): void => {
      const { count, raised, after, accounted } = frame;
      const { lane } = run;
      const half = count >> 1;
      const isMuch = this.#isTooMuch(0) && lane.coverage !== undefined;
      const isLarge = frame.end - frame.start > this.#link.limitBytes;
      if (isLarge && !isMuch && half > 0) {
        sendRun(run, sliceRun(frame, 0, half));
        sendRun({ lane, raised: raised + half, after }, sliceRun(frame, half));
      } else if (isLarge || isMuch) {
        this.place(lane, raised + count - 1, accounted);
        isWhole = false;
      } else this.#sendNow([frame.raw()], [run], NONE, frame.end - frame.start);
    };
    for (const part of parts)
      parseMessage(part, frame => {
        const run = runs[next++];
        if (run !== undefined && frame.kind === "Events") sendRun(run, frame);
      });
    return isWhole;
  }

  /** Asks the gateway, which confirms a few times a second, to confirm now, because a caller waits. */
  askForConfirmation(): void {
    if (this.isEmpty || this.#isAsked) return;
    this.#isAsked = true;
    this.#link.send({ kind: "Ping", time: performance.now() });
  }

  /** Sends a lane's position, behind its sent runs. @param accounted as `SentRun.after` */
  place(lane: Lane, raised = lane.raised, accounted?: number): void {
    this.release();
    for (const position of placings(lane, raised, accounted)) this.#link.send(position);
  }

  /** Sends the positions that this tells in one message. */
  placeTogether(act: () => void): void {
    this.#link.together(act);
  }

  /** The gateway has confirmed this many more messages. */
  taken(messages: number): void {
    for (let i = 0; i < messages && this.#head < this.#sent.length; i++) {
      const { bytes, own } = this.#sent[this.#head] as Sent;
      // The message is freed now; its slot only when the list is cut.
      this.#sent[this.#head++] = undefined;
      this.#bytes -= bytes;
      for (const part of own) this.#memory.giveBack(part);
    }
    if (this.#head === this.#sent.length || this.#head > 1024) {
      this.#sent = this.#sent.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The connection broke: unconfirmed runs go back to their lanes. */
  interrupted(): void {
    for (const { parts, lanes } of this.#sent.slice(this.#head) as Sent[]) {
      let run = 0;
      const take = (frame: Frame): void => {
        const lane = lanes[run++];
        if (frame.kind !== "Events" || lane === undefined) return;
        // Its numbers will change, and modulators here may not have finished the run.
        const copy = frame.copy();
        // The producer was told that its waiting failed; the event itself is still sent.
        copy.forgetSync();
        copy.goAgain();
        this.hold(lane, copy);
      };
      for (const part of parts) parseMessage(part, take);
    }
    this.#sent = [];
    this.#head = 0;
    this.#bytes = 0;
  }

  /** Keeps a run until its lane has a connection again. */
  hold(lane: Lane, frame: EventsFrame): void {
    lane.isPlaced = false;
    lane.hold(frame);
  }

  /** Sends the lane's position and unconfirmed runs: its events are wanted again. @returns the runs, with their present numbers */
  resume(lane: Lane): readonly EventsFrame[] {
    const frames = lane.takeUnconfirmed();
    const [first] = frames;
    if (first === undefined) {
      this.place(lane);
      return frames;
    }
    this.place(lane, first.raised - 1, first.after);
    for (const frame of frames) frame.readdress(lane.channel, lane.producer);
    this.send(
      frames.map(frame => frame.raw()),
      frames.map(({ raised, after }) => ({ lane, raised, after })),
    );
    // Its modulator may have been through more without letting anything pass, or later events were dropped.
    const last = frames.at(-1) as EventsFrame;
    if (lane.coverage?.isBehind || lane.raised >= last.raised + last.count) this.place(lane);
    return frames;
  }
}

/** A lane's position at the time of sending, behind the one where the connection broke if events between were never sent. */
function* placings(lane: Lane, raised: number, accounted?: number): Generator<Outgoing> {
  const { leftAt, coverage } = lane;
  lane.leftAt = undefined;
  const from = coverage === undefined ? raised : (accounted ?? coverage.start);
  if (leftAt !== undefined && leftAt < from)
    yield coverage === undefined ? placing(lane, leftAt) : placing(lane, raised, leftAt);
  yield placing(lane, raised, accounted);
}

/** A message with a lane's position. */
function placing(lane: Lane, raised: number, accounted?: number): Outgoing {
  lane.isPlaced = true;
  const { channel, producer, urgent, source, coverage } = lane;
  const position = {
    kind: "Position",
    channel,
    producer,
    urgent,
    source: source.id,
    raised: BigInt(raised),
  } as const;
  if (coverage === undefined) return position;
  const { start, through } = coverage;
  if (accounted === undefined) coverage.said();
  const [after, until] = accounted === undefined ? [start, through] : [accounted, accounted];
  return { ...position, origin: coverage.source.id, after: BigInt(after), through: BigInt(until) };
}
