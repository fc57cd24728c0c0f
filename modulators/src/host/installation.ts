import type { EventsFrame } from "@jecho/shared/internal";
import type { ModulatorTable } from "../modulator.ts";

/** What the host is asked to install. */
export interface InstallRequest {
  /** Number of the derived channel. */
  readonly derived: number;
  /** Number of the base channel. */
  readonly channel: number;
  /** Schema (.bfbs) of the base channel's events; undefined where they are opaque bytes. */
  readonly schema: Uint8Array | undefined;
  readonly modulator: ModulatorTable;
}

/** Counts since the installation. */
export interface ModulatorStats {
  eventsIn: number;
  eventsOut: number;
  bytesOut: number;
  /** Processor time. */
  cpuMs: number;
  /** Events that fell out of a full queue, before the modulator or in it. */
  dropped: number;
  /** Times that the host died and the modulator started anew. */
  restarts: number;
}

/** One modulator, as the producer's side knows it: enough to install it again. */
export class Installation {
  readonly derived: number;
  readonly installed = new Settlement<{ schema: Uint8Array | undefined }>();
  readonly stats: ModulatorStats = {
    eventsIn: 0,
    eventsOut: 0,
    bytesOut: 0,
    cpuMs: 0,
    dropped: 0,
    restarts: 0,
  };
  /** Times in a row that the host was killed while this one was at work. */
  strikes = 0;
  ready = true;
  #request: InstallRequest;
  #runs: EventsFrame[] = [];
  #runBytes = 0;

  constructor(request: InstallRequest) {
    this.derived = request.derived;
    this.#request = request;
  }

  /** With the newest states of its shared objects. */
  get request(): InstallRequest {
    return this.#request;
  }

  /** @returns does it read this object, and is the version new to it? */
  update(object: string, version: number, state: string): boolean {
    const { modulator } = this.#request;
    const isNew = modulator.objects.some(known => known.object === object && known.version < version);
    if (isNew) {
      const objects = modulator.objects.map(known =>
        known.object === object ? { ...known, version, state } : known,
      );
      this.#request = { ...this.#request, modulator: { ...modulator, objects } };
    }
    return isNew;
  }

  /** Keeps a run until its turn is over, so that a turn counts as a whole or not at all. @returns false beyond the limit */
  collect(run: EventsFrame, limitBytes: number): boolean {
    this.#runs.push(run);
    this.#runBytes += run.end - run.start;
    return this.#runBytes <= limitBytes;
  }

  /** The runs of the turn, counted on over the deaths of hosts. */
  deliver(): EventsFrame[] {
    const runs = this.#runs;
    for (const run of runs) {
      run.recount(this.stats.eventsOut);
      this.stats.eventsOut += run.count;
    }
    this.stats.bytesOut += this.#runBytes;
    this.discard();
    return runs;
  }

  discard(): void {
    this.#runs = [];
    this.#runBytes = 0;
  }
}

/** A promise that is settled from outside, once. */
class Settlement<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (reason: Error) => void;
  isSettled = false;

  constructor() {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.promise = promise;
    // Nobody has to wait for it.
    promise.catch(() => {});
    this.resolve = value => {
      this.isSettled = true;
      resolve(value);
    };
    this.reject = reason => {
      this.isSettled = true;
      reject(reason);
    };
  }
}
