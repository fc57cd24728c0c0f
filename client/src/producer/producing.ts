import { JechoError, type Type } from "@jecho/shared";
import { suggestion } from "@jecho/shared/internal";
import type { EventChannel } from "../channel/channel.ts";
import type { EndpointSession, Opener } from "../channel/opener.ts";
import { historyOf } from "../options/open-options.ts";
import type { ProduceOptions } from "../options/producer-options.ts";
import type { ControlRequest } from "../places/port.ts";
import type { EventQueue } from "../queues/event-queue.ts";
import { EventQueues } from "../queues/event-queues.ts";
import type { Endpoints } from "../session/endpoints.ts";
import { Delegation } from "./delegation.ts";
import { Producer, type ProducerSession } from "./producer.ts";

/** Opens a session's producers and closes them. It is a program of its own: a page that only subscribes does not load it. */
export class Producing {
  readonly queues: EventQueues;
  readonly #forProducers: ProducerSession;
  readonly #opener: Opener;
  readonly #session: EndpointSession;
  readonly #endpoints: Endpoints;

  constructor(opener: Opener, session: EndpointSession, endpoints: Endpoints) {
    this.#opener = opener;
    this.#session = session;
    this.#endpoints = endpoints;
    const queues = new EventQueues(session.port, session.queue, {
      onDropped: (endpoint, raised) =>
        endpoints.notice(endpoint, { is: "dropped", endpoint, raised, events: 1, code: "QUEUE_FULL" }),
    });
    this.queues = queues;
    this.#forProducers = {
      ...session,
      // A queue for urgent events is made with the first of them.
      get urgentQueue() {
        return queues.urgent;
      },
      closeProducer: (endpoint, queue) => this.#close(endpoint, queue),
    };
  }

  async open<T>(
    channel: EventChannel<T>,
    name: string,
    { signal, delegate, history, key = "", queue: own }: ProduceOptions,
  ): Promise<Producer<T>> {
    const session = this.#session;
    const endpoint = this.#endpoints.next();
    const delegation =
      delegate &&
      new Delegation(
        delegate,
        (name, value) => session.post({ is: "context", endpoint, name, value }),
        error => session.failed(error),
      );
    session.status.checkUsable();
    checkKey(key, channel.type);
    // The memory of a queue depends on where its other side is.
    await session.port.settled;
    session.status.checkUsable();
    const queue = own === undefined ? this.queues.common : this.queues.open(own);
    const producer = new Producer<T>(this.#forProducers, endpoint, channel, queue, delegation);
    const { schema = new Uint8Array(0), token = 0n } = channel.type ?? {};
    const request: ControlRequest = {
      is: "openProducer",
      endpoint,
      channel: name,
      schema,
      token,
      offers: delegation?.offers,
      context: delegation?.present() ?? new Map(),
      history: historyOf(history),
      key,
    };
    await this.#endpoints.open(endpoint, producer, signal, () => session.post(request));
    return producer;
  }

  /** A queue of its own goes with the producer. */
  async #close(endpoint: number, queue: EventQueue): Promise<void> {
    if (this.#session.status.isClosed) return;
    this.queues.finish();
    this.#opener.closeEndpoint(endpoint);
    if (this.queues.leave(queue)) {
      this.#session.post({ is: "closeQueue", queue: queue.number });
      queue.close(new JechoError("CLOSED", "the producer is closed"));
    }
    await this.#session.taken();
  }
}

/** Refuses a key by which events could not be told apart: all of them would count as one. */
function checkKey(key: string, type: Type | undefined): void {
  if (key === "" || type === undefined) return;
  const fields = type.fields.filter(
    ({ kind, isVector, fields }) => !isVector && kind !== "union" && fields.length === 0,
  );
  const names = fields.map(({ name }) => name);
  if (!names.includes(key))
    throw new JechoError(
      "ARGUMENT_INVALID",
      `key is "${key}", which is no field of ${type.name} with a number or a text; ${suggestion(key, names)}`,
    );
}
