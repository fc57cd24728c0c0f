import type { Value } from "@jecho/modulators";
import type { Offer } from "@jecho/modulators/internal";
import type { JechoError } from "@jecho/shared";
import type { Modulator, ObjectUpdate } from "@jecho/shared/internal";

/** What a connection needs of a WebSocket, the browser's or another one. */
export interface Socket {
  binaryType: string;
  readonly bufferedAmount: number;
  onopen: ((event: never) => unknown) | null;
  onmessage: ((event: never) => unknown) | null;
  onclose: ((event: never) => unknown) | null;
  onerror: ((event: never) => unknown) | null;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
}

/** What the concentrator needs of a modulator host: see the MOE's own description of each. */
export interface Host {
  install(installation: {
    derived: number;
    channel: number;
    schema: Uint8Array | undefined;
    modulator: Modulator;
    offers?: readonly Offer[];
    context?: ReadonlyMap<string, Value>;
  }): Promise<{
    schema: Uint8Array | undefined;
    needs: readonly string[];
  }>;
  setContext(channel: number, name: string, value: Value): void;
  remove(derived: number): void;
  update(update: ObjectUpdate): void;
  enqueue(frame: Uint8Array, tag?: string): boolean;
  flow(derived: number, ready: boolean): void;
  close(): Promise<void>;
}

export interface HostEvents {
  /** @param tag the one that the run had which it was made of */
  onEvents(frame: Uint8Array, derived: number, tag: string | undefined): void;
  /** Every modulator has seen the run with this tag to its end, or is gone. */
  onDone(tag: string): void;
  onCall(derived: number, name: string, values: readonly Value[]): void;
  onRemoved(derived: number, error: JechoError): void;
}

export type HostFactory = (events: HostEvents) => Host;
