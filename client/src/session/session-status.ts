import { JechoError } from "@jecho/shared";
import { laterTurn } from "#platform";
import { NewsListeners, type Status, statusNow, untilLive } from "./status.ts";

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
    return untilLive(this.#now, this.#waiting, signal);
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
