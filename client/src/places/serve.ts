import { JechoError } from "@jecho/shared";
import type { ConcentratorOptions } from "../concentrator.ts";
import type { PortNotice } from "../port.ts";
import type { Attachment, Hub } from "./hub.ts";
import { type FromPlace, type MessageEnd, type ToPlace, toPlain } from "./message-end.ts";

/** Bytes of events that may be on their way to an application's thread that does not take them. */
const LIMIT_BYTES = 32 << 20;

/**
 * Serves one session over a way between threads.
 *
 * @param hubOf the hub that a session with these options belongs to
 * @param watch calls back when the page that holds this lock is no more
 */
export function serve(
  end: MessageEnd,
  hubOf: (options: ConcentratorOptions) => Hub,
  watch: (lock: string, gone: () => void) => void = () => {},
): void {
  const outbox = new Outbox(end);
  let attachment: Attachment | undefined;
  let outstanding = 0;
  const notify = (notice: PortNotice): void => {
    if (notice.is !== "events") return outbox.put(notice);
    // The message that the frame lies in is needed here still; and a clone would be of the whole message.
    const frame = notice.frame.slice();
    outbox.put({ ...notice, frame }, frame.buffer);
    outstanding += frame.byteLength;
    if (outstanding > LIMIT_BYTES) queueMicrotask(() => cutOff(notice.endpoints));
  };
  const cutOff = (endpoints: readonly number[]): void => {
    for (const endpoint of endpoints) {
      attachment?.handle({ is: "closeEndpoint", endpoint });
      const error = new JechoError("SLOW_CONSUMER", "the application's thread did not take its events");
      outbox.put({ is: "refused", endpoint, reset: 0, error });
    }
  };
  const receive = (message: unknown): void => {
    const request = message as ToPlace;
    switch (request.is) {
      case "attach":
        outbox.put({ is: "ready" });
        attachment = hubOf(request.options).attach(notify);
        if (request.lock !== undefined) watch(request.lock, () => receive({ is: "close" }));
        return;
      case "eventsTaken":
        outstanding -= request.bytes;
        return;
      case "close":
        attachment?.handle(request);
        attachment = undefined;
        outbox.put({ is: "closed" });
        outbox.send();
        end.close();
        return;
      default:
        attachment?.handle(request);
    }
  };
  end.listen(receive, () => {});
}

/** Sends what one turn has to tell in one message. */
class Outbox {
  readonly #end: MessageEnd;
  #notices: unknown[] = [];
  #transfer: ArrayBuffer[] = [];

  constructor(end: MessageEnd) {
    this.#end = end;
  }

  put(notice: FromPlace, transfer?: ArrayBuffer): void {
    if (this.#notices.length === 0) queueMicrotask(() => this.send());
    this.#notices.push(toPlain(notice));
    if (transfer !== undefined) this.#transfer.push(transfer);
  }

  send(): void {
    if (this.#notices.length === 0) return;
    this.#end.post(this.#notices, this.#transfer);
    this.#notices = [];
    this.#transfer = [];
  }
}
