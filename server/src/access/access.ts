import { type ErrorCode, JechoError } from "@jecho/shared";
import type { ClientConnection } from "../connections/client-connection.ts";
import { type Crowd, ENDPOINT_BYTES } from "../connections/crowd.ts";
import type { GatewayCounts } from "../operations/gateway-counts.ts";
import type { AuditLog } from "./audit-log.ts";
import { ANYBODY, type Subject } from "./subject.ts";
import { SUBJECT, type TokenVerifier } from "./tokens.ts";

/** Interval of the search for expired tokens. */
const LOOK_MS = 1000;

/** Decides who may connect, and ends connections whose rights have ended. */
export class Access {
  /** Undefined where everybody may do anything. */
  readonly #verifier: TokenVerifier | undefined;
  readonly #crowd: Crowd;
  readonly #connections: () => Iterable<ClientConnection>;
  readonly #counts: GatewayCounts;
  readonly #audit: AuditLog | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  /** Connections whose token is being checked. */
  readonly #checked = new WeakSet<ClientConnection>();

  /** @param verifier undefined where everybody may do anything */
  constructor(
    verifier: TokenVerifier | undefined,
    crowd: Crowd,
    connections: () => Iterable<ClientConnection>,
    counts: GatewayCounts,
    audit: AuditLog | undefined,
  ) {
    this.#verifier = verifier;
    this.#crowd = crowd;
    this.#connections = connections;
    this.#counts = counts;
    this.#audit = audit;
    if (verifier !== undefined) this.#timer = setInterval(() => this.#endOld(), LOOK_MS).unref();
  }

  /**
   * Finds a connection's subject, at once where no tokens are wanted.
   *
   * @param admit called with the subject, unless the connection is ended
   * @param isElsewhere whether it is counted at another gateway
   */
  greet(
    connection: ClientConnection,
    token: string,
    admit: (subject: Subject) => void,
    isElsewhere = false,
  ): void {
    if (this.#verifier === undefined) return admit(ANYBODY);
    this.#verify(connection, token)
      .then(subject => {
        if (!connection.isOpen) return;
        if (!isElsewhere) this.#crowd.greeted(connection, subject.name);
        admit(subject);
      })
      .catch((error: unknown) => {
        this.#counts.failed(error);
        this.#audit?.refusedConnection(connection, error);
        const { code, message } = JechoError.from(error);
        connection.end(code, message);
      });
  }

  /** A newer token comes over an open connection. @throws JechoError `TOKEN_INVALID`; the former one goes on */
  async renew(connection: ClientConnection, token: string): Promise<void> {
    const former = connection.subject;
    if (this.#verifier === undefined || former === undefined || former === ANYBODY) return;
    const subject = await this.#verify(connection, token);
    if (subject.name !== former.name)
      throw new JechoError("TOKEN_INVALID", `the newer token is ${subject.name}'s, and not ${former.name}'s`);
    // Endpoints that need a lost right are not looked for: the next connection asks for all of them again.
    if (!subject.mayAllThat(former)) return connection.end("RIGHTS_CHANGED");
    connection.subject = subject;
    tell(connection, subject);
  }

  /**
   * @param by on whose account it is kept, until the gateway ends, that the subject's tokens are worthless
   * @returns how many connections the subject had here
   * @throws JechoError `ARGUMENT_INVALID` where no subject has that name, `OVERLOADED`
   */
  kick(name: string, by: ClientConnection): number {
    if (!SUBJECT.test(name))
      throw new JechoError("ARGUMENT_INVALID", "a subject has 1 to 256 characters that can be shown");
    if (this.#verifier?.hasRefused(name) === false) {
      by.checkKeeping(ENDPOINT_BYTES);
      by.keep(ENDPOINT_BYTES);
    }
    this.#verifier?.refuseBefore(name);
    // Its own gateway ends each of the others.
    return this.#end(
      "KICKED",
      (subject, { isElsewhere }) => !isElsewhere && subject !== ANYBODY && subject.name === name,
    );
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #verify(connection: ClientConnection, token: string): Promise<Subject> {
    if (this.#checked.has(connection))
      throw new JechoError("FRAME_UNEXPECTED", "a token while the one before it is being looked at");
    this.#checked.add(connection);
    try {
      return await (this.#verifier as TokenVerifier).verify(token);
    } finally {
      this.#checked.delete(connection);
    }
  }

  #endOld(): void {
    const now = Date.now();
    this.#end("TOKEN_EXPIRED", ({ expiresAt }) => expiresAt <= now);
  }

  #end(code: ErrorCode, isMeant: (subject: Subject, connection: ClientConnection) => boolean): number {
    // Ending a connection removes it from the set.
    const ended = Array.from(this.#connections()).filter(
      connection => connection.subject !== undefined && isMeant(connection.subject, connection),
    );
    for (const connection of ended) connection.end(code);
    return ended.filter(({ isElsewhere }) => !isElsewhere).length;
  }
}

/** Tells a connection its token's subject and expiry; nothing at a gateway without keys. */
export function tell(connection: ClientConnection, { name, expiresAt }: Subject): void {
  if (name === "") return;
  connection.send({ kind: "Admitted", subject: name, forMs: Math.max(0, expiresAt - Date.now()) });
}
