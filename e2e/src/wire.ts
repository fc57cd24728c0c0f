import { GridData } from "@jecho/atmosphere";
import { type Type, typeFromSchema } from "@jecho/shared";
import { type EventsFrame, type Frame, parseMessage } from "@jecho/shared/internal";
import type { Page, WebSocket } from "@playwright/test";

/** The field's events, as the simulation raises them and as views get them. */
const FIELD_TYPES: ReadonlySet<string> = new Set([GridData.name, "PackedGrid"]);

/** A changed view on its way to the simulation, and the field events that followed. */
export interface ViewUpdate {
  /** The view, as it was sent. */
  readonly state: { readonly firstLayer: number; readonly lastLayer: number };
  /** Step of the newest field event, of any view, that had come in when the update went out. */
  readonly arrived: number;
  /** The view's events since then, until its next update; those that were not made with this one are of an older view. */
  readonly events: { readonly step: number; readonly layer: number; readonly isNew: boolean }[];
}

/** Frames that cross a page's connection, in their order, read with the protocol's own parser. */
export class Wire {
  /** All changes of views since the page was opened, the oldest first. */
  readonly updates: ViewUpdate[] = [];
  readonly #types = new Map<bigint, Type>();
  /** The shared object of a modulator, by the request to install it. */
  readonly #asked = new Map<number, string>();
  /** The derived channel that is made with a shared object. */
  readonly #channels = new Map<string, number>();
  /** The newest update of each derived channel. */
  readonly #latest = new Map<number, { readonly version: number; readonly update: ViewUpdate }>();
  #newest = -1;

  /** Listens from the page's first connection on: to be made before the page is opened. */
  constructor(page: Page) {
    page.on("websocket", socket => this.#listen(socket));
  }

  #listen(socket: WebSocket): void {
    const parse = (payload: string | Buffer, visit: (frame: Frame) => void): void => {
      // A copy begins at a multiple of 8, as the parser asks for.
      if (typeof payload !== "string") parseMessage(new Uint8Array(payload), visit);
    };
    socket.on("framesent", ({ payload }) => parse(payload, frame => this.#sent(frame)));
    socket.on("framereceived", ({ payload }) => parse(payload, frame => this.#received(frame)));
  }

  #sent(frame: Frame): void {
    if (frame.kind === "OpenConsumer") {
      const object = frame.modulator?.objects[0]?.object;
      if (object !== undefined) this.#asked.set(frame.request, object);
    } else if (frame.kind === "ObjectUpdate") {
      const channel = this.#channels.get(frame.object);
      if (channel === undefined) return;
      const state = JSON.parse(frame.state) as ViewUpdate["state"];
      const update: ViewUpdate = { state, arrived: this.#newest, events: [] };
      this.updates.push(update);
      this.#latest.set(channel, { version: frame.version, update });
    }
  }

  #received(frame: Frame): void {
    if (frame.kind === "TypeKnown") {
      const type = typeFromSchema(frame.schema);
      this.#types.set(type.token, type);
    } else if (frame.kind === "ConsumerOpened") {
      const object = this.#asked.get(frame.request);
      if (object !== undefined) this.#channels.set(object, frame.channel);
    } else if (frame.kind === "Events") {
      this.#event(frame);
    }
  }

  #event(frame: EventsFrame): void {
    const type = this.#types.get(frame.token);
    if (type === undefined || !FIELD_TYPES.has(type.name)) return;
    const read = GridData.readerOf(type);
    const latest = this.#latest.get(frame.channel);
    for (let i = 0; i < frame.count; i++) {
      const { step, layer } = read(frame.view, frame.bytes, frame.eventStart(i)) as GridData;
      this.#newest = Math.max(this.#newest, step);
      latest?.update.events.push({ step, layer, isNew: frame.parameters >= latest.version });
    }
  }
}
