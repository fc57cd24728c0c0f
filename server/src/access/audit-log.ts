import { createHash } from "node:crypto";
import { once } from "node:events";
import { createWriteStream, openSync, type WriteStream } from "node:fs";
import { errorCode, JechoError } from "@jecho/shared";
import type { Control } from "@jecho/shared/internal";
import type { ClientConnection } from "../connections/client-connection.ts";
import type { GatewayLog } from "../operations/gateway-log.ts";
import type { Need } from "./rights.ts";

/** Lines per second of one connection (before it is greeted, of its address), of a subject, of all that are not greeted, and of all. */
const MOST_OF_ONE = 20;
const MOST_OF_SUBJECT = 200;
const MOST_OF_STRANGERS = 200;
const MOST_OF_ALL = 1000;
/** Most bytes that wait for the disk. */
const WAITING_BYTES = 8 << 20;
const NAME_CHARACTERS = 200;
/** Most characters of a text: a channel's name has at most 584, and an error quotes at most 200 of its cause. */
const TEXT_CHARACTERS = 1024;
/** Rights of one request that are logged. */
const MOST_RIGHTS = 32;
/** Least length of an id that no application chose. */
const RANDOM_CHARACTERS = 16;
/** Rights whose use is not logged: listening changes nothing. */
const LISTENING: ReadonlySet<string> = new Set(["subscribe", "history", "block", "inspect"]);

/** Log of connections, refusals, and acts that take more than the right to listen: one line of JSON each. */
export class AuditLog {
  readonly #stream: WriteStream | undefined;
  readonly #log: GatewayLog | undefined;
  readonly #numbers = new WeakMap<ClientConnection, number>();
  #newest = 0;
  /** Lines of the present second. */
  #second = 0;
  #lines = 0;
  readonly #linesOf = new Map<ClientConnection | string, number>();
  readonly #linesOfSubjects = new Map<string, number>();
  #linesOfStrangers = 0;
  #omitted = 0;
  #omittedRefusals = 0;

