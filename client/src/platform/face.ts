import type { ModulatorOptions } from "@jecho/modulators";
import type { Tier, TierEvents } from "@jecho/modulators/internal";

/**
 * What a connection needs of a WebSocket, the browser's or another one. Binary messages come as an ArrayBuffer, or as a
 * Uint8Array at the start of its memory.
 */
export interface Socket {
  readonly bufferedAmount: number;
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: never) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  /** Up to 64 KiB are copied at once; the memory of more must stay as it is, for it may go out from where it lies. */
  send(data: Uint8Array<ArrayBuffer>): void;
  /** Sends parts as one message, each by itself copied or not as by `send`. Where it is absent they have to be joined. */
  sendParts?(parts: readonly Uint8Array[]): void;
  close(code?: number, reason?: string): void;
  /** Nothing more is read, or again; what was read before still comes. Browsers' sockets cannot do that. */
  pause?(isPaused: boolean): void;
}

/** Makes the environment that the modulators of this process run in. */
export type CreateEnvironment = (options: ModulatorOptions, events: TierEvents) => Tier;
