import type { Connection, SendsPast } from "../connections/connection.ts";

/** Bytes in a socket beyond which its process is told nothing newer. */
const UNREAD_BYTES = 1 << 20;

/** A process that is told what changes, or another gateway. */
export type ToldProcess = Pick<Connection, "bufferedBytes" | "sendBytes" | "replaying">;

/** Whether so much waits for the process that it is told nothing newer. */
export function hasUnread({ bufferedBytes }: ToldProcess): boolean {
  return bufferedBytes > UNREAD_BYTES;
}

/** Tells a process the newest of what changes all the time: at once, or once it has read what it was sent before. */
export class WhenRead implements SendsPast {
  readonly #told: ToldProcess;
  readonly #tell: () => void;
  #waits = false;

  constructor(told: ToldProcess, tell: () => void) {
    this.#told = told;
    this.#tell = tell;
  }

  ask(): void {
    if (this.#waits) return;
    if (!hasUnread(this.#told)) return this.#tell();
    this.#waits = true;
    this.#told.replaying(this, true);
  }

  pump(): void {
    if (hasUnread(this.#told)) return;
    this.end();
    this.#tell();
  }

  end(): void {
    if (!this.#waits) return;
    this.#waits = false;
    this.#told.replaying(this, false);
  }
}