  /**
   * @param file appended to, or created for this user alone; undefined for none
   * @param log gets the same lines, and once an error where the file cannot be written
   * @throws JechoError `ARGUMENT_INVALID` where it cannot be opened
   */
  constructor(file: string | undefined, log: GatewayLog | undefined) {
    this.#log = log;
    this.#stream = file === undefined ? undefined : streamTo(file);
    this.#stream?.on("error", ({ message }) =>
      log?.warn({}, `the audit log can be written no more: ${message}`),
    );
  }

  /** Notes a greeted connection; its first line. @param name the program's name for itself */
  connected(connection: ClientConnection, name: string): void {
    this.#write(connection, { event: "connected", program: name.slice(0, NAME_CHARACTERS) });
  }

  /** @param code of its close, from either side */
  ended(connection: ClientConnection, code: number): void {
    const why = code >= 4000 && code < 5000 ? errorCode(code) : undefined;
    this.#write(connection, { event: "ended", code, ...(why !== undefined && { why }) });
    this.#linesOf.delete(connection);
  }

  /** Notes the refusal of a page's origin. @param address as `addressOf` gives it */
  refusedOrigin(address: string, origin: string): void {
    this.#write(address, { event: "refused", origin: origin.slice(0, NAME_CHARACTERS) });
  }

  /** Notes the refusal of a connection, or of its token. @param from its address, before it is one of the gateway's */
  refusedConnection(from: ClientConnection | string, error: unknown): void {
    const { code, message } = JechoError.from(error);
    this.#write(from, { event: "refused", code, message: message.slice(0, TEXT_CHARACTERS) });
  }

  refused(connection: ClientConnection, frame: Control, error: unknown): void {
    const { code, message } = JechoError.from(error);
    this.#write(connection, {
      event: "refused",
      frame: frame.kind,
      ...channelOf(frame),
      code,
      message: masked(message, frame).slice(0, TEXT_CHARACTERS),
    });
  }

  /** Notes a connection's use of these rights. */
  did(connection: ClientConnection, frame: Control, needs: readonly Need[]): void {
    // A session without consumers is handed over by no right.
    if (frame.kind !== "AskHandover" && needs.every(([right]) => LISTENING.has(right))) return;
    const source = frame.kind === "OpenConsumer" ? frame.modulator?.source : undefined;
    this.#write(connection, {
      event: "done",
      frame: frame.kind,
      ...channelOf(frame),
      rights: needs
        .slice(0, MOST_RIGHTS)
        .map(([right, on]) => `${right}:${right === "share" ? digestOf(on) : on.slice(0, TEXT_CHARACTERS)}`),
      ...(needs.length > MOST_RIGHTS && { moreRights: needs.length - MOST_RIGHTS }),
      ...(source !== undefined && { modulator: createHash("sha256").update(source).digest("hex") }),
    });
  }

  /** Resolves when all is written. */
  async close(): Promise<void> {
    this.#tellOmitted();
    if (this.#stream === undefined || this.#stream.destroyed) return;
    this.#stream.end();
    await once(this.#stream, "close").catch(() => {});
  }

  /** @param of a connection, or the address of one that is none yet */
  #write(
    of: ClientConnection | string,
    entry: { readonly event: string; readonly [name: string]: unknown },
  ): void {
    const second = Math.floor(performance.now() / 1000);
    if (second !== this.#second) {
      this.#tellOmitted();
      this.#second = second;
      this.#lines = this.#linesOfStrangers = 0;
      this.#linesOf.clear();
      this.#linesOfSubjects.clear();
    }
    const connection = typeof of === "string" ? undefined : of;
    const address = typeof of === "string" ? of : of.address;
    const { subject } = connection ?? {};
    const isStranger = subject === undefined;
    // At a gateway without keys nobody has a name.
    const name = subject?.name || undefined;
    const linesOfSubject = name === undefined ? 0 : (this.#linesOfSubjects.get(name) ?? 0);
    const counted = isStranger ? address : of;
    const lines = this.#linesOf.get(counted) ?? 0;
    // The end of a connection is written besides.
    const isMuch = isStranger
      ? lines >= MOST_OF_ONE || this.#linesOfStrangers >= MOST_OF_STRANGERS
      : lines >= MOST_OF_ONE && entry.event !== "ended";
    if (
      isMuch ||
      linesOfSubject >= MOST_OF_SUBJECT ||
      this.#lines >= MOST_OF_ALL ||
      (this.#stream?.writableLength ?? 0) > WAITING_BYTES
    ) {
      this.#omitted++;
      if (entry.event === "refused") this.#omittedRefusals++;
      return;
    }
    this.#lines++;
    if (isStranger) this.#linesOfStrangers++;
    this.#linesOf.set(counted, lines + 1);
    if (name !== undefined) this.#linesOfSubjects.set(name, linesOfSubject + 1);
    const number = connection && { connection: this.#numberOf(connection) };
    const by = name === undefined ? {} : { subject: name };
    this.#put({ ...number, ...by, address: shown(address), ...entry });
  }

  #tellOmitted(): void {
    const [lines, refusals] = [this.#omitted, this.#omittedRefusals];
    if (lines > 0) this.#put({ event: "omitted", lines, ...(refusals > 0 && { refusals }) });
    this.#omitted = this.#omittedRefusals = 0;
  }

  #put(entry: { readonly event: string; readonly [name: string]: unknown }): void {
    const { event, ...fields } = entry;
    // Frequent acts are logged at a lower level.
    if (event === "refused" || fields["refusals"] !== undefined) this.#log?.info(fields, event);
    else this.#log?.debug(fields, event);
    if (this.#stream?.destroyed === false)
      this.#stream.write(`${JSON.stringify({ time: new Date(), ...entry })}\n`);
  }

  #numberOf(connection: ClientConnection): number {
    let number = this.#numbers.get(connection);
    if (number === undefined) {
      number = ++this.#newest;
      this.#numbers.set(connection, number);
    }
    return number;
  }
}

/** @throws JechoError `ARGUMENT_INVALID` */
function streamTo(file: string): WriteStream {
  try {
    return createWriteStream(file, { fd: openSync(file, "a", 0o600) });
  } catch (error) {
    throw new JechoError("ARGUMENT_INVALID", `the audit log cannot be written: ${(error as Error).message}`);
  }
}

/** A text without the ids of shared objects: who knows an id may open the object. */
function masked(text: string, frame: Control): string {
  let shown = text;
  for (const id of objectsOf(frame)) {
    // A short id was chosen, and may be part of any word.
    const quoted = id.length >= RANDOM_CHARACTERS ? id : `share:${id}`;
    if (shown.includes(quoted)) shown = shown.replaceAll(quoted, quoted.slice(0, -id.length) + digestOf(id));
  }
  return shown;
}

/** A short hash that stands for an object's id. */
function digestOf(id: string): string {
  return `sha256-${createHash("sha256").update(id).digest("hex").slice(0, 16)}`;
}

function objectsOf(frame: Control): string[] {
  if (frame.kind === "OpenConsumer") return frame.modulator?.objects.map(({ object }) => object) ?? [];
  return "object" in frame ? [frame.object] : [];
}

/** The channel that a frame names, if any. */
function channelOf(frame: Control): { readonly channel?: string } {
  return "channel" in frame && typeof frame.channel === "string"
    ? { channel: frame.channel.slice(0, TEXT_CHARACTERS) }
    : {};
}

/** An address of IPv4, or a network of IPv6, as people write it. */
function shown(address: string): string {
  if (address.length === 8) return Buffer.from(address, "hex").join(".");
  return `${address.match(/.{4}/g)?.join(":") ?? ""}::/64`;
}
