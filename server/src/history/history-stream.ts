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

/** Timeout of one request. */
const REQUEST_MS = 2000;
/** Time within which the server recognises a repeated message. */
const KNOWN_MS = 30_000;
/** Room for a message's headers. */
const HEADERS_BYTES = 1024;
/** Most bytes of a message, even if the server takes more: others wait behind it. */
const MESSAGE_BYTES = 512 << 10;
/** Time that the server keeps the position of a reader that has gone. */
const READER_MS = 10_000;
const NS_PER_MS = 1_000_000;

/** The JetStream stream with the durable histories of a cluster's channels. It has many subjects, for many streams are costly. */
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

  /** Creates the stream if needed. @throws Error where NATS does not allow it */
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
        // Silently dropped messages would be missing untold.
        discard: DiscardPolicy.New,
      });
    });
    return stream;
  }

  /** Most bytes of a message. */
  get mostBytes(): number {
    return Math.min(MESSAGE_BYTES, (this.#connection.info?.max_payload ?? MESSAGE_BYTES) - HEADERS_BYTES);
  }

  /**
   * Stores a message behind the newest of its subject.
   *
   * @param id by which a repetition is recognised
   * @param lastSeq number of the newest message, 0 for none: if it is another one, another gateway has written
   * @returns its number
   */
  async write(subject: string, message: Uint8Array, id: string, lastSeq: number): Promise<number> {
    const { seq } = await this.#client.publish(subject, message, {
      msgID: id,
      expect: { lastSubjectSequence: lastSeq },
    });
    return seq;
  }

  /** Reads all messages whose subjects have this beginning, oldest first. */
  async read(
    subject: string,
    take: (subject: string, seq: number, message: Uint8Array) => void,
  ): Promise<void> {
    const filter = `${subject}.>`;
    // Only the stream's leader is certain; readers may be served by others.
    const newest = await this.newest(filter);
    if (newest === 0) return;
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
        if (seq >= newest || info.pending === 0) break;
      }
    } finally {
      clearTimeout(late);
      await messages.close();
      await reader.delete().catch(() => {});
    }
  }

  /** The number of a subject's newest message; 0 where it has none. */
  async newest(subject: string): Promise<number> {
    const message = await this.#manager.streams.getMessage(this.#name, { last_by_subj: subject });
    return message?.seq ?? 0;
  }

  /** Drops a subject's messages before this one. */
  async drop(subject: string, before: number): Promise<void> {
    await this.#manager.streams.purge(this.#name, { filter: subject, seq: before });
  }

  /** Drops one message. */
  async dropOne(seq: number): Promise<void> {
    await this.#manager.streams.deleteMessage(this.#name, seq, false);
  }
}

function nameOf(prefix: string): string {
  return `${prefix}-history`;
}
