import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";

/** Time that one request may take. */
const REQUEST_MS = 2000;
/** Time within which the server knows a message that comes again. */
const KNOWN_MS = 30_000;
/** Room for a message's headers. */
const HEADERS_BYTES = 1024;
/** Bytes of a message at most, whatever the server takes: others wait behind it. */
const MESSAGE_BYTES = 512 << 10;
/** How long the server keeps the place of a reader that has gone. */
const READER_MS = 10_000;
const NS_PER_MS = 1_000_000;

/** The stream of JetStream that has the durable histories of a cluster's channels: many subjects, for many streams are costly. */
export class HistoryStream {
  /** The first parts of all subjects. */
  readonly subject: string;
  readonly #connection: NatsConnection;
  readonly #name: string;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;

  private constructor(connection: NatsConnection, prefix: string, manager: JetStreamManager) {
    this.#connection = connection;
    this.#name = nameOf(prefix);
    this.subject = `${prefix}.history`;
    this.#client = jetstream(connection, { timeout: REQUEST_MS });
    this.#manager = manager;
  }

  /** Begins the stream where it is not there yet. @throws Error where NATS does not let it */
  static async open(connection: NatsConnection, prefix: string, replicas: number): Promise<HistoryStream> {
    const manager = await jetstreamManager(connection, { checkAPI: false, timeout: REQUEST_MS });
    const stream = new HistoryStream(connection, prefix, manager);
    await manager.streams.info(nameOf(prefix)).catch(async (error: Error) => {
      const isMissing = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
      if (!isMissing) throw error;
      await manager.streams.add({
        name: nameOf(prefix),
        subjects: [`${stream.subject}.>`],
        storage: StorageType.File,
        num_replicas: replicas,
        duplicate_window: KNOWN_MS * NS_PER_MS,
        // What is dropped unseen would be missing untold.
        discard: DiscardPolicy.New,
      });
    });
    return stream;
  }

  /** Bytes of a message at most. */
  get mostBytes(): number {
    return Math.min(MESSAGE_BYTES, (this.#connection.info?.max_payload ?? MESSAGE_BYTES) - HEADERS_BYTES);
  }

  /**
   * Stores a message behind the newest of its subject.
   *
   * @param id by which it is known where it comes again
   * @param lastSeq the newest message's number, 0 for none: where another one is there, somebody else has written
   * @returns its number
   */
  async write(subject: string, message: Uint8Array, id: string, lastSeq: number): Promise<number> {
    const { seq } = await this.#client.publish(subject, message, {
      msgID: id,
      expect: { lastSubjectSequence: lastSeq },
    });
    return seq;
  }

  /** Reads all messages whose subjects begin so, oldest first. */
  async read(
    subject: string,
    take: (subject: string, seq: number, message: Uint8Array) => void,
  ): Promise<void> {
    const filter = `${subject}.>`;
    // The stream's leader alone knows for sure; readers may be served by others.
    const newest = await this.#manager.streams.getMessage(this.#name, { last_by_subj: filter });
    if (newest === null) return;
    const reader = await this.#client.consumers.get(this.#name, {
      filter_subjects: filter,
      inactive_threshold: READER_MS,
    });
    const messages = await reader.consume();
    const late = setTimeout(
      () => messages.stop(new Error("NATS does not hand on what it has stored")),
      REQUEST_MS * 5,
    );
    try {
      for await (const { subject: of, seq, data, info } of messages) {
        take(of, seq, data);
        late.refresh();
        if (seq >= newest.seq || info.pending === 0) break;
      }
    } finally {
      clearTimeout(late);
      await messages.close();
      await reader.delete().catch(() => {});
    }
  }

  /** Drops what a subject has before this message; all of it where that is undefined. */
  async drop(subject: string, before?: number): Promise<void> {
    await this.#manager.streams.purge(this.#name, {
      filter: subject,
      ...(before !== undefined && { seq: before }),
    });
  }

  /** Drops one message. */
  async dropOne(seq: number): Promise<void> {
    await this.#manager.streams.deleteMessage(this.#name, seq, false);
  }
}

function nameOf(prefix: string): string {
  return `${prefix}-history`;
}
