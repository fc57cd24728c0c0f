import type { ErrorCode, JechoError } from "@jecho/shared";

/**
 * State of a session or a consumer.
 *
 * - `connecting`: not yet connected or open
 * - `live`: connected and open
 * - `reconnecting`: the connection broke and is being made again
 * - `refused`: it will not come to be, or has ended, and `error` says why, and whether a new one may fare better (`retry`)
 * - `closed`: ended by the application
 */
export interface Status {
  /** State of the session or consumer: see above. */
  readonly state: "connecting" | "live" | "reconnecting" | "refused" | "closed";
  /** Time since when it holds, as `Date.now()` gives it. */
  readonly since: number;
  /** The reason why it is `refused`, or why there is no connection so far. */
  readonly error?: JechoError;
  /** A consumer is being sent the past; what comes is not live yet. */
  readonly replaying?: boolean;
  /**
   * For a consumer that was opened again, or asked for the past: whether the gateway has kept everything since the place that it wanted. Undefined where
   * the gateway cannot know, as one that was started again without a history: nothing need be lost then, and what is, `onMissed` tells.
   */
  readonly recovered?: boolean;
  /** With `recovered`: how many events the gateway knows to be missing; undefined where some may be, and nobody knows how many. */
  readonly missing?: number;
}

export function statusNow(state: Status["state"], error?: JechoError): Status {
  return error === undefined ? { state, since: Date.now() } : { state, since: Date.now(), error };
}

/** Listeners of one kind of news; each gets each, whatever another one does. */
export class NewsListeners<T> {
  readonly #listeners = new Set<(news: T) => void>();

  /** Whether anybody listens. */
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
function raise(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

/** Codes of errors that a function of the application has thrown. */
const OWN: ReadonlySet<ErrorCode> = new Set(["HANDLER_FAILED", "DEMODULATOR_FAILED", "DELEGATE_FAILED"]);

/** Tells an error to an application that listens for none: its own errors are thrown, others go to the console. */
export function tell(error: JechoError): void {
  if (OWN.has(error.code)) raise(error);
  else console.error(`JEcho: ${error.code}: ${error.message}`);
}
