import { JechoError } from "@jecho/shared";
import { checkKind, TEXT } from "@jecho/shared/internal";
import type { ControlRequest } from "../places/port.ts";
import { type ObjectPort, SharedObject } from "./shared-object.ts";

/** Options of `session.share`. */
export interface ShareOptions {
  /** 1 to 64 characters; by default a random one. */
  readonly id?: string;
}

/** Options of `session.attach`. */
export interface AttachOptions {
  /** `prompt`, the default: each newer state comes by itself; `lazy`: it comes when `pull` asks for it. */
  readonly policy?: "prompt" | "lazy";
  /** Ends the opening when it is aborted, and closes the copy once that is open. */
  readonly signal?: AbortSignal;
}

type CopyOpening = Extract<ControlRequest, { is: "openObject" }>;

/** The part of a session that its copies of shared objects use. */
export interface CopiesSession {
  /** Makes a copy an endpoint, and gives it its number. */
  add(object: SharedObject): number;
  remove(endpoint: number): void;
  /** Sends a request behind the copies' changes. */
  post(request: ControlRequest): void;
  /** Sends a request at once. */
  send(request: ControlRequest): void;
  /** The subject of its token; undefined where it has none. */
  subject(): string | undefined;
  /** The identity of its gateway; undefined before there was a connection. */
  gateway(): string | undefined;
}

/** A session's copies of shared objects. Their changes of one turn go out at its end. */
export class SharedCopies {
  readonly #session: CopiesSession;
  readonly #endpoints = new Map<SharedObject, number>();
  /** Copies that have something to send. */
  readonly #changed = new Set<SharedObject>();
  readonly #port: ObjectPort = {
    changed: object => {
      if (this.#changed.size === 0) queueMicrotask(() => this.publish());
      this.#changed.add(object);
    },
    pull: object => this.#session.post({ is: "pullObject", endpoint: this.#endpoints.get(object) ?? 0 }),
    closed: object => {
      this.#session.remove(this.#endpoints.get(object) ?? 0);
      this.#endpoints.delete(object);
    },
    subject: () => this.#session.subject(),
    gateway: () => this.#session.gateway(),
  };

  constructor(session: CopiesSession) {
    this.#session = session;
  }

  /** A copy of a new object, or with a `version` one that this session has from another device. @throws JechoError `OBJECT_INVALID` */
  share<S extends object>(state: S, id = randomId(), version = 1): SharedObject<S> {
    const { object, endpoint } = this.#make<S>(id, state, version);
    const opening = { object: id, lazy: false, version, state: JSON.stringify(object.state) };
    this.#session.post({ is: "openObject", endpoint, ...opening });
    return object;
  }

  /** A copy of an object that another session has, and the request that opens it. @throws JechoError `OBJECT_INVALID` */
  attach<S extends object>(id: string, lazy: boolean): { object: SharedObject<S>; opening: CopyOpening } {
    const { object, endpoint } = this.#make<S>(id, {} as S, 0);
    return { object, opening: { is: "openObject", endpoint, object: id, lazy, version: 0, state: "" } };
  }

  has(endpoint: number): boolean {
    return [...this.#endpoints.values()].includes(endpoint);
  }

  /** Sends the copies' changes. */
  publish(): void {
    const objects = [...this.#changed];
    this.#changed.clear();
    for (const object of objects) {
      const endpoint = this.#endpoints.get(object);
      if (endpoint === undefined) continue;
      const news = object.takeNews();
      if (news !== undefined) this.#session.send({ endpoint, ...news });
    }
  }

  #make<S extends object>(
    id: string,
    state: S,
    version: number,
  ): { object: SharedObject<S>; endpoint: number } {
    checkKind("an object's id", id, TEXT);
    if (id.length === 0 || id.length > 64)
      throw new JechoError("OBJECT_INVALID", "an object's id has 1 to 64 characters");
    const object = new SharedObject<S>(id, state, version, this.#port);
    const known = object as unknown as SharedObject;
    const endpoint = this.#session.add(known);
    this.#endpoints.set(known, endpoint);
    return { object, endpoint };
  }
}

function randomId(): string {
  return crypto.getRandomValues(new Uint32Array(3)).join("-");
}
