import type { ConcentratorOptions } from "../concentrator/parts.ts";
import type { Port, PortListener, PortRequest } from "../port.ts";
import { Hub } from "./hub.ts";

/** A port to a concentrator in this very thread. */
export class HerePort implements Omit<Port, "settled" | "posted"> {
  readonly drainHere: () => void;
  readonly post: (request: PortRequest) => void;
  readonly close: () => Promise<void>;

  constructor(options: ConcentratorOptions, listener: PortListener) {
    const hub = new Hub(options);
    const attachment = hub.attach(listener);
    this.drainHere = () => hub.drain();
    this.post = request => attachment.handle(request);
    this.close = () => attachment.detach();
  }

  memory(bytes: number): ArrayBuffer {
    return new ArrayBuffer(bytes);
  }
}
