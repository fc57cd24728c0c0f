import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { type ErrorCode, JechoError } from "@jecho/shared";
import { isAboutMemory } from "../../sandbox/failures.ts";
import type { Limits } from "../../sandbox/sandbox.ts";
import type { Carrier, CarrierKind, CarrierListener } from "./carrier.ts";
import { confined } from "./confinement.ts";
import { GUARD, NO_ENGINE } from "./watch.ts";

const TROUBLE_CHARACTERS = 4000;

// Memory that one call frees the next one takes: without this the C library gives it back to the system each time, and
// filling new pages costs more than copying the events.
const MEMORY = {
  MALLOC_MMAP_THRESHOLD_: "67108864",
  MALLOC_TRIM_THRESHOLD_: "268435456",
  MALLOC_ARENA_MAX: "2",
};

/** @param onNoEngine called when a host ends because isolated-vm does not load there */
export function childProcess(onNoEngine: () => void): CarrierKind {
  return {
    // The host's own guard thread notices earlier.
    hungMs: 5000,
    start: (limits, limitBytes, listener) => new Child(limits, limitBytes, listener, onNoEngine),
  };
}

/** The modulator host as a process. */
class Child implements Carrier {
  readonly pid: number | undefined;
  readonly #process: ChildProcess;
  /** Undefined where the process could not be started for want of file descriptors. */
  readonly #in: Duplex | undefined;
  readonly #out: Duplex | undefined;
  readonly #limitBytes: number;
  readonly #listener: CarrierListener;
  readonly #onNoEngine: () => void;
  #isCorked = false;
  /** The beginning of a frame whose rest has not come. */
  #buffer = new Uint8Array(64 << 10);
  #filled = 0;
  #trouble = "";
  #ended = false;
  /** Whether the host keeps the producer's process alive. */
  #isHeld = true;

  constructor(limits: Limits, limitBytes: number, listener: CarrierListener, onNoEngine: () => void) {
    this.#limitBytes = limitBytes;
    this.#listener = listener;
    this.#onNoEngine = onNoEngine;
    const main = fileURLToPath(new URL("../../generated/main.mjs", import.meta.url));
    // None of the producer's environment variables: a modulator that escapes finds no secret there.
    const env = {
      TZ: "UTC",
      ...MEMORY,
      ...(process.platform === "win32" && { SystemRoot: process.env.SystemRoot }),
    };
    // A producer that forbids native code forbids it here, too.
    const further = process.execArgv.includes("--no-addons") ? ["--no-addons"] : [];
    const { file, flags } = confined(main);
    this.#process = spawn(file, [...flags, ...further, main, JSON.stringify(limits), String(process.pid)], {
      env,
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    this.pid = this.#process.pid;
    const stdio = this.#process.stdio as ChildProcess["stdio"] | undefined;
    this.#in = stdio?.[3] as Duplex | undefined;
    this.#out = stdio?.[4] as Duplex | undefined;
    const ignore = (): void => {};
    this.#in?.on("error", ignore);
    this.#out?.on("error", ignore).on("data", (bytes: Uint8Array) => this.#take(bytes));
    this.#process.stderr?.on("data", (text: Buffer) => {
      this.#trouble = (this.#trouble + text.toString()).slice(-TROUBLE_CHARACTERS);
    });
    this.#process.on("error", error => this.#end(null, null, error.message));
    // All that it wrote has been read by then.
    this.#process.on("close", (code, signal) => this.#end(code, signal, this.#trouble));
  }

  send(frame: Uint8Array): void {
    const input = this.#in;
    if (!input?.writable) return;
    // Frames of one turn go out in one write: each write wakes the host.
    if (!this.#isCorked) {
      this.#isCorked = true;
      input.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        input.uncork();
      });
    }
    input.write(frame);
  }

  finish(): void {
    this.#in?.end();
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  hold(held: boolean): void {
    if (held === this.#isHeld) return;
    this.#isHeld = held;
    const handles = [this.#process, this.#process.stderr, this.#in, this.#out] as unknown as (
      | { ref(): void; unref(): void }
      | undefined
    )[];
    for (const handle of handles) held ? handle?.ref() : handle?.unref();
  }

  #end(code: number | null, signal: NodeJS.Signals | null, trouble: string): void {
    if (this.#ended) return;
    this.#ended = true;
    if (code === NO_ENGINE) this.#onNoEngine();
    // The system may have killed it for want of memory, and so may anybody with the right to.
    this.#listener.exit({
      error: causeOf({ code, signal, trouble }),
      blame: signal === "SIGKILL" ? "anybody" : "modulator",
    });
  }

  #take(bytes: Uint8Array): void {
    // Each chunk has its own memory and mostly consists of whole frames, which are not copied.
    const taken = this.#filled === 0 && bytes.byteOffset % 8 === 0 ? this.#visit(bytes, false) : 0;
    const rest = bytes.byteLength - taken;
    if (rest === 0) return;
    if (this.#filled + rest > this.#buffer.byteLength) {
      const larger = new Uint8Array(2 * (this.#filled + rest));
      larger.set(this.#buffer.subarray(0, this.#filled));
      this.#buffer = larger;
    }
    this.#buffer.set(bytes.subarray(taken), this.#filled);
    this.#filled += rest;
    const at = this.#visit(this.#buffer.subarray(0, this.#filled), true);
    this.#buffer.copyWithin(0, at, this.#filled);
    this.#filled -= at;
  }

  /** Hands on whole frames, or copies of them. @returns where the last one ends */
  #visit(bytes: Uint8Array, copies: boolean): number {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    while (bytes.byteLength - at >= 4) {
      const size = 4 + view.getUint32(at, true);
      if (size > this.#limitBytes || size < 24 || size % 8 !== 0) {
        this.kill();
        break;
      }
      const end = at + size;
      if (end > bytes.byteLength) break;
      const isAll = at === 0 && end === bytes.byteLength;
      this.#listener.frame(copies ? bytes.slice(at, end) : isAll ? bytes : bytes.subarray(at, end));
      at = end;
    }
    return at;
  }
}

interface End {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Last part of its error output. */
  readonly trouble: string;
}

function causeOf({ code, signal, trouble }: End): JechoError {
  if (code === NO_ENGINE) return new JechoError("MODULATORS_NOT_SERVED", trouble.trim());
  if (signal === GUARD.signal)
    return new JechoError("MODULATOR_TIMED_OUT", "a call did not end, and the host was ended with it");
  const text = /(?:FATAL ERROR|Error): .*/.exec(trouble)?.[0] ?? trouble.slice(0, 300);
  const end = `${signal ?? `exit code ${code}`}${text === "" ? "" : `, ${text}`}`;
  const kind: ErrorCode =
    isAboutMemory(trouble) || /heap/i.test(trouble) ? "MODULATOR_OUT_OF_MEMORY" : "MODULATOR_FAILED";
  return new JechoError(kind, `the host died while it ran: ${end}`);
}
