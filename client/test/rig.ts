import {
  type ConnectOptions,
  connect,
  type Modulator,
  type Session,
  type SubscribeOptions,
  type Type,
} from "@jecho/client";
import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { expect, inject } from "vitest";
import { PATIENT, PATIENT_GATEWAY } from "./patient.ts";

/** A real gateway on a free port, with sessions that end with it. */
export interface Rig {
  readonly gateway: Gateway;
  /** Its modulators' deadlines are `PATIENT` unless it has limits of its own. */
  session(options?: ConnectOptions): Session;
  /** Another gateway takes the place of one that has ended, until the sessions have. */
  again(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Where the sessions' concentrators run: the same tests run in every place that Node has. */
const place = inject("place");

export async function startRig(options: GatewayOptions = {}): Promise<Rig> {
  const create = (port?: number): Promise<Gateway> =>
    createGateway({ ...PATIENT_GATEWAY, ...options, ...(port !== undefined && { port }) });
  let gateway = await create();
  const sessions: Session[] = [];
  return {
    get gateway() {
      return gateway;
    },
    again: async () => {
      gateway = await create(gateway.port);
    },
    session: options => {
      const modulators = { ...PATIENT, ...options?.modulators };
      const backoff = { firstMs: 20, mostMs: 100 };
      // With a name of its own each is a process of its own, as far as its connection goes.
      const name = `session ${sessions.length}`;
      const session = connect(gateway.address, { place, backoff, name, ...options, modulators });
      sessions.push(session);
      return session;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(sessions.map(session => session.close()));
      await gateway.close();
    },
  };
}

/** A modulator by the body of its class. */
export const moe = (body: string): Modulator => ({
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { ${body} }`,
});

/** Lets even numbers `n` pass. */
export const EVEN = moe("enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); }");

/** A list that can be waited for: `take(n)` resolves with the first n things once they are there. */
export class Inbox<T> {
  readonly all: T[] = [];
  readonly #waiting: { count: number; resolve: (things: T[]) => void }[] = [];

  readonly put = (thing: T): void => {
    this.all.push(thing);
    for (const waiting of [...this.#waiting]) {
      if (this.all.length < waiting.count) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.resolve(this.all.slice(0, waiting.count));
    }
  };

  take(count: number): Promise<T[]> {
    if (this.all.length >= count) return Promise.resolve(this.all.slice(0, count));
    return new Promise(resolve => this.#waiting.push({ count, resolve }));
  }
}

/** The numbers `n` of the events on a channel, as a session of its own hears them. */
export async function numbersOf<T extends { readonly n: number }>(
  rig: Rig,
  channel: string,
  type: Type<T>,
  options?: SubscribeOptions,
): Promise<Inbox<number>> {
  const inbox = new Inbox<number>();
  await rig
    .session()
    .channel(channel, type)
    .subscribe(({ n }) => inbox.put(n), options);
  return inbox;
}

/** Raises events numbered from 0 until the queue takes no more, however often that is tried. @returns how many it took */
export async function untilFull(publish: (n: number) => void): Promise<number> {
  let raised = 0;
  const isTaken = (): boolean => {
    try {
      publish(raised);
      raised++;
      return true;
    } catch {
      return false;
    }
  };
  // Each try in a turn of its own.
  const isFull = async (): Promise<boolean> => {
    for (let i = 0; i < 10; i++) {
      if (isTaken()) return false;
      await new Promise(resolve => setImmediate(resolve));
    }
    return true;
  };
  await expect.poll(isFull, { interval: 1 }).toBe(true);
  return raised;
}

/** Resolves when the clock that stamps events has gone on by so much: a replay keeps to the time between them. */
export async function whenLater(ms: number): Promise<void> {
  const then = Date.now();
  await expect.poll(() => Date.now() - then, { interval: 1 }).toBeGreaterThanOrEqual(ms);
}

/** Resolves when the session or consumer is in that state. */
export function whenState(
  watched: Pick<Session, "status" | "onStatus">,
  state: Session["status"]["state"],
): Promise<void> {
  if (watched.status.state === state) return Promise.resolve();
  return new Promise(resolve => {
    const stop = watched.onStatus(status => {
      if (status.state !== state) return;
      stop();
      resolve();
    });
  });
}

export { PATIENT, PATIENT_GATEWAY } from "./patient.ts";
export { Tick } from "./tick.ts";
