/** The modulator host in a page's worker or a thread of Node, with QuickJS. Frames are acted on one after the other. */
import { type ErrorCode, JechoError } from "@jecho/shared";
import { parseFrame } from "@jecho/shared/internal";
import { quickJsEngine } from "../../sandbox/quickjs.ts";
import type { Engine, Limits } from "../../sandbox/sandbox.ts";
import { HostCore } from "./core.ts";

/** Why a worker cannot go on. */
export interface WorkerFailure {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Messages to the worker: first the limits, then frames with their own memory, last null. */
export type WorkerMessage = { readonly limits: Limits } | Uint8Array<ArrayBuffer> | null;

/** A way for messages in both directions: the page's worker itself, or a port. */
interface MessageWay {
  onmessage: ((event: { data: WorkerMessage; ports: readonly MessageWay[] }) => void) | null;
  postMessage(message: Uint8Array | WorkerFailure | null, transfer: ArrayBuffer[]): void;
}

const scope = globalThis as unknown as MessageWay & { process?: NodeJS.Process; close(): void };
// Loaded by name: a program that imports it could not be loaded in a page.
const thread = scope.process?.getBuiltinModule?.("node:worker_threads").parentPort;
let way: MessageWay = (thread as unknown as MessageWay | undefined) ?? scope;

const nowMs = (): number => performance.now();
/** A page's worker has no clock of its processor time. */
const cpuMs = thread ? threadCpuMs : nowMs;

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

let engine: Engine;
let core: HostCore;
let last: Promise<void> = Promise.resolve();

function take(message: WorkerMessage): void {
  last = last.then(() => act(message));
  last.catch(thrown => {
    const { code, message } = JechoError.from(thrown, "MODULATOR_FAILED");
    // A rejected promise of a page's worker is reported to nobody else.
    way.postMessage({ code, message }, []);
  });
}

async function act(message: WorkerMessage): Promise<void> {
  if (message === null) return thread ? process.exit(0) : scope.close();
  if (!(message instanceof Uint8Array)) {
    const watch = { enter() {}, leave() {} };
    const { limits } = message;
    engine = await quickJsEngine({ cpuMs, nowMs }, limits.memoryMiB);
    core = new HostCore({ engine, limits, watch }, frame => {
      const own = frame.slice();
      way.postMessage(own, [own.buffer]);
    });
    return;
  }
  await engine.prepare();
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  core.act(parseFrame(view, message, 0, message.byteLength));
}

// Node's `onmessage` loads all of its fetch, which takes longer than the rest of the program: 40 ms.
if (thread) thread.on("message", take);
else
  scope.onmessage = ({ data, ports: [lent] }) => {
    if (lent === undefined) return take(data);
    // The page that started it lent it to another place.
    way = lent;
    lent.onmessage = ({ data }) => take(data);
  };
// Tells the page that the program was loaded.
if (!thread) scope.postMessage(null, []);
