import { JechoError } from "@jecho/shared";
import { laterTurn } from "#platform";
import { NewsListeners, type Status, statusNow } from "./status.ts";

/** Time that a session without a connection stays silent where nobody listens to its status. */
const SILENCE_MS = 5000;

/** A session's status and those who listen to it. Where nobody does, the console is told that no gateway answers. */
export class SessionStatus {
  readonly #address: string;
  readonly #listeners = new NewsListeners<Status>();
  /** Callers that wait for the session to be live. */
  readonly #waiting = new NewsListeners<Status>();
  #now: Status = statusNow("connecting");
  /** Runs out once while there is no connection. */
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(address: string) {
    this.#address = address;
  }

  get now(): Status {
    return this.#now;
  }

  get isClosed(): boolean {
    return this.#now.state === "closed";
  }

  /** Changes the status. Nobody is told before `tell`. */
  set(status: Status): void {
    this.#now = status;
    this.mindSilence();
  }

  tell(): void {
    this.#waiting.tell(this.#now);
    this.#listeners.tell(this.#now);
  }

  /** Adds a listener and returns what removes it. */
  add(listener: (status: Status) => void): () => void {
    return this.#listeners.add(listener);
  }

  /** Resolves when it is live. @throws JechoError what refused it, `CLOSED`, or the signal's reason */
  ready(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = ({ state, error }: Status): boolean => {
        if (state === "live") resolve();
        else if (state === "refused") reject(error);
        else if (state === "closed") reject(new JechoError("CLOSED", "it was closed before it was live"));
        else return false;
        return true;
      };
      if (signal?.aborted) return reject(signal.reason);
      if (check(this.#now)) return;
      const abort = (): void => {
        stop();
        reject(signal?.reason);
      };
      const unwatch = this.#waiting.add(status => {
        if (check(status)) stop();
      });
      const stop = (): void => {
        unwatch();
        signal?.removeEventListener("abort", abort);
      };
      signal?.addEventListener("abort", abort);
    });
  }

  /** @throws JechoError `CLOSED`, or what refused the session */
  checkUsable(): void {
    if (this.isClosed) throw new JechoError("CLOSED", "the session is closed");
    if (this.#now.state === "refused") throw this.#now.error;
  }

  get #isWaiting(): boolean {
    return this.#now.state === "connecting" || this.#now.state === "reconnecting";
  }

  /** Begins or ends the wait for the warning: a program whose gateway is not there would be silent for ever. */
  mindSilence(): void {
    if (this.#isWaiting) {
      // Messages that came while the application computed are taken first.
      this.#silence ??= setTimeout(() => laterTurn(() => this.#warn()), SILENCE_MS);
    } else {
      clearTimeout(this.#silence);
      this.#silence = undefined;
    }
  }

  #warn(): void {
    const { error } = this.#now;
    if (!this.#isWaiting || this.#listeners.isHeard) return;
    const why = error === undefined ? "" : ` (${error.message})`;
    const silence = `no gateway has answered at ${this.#address} for ${SILENCE_MS / 1000} s`;
    console.warn(`JEcho: ${silence}; the session keeps trying${why}`);
  }
}
