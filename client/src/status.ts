import { JechoError } from "@jecho/shared";

/**
 * How a session or a consumer is doing.
 *
 * - `connecting`: not yet connected or open
 * - `live`: connected and open
 * - `reconnecting`: the connection broke and is being made again
 * - `refused`: it will not come to be, or has ended, and `error` says why, and whether a new one may fare better (`retry`)
 * - `closed`: ended by the application
 */
export interface Status {
  /** As above. */
  readonly state: "connecting" | "live" | "reconnecting" | "refused" | "closed";
  /** Since when, as `Date.now()` gives it. */
  readonly since: number;
  /** Why it is `refused`. */
  readonly error?: JechoError;
  /** A consumer is being sent the past; what comes is not live yet. */
  readonly replaying?: boolean;
  /** A consumer that was opened again, or asked for the past: the gateway has kept everything since the place that it wanted. */
  readonly recovered?: boolean;
  /** Where it is not: how many events the gateway knows to be missing; each producer's count may tell of more. */
  readonly missing?: number;
}

export function statusNow(state: Status["state"], error?: JechoError): Status {
  return error === undefined ? { state, since: Date.now() } : { state, since: Date.now(), error };
}

/** Something that has a status. */
interface Statused {
  readonly status: Status;
  onStatus(listener: (status: Status) => void): () => void;
}

/** Resolves when it is live. @throws JechoError what refused it, `CLOSED`, or the signal's reason */
export function untilLive(it: Statused, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (status: Status): boolean => {
      if (status.state === "live") resolve();
      else if (status.state === "refused") reject(status.error);
      else if (status.state === "closed") reject(new JechoError("CLOSED"));
      else return false;
      return true;
    };
    if (signal?.aborted) return reject(signal.reason);
    if (check(it.status)) return;
    const abort = (): void => {
      stop();
      reject(signal?.reason);
    };
    const unwatch = it.onStatus(status => {
      if (check(status)) stop();
    });
    const stop = (): void => {
      unwatch();
      signal?.removeEventListener("abort", abort);
    };
    signal?.addEventListener("abort", abort);
  });
}

/** Listeners of one kind of news; each gets each, whatever another one does. */
export class Listeners<T> {
  readonly #listeners = new Set<(news: T) => void>();

  /** Does anybody listen? */
  get isHeard(): boolean {
    return this.#listeners.size > 0;
  }

  /** Adds a listener and returns what removes it. */
  add(listener: (news: T) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(news: T): void {
    for (const listener of [...this.#listeners]) guarded(listener)(news);
  }
}

/** A function of the application that disturbs nobody here: what it throws is raised. */
export function guarded<T>(listener: (news: T) => void): (news: T) => void {
  return news => {
    try {
      listener(news);
    } catch (error) {
      raise(error);
    }
  };
}

/** An application's error is the application's to see, outside of our own calls. */
export function raise(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
