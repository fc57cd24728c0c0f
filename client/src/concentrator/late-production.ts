import { JechoError } from "@jecho/shared";
import type { PortEnd } from "./endpoints/endpoint.ts";
import type { Production } from "./production-parts.ts";

/** A session's request, or a frame of the present connection, that needs the parts which produce events. */
interface Awaiting {
  /** The session and endpoint that a request is about; undefined for a frame. */
  readonly of?: { readonly port: PortEnd; readonly endpoint: number };
  act(): void;
  /** Called where the parts could not be loaded. */
  refuse(error: JechoError): void;
}

/**
 * The parts of a concentrator that produce events. A page loads them late, since most only subscribe. What needs them waits in order until then.
 */
export class LateProduction {
  readonly #make: () => Production | Promise<Production>;
  readonly #together: (act: () => void) => void;
  #parts: Production | undefined;
  #awaiting: Awaiting[] = [];
  #isLoading = false;
  #isClosed = false;

  /**
   * @param make loads and makes them
   * @param together calls `act`, and sends what that causes as one message
   */
  constructor(make: () => Production | Promise<Production>, together: (act: () => void) => void) {
    this.#make = make;
    this.#together = together;
  }

  /** Undefined until they have been loaded. */
  get parts(): Production | undefined {
    return this.#parts;
  }

  /** Whether anything waits for them. */
  get isAwaited(): boolean {
    return this.#awaiting.length > 0;
  }

  /** Whether a request about this endpoint waits: later requests about it then wait, too. */
  isAwaitedBy(port: PortEnd, endpoint: number): boolean {
    return this.#awaiting.some(({ of }) => of?.port === port && of.endpoint === endpoint);
  }

  /** Adds a request or frame that waits until they are loaded. */
  await(awaiting: Awaiting): void {
    this.#awaiting.push(awaiting);
  }

  /** Loads the parts. Parts that need no loading are there when this returns. */
  load(): void {
    if (this.#parts !== undefined || this.#isLoading) return;
    const made = this.#make();
    if (!(made instanceof Promise)) {
      this.#parts = made;
      return;
    }
    this.#isLoading = true;
    made.then(
      parts => {
        if (this.#isClosed) return;
        this.#parts = parts;
        const awaiting = this.#take();
        this.#together(() => {
          for (const { act } of awaiting) act();
        });
      },
      error => {
        this.#isLoading = false;
        for (const { refuse } of this.#take()) refuse(JechoError.from(error, "CONNECTION_LOST"));
      },
    );
  }

  #take(): Awaiting[] {
    const awaiting = this.#awaiting;
    this.#awaiting = [];
    return awaiting;
  }

  /** The connection broke: its frames mean nothing at another one. */
  interrupted(): void {
    this.#awaiting = this.#awaiting.filter(({ of }) => of !== undefined);
  }

  /** A session has ended. */
  forget(port: PortEnd): void {
    this.#awaiting = this.#awaiting.filter(({ of }) => of?.port !== port);
  }

  close(): void {
    this.#isClosed = true;
    this.#awaiting = [];
  }
}
