import {
  encodeControl,
  encodeRun,
  type Frame,
  joinFrames,
  type Outgoing,
  PROTOCOL,
  parseMessage,
  SUBPROTOCOL,
} from "@jecho/shared/internal";

/** Bytes that may wait in a stranger's own socket: it is the gateway's memory that is to be filled. */
const UNSENT_BYTES = 8 << 20;
const LOOK_MS = 1;
/** A stranger that is thrown out comes back after so long. */
const AGAIN_MS = 5;
const MEBIBYTE = new Uint8Array(1 << 20);

/** A connection of one who keeps to no rules but those of WebSocket. */
export class Stranger {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<string, (frame: Frame) => void>();
  isClosed = false;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onclose = () => {
      this.isClosed = true;
      for (const resolve of this.#waiting.values()) resolve({ kind: "Ping", time: 0 });
    };
    socket.onmessage = ({ data }) => {
      if (this.#waiting.size === 0) return;
      parseMessage(new Uint8Array(data as ArrayBuffer), frame => {
        if (frame.kind === "Refused") for (const resolve of [...this.#waiting.values()]) resolve(frame);
        else this.#waiting.get(frame.kind)?.(frame);
      });
    };
  }

  /** Connects and greets. @param token "" for none */
  static async open(port: number, token: string): Promise<Stranger> {
    const socket = new WebSocket(`ws://127.0.0.1:${port}/`, SUBPROTOCOL);
    const stranger = new Stranger(socket);
    await new Promise<void>(resolve => {
      socket.onopen = () => resolve();
      socket.onerror = () => {
        stranger.isClosed = true;
        resolve();
      };
    });
    if (!stranger.isClosed) {
      stranger.say({ kind: "Hello", protocol: PROTOCOL, name: "stranger", token });
      await stranger.next("Welcome");
    } else await pause(AGAIN_MS);
    return stranger;
  }

  say(...frames: readonly Outgoing[]): void {
    this.send(joinFrames(frames.map(encodeControl)));
  }

  send(message: Uint8Array): void {
    if (!this.isClosed) this.#socket.send(message as Uint8Array<ArrayBuffer>);
  }

  /** Resolves with the next frame of this kind; undefined where something is refused, or the connection has gone. */
  next<K extends Frame["kind"]>(kind: K): Promise<Extract<Frame, { kind: K }> | undefined> {
    if (this.isClosed) return Promise.resolve(undefined);
    return new Promise(resolve => {
      this.#waiting.set(kind, frame => {
        this.#waiting.delete(kind);
        resolve(frame.kind === kind ? (frame as Extract<Frame, { kind: K }>) : undefined);
      });
    });
  }

  /** Resolves when there is room for more, or the connection has gone. */
  async room(): Promise<void> {
    do await pause(this.#socket.bufferedAmount > UNSENT_BYTES ? LOOK_MS : 0);
    while (!this.isClosed && this.#socket.bufferedAmount > UNSENT_BYTES);
  }

  /** Opens a producer. @returns what raises an event of a mebibyte */
  async produce(
    channel: string,
    opening: Partial<Extract<Outgoing, { kind: "OpenProducer" }>> = {},
  ): Promise<() => void> {
    this.say({ kind: "OpenProducer", request: 1, channel, schema: new Uint8Array(0), ...opening });
    const opened = await this.next("ProducerOpened");
    let raised = 0;
    return () => {
      if (opened === undefined) return;
      const header = { channel: opened.channel, producer: opened.producer, raised: ++raised, token: 0n };
      this.send(
        encodeRun({ ...header, parameters: 0, flags: 0 }, [
          { bytes: MEBIBYTE, start: 0, end: MEBIBYTE.byteLength },
        ]),
      );
    };
  }

  close(): void {
    this.#socket.close();
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)));
}
