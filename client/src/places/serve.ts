import { JechoError } from "@jecho/shared";
import type { EventsFrame } from "@jecho/shared/internal";
import { atEndOfTurn } from "../platform/face.ts";
import type { Attachment } from "./attachment.ts";
import { BackPressure } from "./back-pressure.ts";
import type { Hubs } from "./hubs.ts";
import { type FromPlace, type MessageEnd, type ToPlace, toPlain, visitHandled } from "./message-end.ts";
import type { PortListener } from "./port.ts";
import { RunBatch } from "./run-batch.ts";

/** Bytes of events in one block of memory. Keeping an event keeps its block. */
const BLOCK_BYTES = 64 << 10;

/**
 * Serves one session over a way between threads.
 *
 * @param hubs those that the session may belong to
 * @returns ends the session as if it had asked for that
 */
export function serve(end: MessageEnd, hubs: Hubs): () => void {
  const outbox = new PortOutbox(end);
  let attachment: Attachment | undefined;
  const pressure = new BackPressure({
    pause: isPaused => attachment?.pause(isPaused) ?? false,
    stall: endpoints => attachment?.stall(endpoints),
    resume: () => attachment?.resume(),
    cutOff: endpoint => {
      attachment?.closeEndpoint(endpoint);
      const error = new JechoError("SLOW_CONSUMER", "the application's thread did not take its events");
      outbox.put({ is: "refused", endpoint, reset: 0, error });
    },
  });
  const listener: PortListener = {
    notify: notice => outbox.put(notice),
    receive: (endpoint, frame, first) => pressure.add(endpoint, outbox.putRun(endpoint, frame, first)),
  };
  const receive = (message: unknown): void => {
    const request = message as ToPlace;
    if (typeof request === "number") {
      attachment?.post({ is: "wake", queue: request >>> 1, now: (request & 1) === 1 });
      return;
    }
    if (!("is" in request)) {
      attachment?.together(() => visitHandled(request, handled => attachment?.post(handled)));
      return;
    }
    switch (request.is) {
      case "attach":
        outbox.put({ is: "ready" });
        attachment = hubs.of(request.options).attach(listener);
        return;
      case "frozen":
        if (request.frozen) attachment?.stall();
        else attachment?.resume();
        return;
      case "eventsTaken":
        pressure.taken(request.bytes);
        return;
      case "close":
        pressure.end();
        void attachment?.close().then(() => {
          outbox.put({ is: "closed" });
          outbox.send();
          end.close();
        });
        attachment = undefined;
        return;
      default:
        attachment?.post(request);
    }
  };
  end.listen(receive, () => {});
  return () => receive({ is: "close" });
}

/** Sends all notices of one turn in one message. */
class PortOutbox {
  readonly #end: MessageEnd;
  readonly #runs = new RunBatch();
  #notices: unknown[] = [];
  #transfer: ArrayBuffer[] = [];
  #willSend = false;

  constructor(end: MessageEnd) {
    this.#end = end;
  }

  put(notice: FromPlace): void {
    this.#closeBatch();
    this.#notices.push(toPlain(notice));
    this.#sendSoon();
  }

  /** @returns bytes that it adds to those on their way */
  putRun(endpoint: number, frame: EventsFrame, first: number): number {
    this.#sendSoon();
    const added = this.#runs.add(endpoint, frame, first);
    if (this.#runs.bytes >= BLOCK_BYTES) this.#closeBatch();
    return added;
  }

  readonly #sendNow = (): void => this.send();

  send(): void {
    this.#willSend = false;
    this.#closeBatch();
    if (this.#notices.length === 0) return;
    const [notices, transfer] = [this.#notices, this.#transfer];
    this.#notices = [];
    this.#transfer = [];
    this.#end.post(notices, transfer);
  }

  #sendSoon(): void {
    if (this.#willSend) return;
    this.#willSend = true;
    atEndOfTurn(this.#sendNow);
  }

  #closeBatch(): void {
    if (this.#runs.isEmpty) return;
    const runs = this.#runs.take();
    this.#notices.push(runs);
    this.#transfer.push(runs);
  }
}
