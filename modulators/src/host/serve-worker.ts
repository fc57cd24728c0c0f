import { type ErrorCode, JechoError } from "@jecho/shared";
import { parseFrame } from "@jecho/shared/internal";
import { type QuickJsPlace, quickJsEngine } from "../sandbox/quickjs.ts";
import type { Engine, Limits } from "../sandbox/sandbox.ts";
import { HostCore } from "./core.ts";

/** A worker's side of its channel to who started it. */
export interface WorkerPort {
  post(bytes: Uint8Array<ArrayBuffer>): void;
  /** Says why it can do no more, and waits for its end. A page's worker is not heard otherwise when a promise of it fails. */
  fail(failure: WorkerFailure): void;
  /** Ends the worker. */
  close(): void;
}

/** Why a worker can do no more. */
export interface WorkerFailure {
  readonly code: ErrorCode;
  readonly message: string;
}

/** First the limits; then frames, each in memory of its own; undefined says that no more will come. */
export type WorkerMessage = { readonly limits: Limits } | Uint8Array<ArrayBuffer> | undefined;

/**
 * The modulator host in a worker, with QuickJS. Frames are acted on one after the other.
 *
 * @returns takes the messages as they come
 */
export function serveWorker(port: WorkerPort, place: QuickJsPlace): (message: WorkerMessage) => void {
  let engine: Engine;
  let core: HostCore;
  let last: Promise<void> = Promise.resolve();

  async function take(message: WorkerMessage): Promise<void> {
    if (message === undefined) return port.close();
    if (!(message instanceof Uint8Array)) {
      const watch = { enter() {}, leave() {} };
      const { limits } = message;
      engine = await quickJsEngine(place, limits.memoryMiB);
      core = new HostCore({ engine, limits, watch }, frame => port.post(frame.slice()));
      return;
    }
    await engine.prepare();
    const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
    core.act(parseFrame(view, message, 0, message.byteLength));
  }

  return message => {
    last = last.then(() => take(message));
    last.catch(thrown => {
      const { code, message } = JechoError.from(thrown, "MODULATOR_FAILED");
      port.fail({ code, message });
    });
  };
}
