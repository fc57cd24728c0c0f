import { JechoError } from "@jecho/shared";
import type { Admitted } from "@jecho/shared/internal";
import type { LinkTimers } from "./link-timers.ts";

/** Time before its expiry at which a token is renewed; one that is valid for less than twice that is renewed at half its life. */
const RENEW_MS = 60_000;
const LEAST_RENEWED_MS = 1000;
/** Longest time that a timer can be set to. */
const MOST_MS = 2 ** 31 - 1;

/** The application's token at the gateway: shown at each new connection, and renewed while one lasts. */
export class LinkToken {
  #isWanted: boolean;
  readonly #timers: LinkTimers;
  /** The application is to give a token. */
  readonly #ask: () => void;
  /** The token that the gateway has. */
  #text = "";
  #subject = "";
  /** Greets the gateway of a new connection, once there is a token. */
  #greet: ((token: string) => void) | undefined;
  #renewal: ReturnType<typeof setTimeout> | undefined;

  /** @param isWanted whether the application has a token for each connection */
  constructor(isWanted: boolean, timers: LinkTimers, ask: () => void) {
    this.#isWanted = isWanted;
    this.#timers = timers;
    this.#ask = ask;
  }

  /** Subject of the token; "" where the gateway wants none. */
  get subject(): string {
    return this.#subject;
  }

  /** Whether a new connection waits for a token. */
  get isAwaited(): boolean {
    return this.#greet !== undefined;
  }

  /** A connection is there. @param greet called once there is a token for it */
  opened(greet: (token: string) => void): void {
    this.#greet = greet;
    if (this.#isWanted) this.#ask();
    else this.take(this.#text);
  }

  /** Nobody is there any more to give another one. */
  leave(): void {
    this.#isWanted = false;
  }

  /** The connection is gone. */
  lost(): void {
    this.#greet = undefined;
  }

  /** Takes the application's token. @returns whether the gateway has another one, and is to be told */
  take(token: string): boolean {
    const greet = this.#greet;
    // The same token again is no newer one.
    if (greet === undefined && token === this.#text) return false;
    this.#text = token;
    this.#greet = undefined;
    greet?.(token);
    return greet === undefined;
  }

  /** The gateway has taken it. @throws JechoError `TOKEN_INVALID` where it is another subject's than before */
  admitted({ subject, forMs }: Admitted): void {
    // The gateway has this process' events and endpoints under one subject.
    if (this.#subject !== "" && this.#subject !== subject)
      throw new JechoError(
        "TOKEN_INVALID",
        `the session is ${this.#subject}'s: ${subject} needs a session of its own`,
      );
    this.#subject = subject;
    this.#renewIn(forMs);
  }

  /** The token is valid for this long: a newer one is asked for in time, and asked for again where none comes. */
  #renewIn(forMs: number): void {
    this.#timers.cancel(this.#renewal);
    if (forMs < LEAST_RENEWED_MS) return;
    const waitMs = Math.min(MOST_MS, Math.max(forMs / 2, forMs - RENEW_MS));
    this.#renewal = this.#timers.after(waitMs, () => {
      this.#ask();
      this.#renewIn(forMs - waitMs);
    });
  }
}
