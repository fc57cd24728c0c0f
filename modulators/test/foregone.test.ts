// An installation that is sure to end as the last one of its module did is answered before the host has made it (MOE-3).
import type { EagerHandler } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import { EventsFrame, encodeRun, type Frame } from "@jecho/shared/internal";
import { expect, test, vi } from "vitest";
import type { CarrierKind } from "../src/host/carrier.ts";
import { childProcess } from "../src/host/child.ts";
import { ModulatorHost } from "../src/host/modulator-host.ts";
import type { HostClock } from "../src/periods.ts";
import { grid, modulator } from "./rig.ts";
import { frameOf, PLAIN, takenOver } from "./taken-over.ts";

const CHANNEL = 1;
const LEAST = "enqueue(event) { if (event[0] >= this.parameters.least) super.enqueue(event); }";

/** What a host says reaches its producer when the test lets it. */
class Held {
  isHeld = false;
  readonly waiting: Frame[] = [];
  #release: (() => void)[] = [];

  of(kind: CarrierKind): CarrierKind {
    return {
      hungMs: kind.hungMs,
      start: (limits, limitBytes, listener) =>
        kind.start(limits, limitBytes, {
          exit: exit => listener.exit(exit),
          frame: bytes => {
            if (!this.isHeld) return listener.frame(bytes);
            this.waiting.push(frameOf(bytes));
            this.#release.push(() => listener.frame(bytes));
          },
        }),
    };
  }

  release(): void {
    this.isHeld = false;
    this.waiting.length = 0;
    for (const release of this.#release.splice(0)) release();
  }
}

/** A producer with a host, which makes ready for the next installation as soon as it may. */
class Producer implements AsyncDisposable {
  readonly held = new Held();
  readonly removed = new Map<number, string>();
  readonly #seen = new Map<number, number[]>();
  readonly #host: ModulatorHost;
  #derived = 0;
  #raised = 0;

  constructor(carrier = childProcess(() => {})) {
    const after = (_: number, act: () => void): (() => void) => {
      queueMicrotask(act);
      return () => {};
    };
    const clock: HostClock = { now: () => 0, after };
    this.#host = new ModulatorHost({
      carrier: this.held.of(carrier),
      clock,
      limits: { callMs: 5000, installMs: 5000 },
      onEvents: (run, derived) => {
        for (let i = 0; i < run.count; i++) this.seen(derived).push(run.bytes[run.eventStart(i)] as number);
      },
      onRemoved: (derived, { code }) => this.removed.set(derived, code),
    });
  }

  seen(derived: number): number[] {
    const seen = this.#seen.get(derived) ?? [];
    this.#seen.set(derived, seen);
    return seen;
  }

  /** @returns the derived channel, when it is installed */
  async install({ modulator }: EagerHandler, parameters: unknown, schema?: Uint8Array): Promise<number> {
    const derived = ++this.#derived;
    const table = { ...modulatorTable(modulator as never), parameters: JSON.stringify(parameters) };
    await this.#host.install({ derived, channel: CHANNEL, schema, modulator: table });
    return derived;
  }

  remove(derived: number): void {
    this.#host.remove(derived);
  }

  /** Events of one byte each. */
  publish(...bytes: number[]): void {
    const events = bytes.map(byte => ({ bytes: Uint8Array.of(byte), start: 0, end: 1 }));
    const header = {
      channel: CHANNEL,
      producer: 1,
      raised: this.#raised,
      token: 0n,
      parameters: 0,
      flags: 0,
    };
    this.#raised += bytes.length;
    this.#host.enqueue(EventsFrame.at(encodeRun(header, events)));
  }

  /** The host has done all that it was sent, and what it makes ready. */
  settled(): Promise<void> {
    return this.#host.settled();
  }

  /** Until the host has judged the module, and said so. */
  async learn(handler: EagerHandler, parameters: unknown): Promise<void> {
    for (let i = 0; i < 2; i++) {
      this.remove(await this.install(handler, parameters));
      await this.settled();
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#host.close();
  }
}

function handler(body: string): EagerHandler {
  return { modulator: modulator(body, "") };
}

test("MOE-3: the third time a module without a say is installed, its producer need not wait for the host", async () => {
  await using producer = new Producer();
  const least = handler(LEAST);
  await producer.learn(least, { least: 9 });
  producer.held.isHeld = true;
  const derived = await producer.install(least, { least: 2 });
  // From the answer on every event comes through it.
  producer.publish(1, 2, 3);
  expect(producer.seen(derived)).toEqual([]);
  producer.held.release();
  await producer.settled();
  expect(producer.seen(derived)).toEqual([2, 3]);
});

test.each([
  [
    "whose class looks at its parameters",
    `static check({ least }) { if (!(least >= 0)) throw new Error("no"); } ${LEAST}`,
    { least: 2 },
    undefined,
  ],
  ["with more parameters than are looked through", LEAST, { least: 2, more: "a".repeat(5000) }, undefined],
  ["which is fed with something else", LEAST, { least: 2 }, "other"],
])("MOE-3: for one %s it waits each time", async (_, body, parameters, feed) => {
  await using producer = new Producer();
  const some = handler(body);
  await producer.learn(some, { least: 9 });
  const { held } = producer;
  held.isHeld = true;
  const schema = feed === undefined ? undefined : grid.schema;
  let isInstalled = false;
  const installing = producer.install(some, parameters, schema).then(() => {
    isInstalled = true;
  });
  await vi.waitUntil(() => held.waiting.some(({ kind }) => kind === "Installed"), { interval: 5 });
  expect(isInstalled).toBe(false);
  held.release();
  await installing;
});

test("MOE-3: while the host is at something else, it waits", async () => {
  await using producer = new Producer();
  const least = handler(LEAST);
  await producer.learn(least, { least: 9 });
  const { held } = producer;
  held.isHeld = true;
  const first = await producer.install(least, { least: 1 });
  let isInstalled = false;
  const installing = producer.install(least, { least: 2 }).then(() => {
    isInstalled = true;
  });
  await vi.waitUntil(() => held.waiting.filter(({ kind }) => kind === "Installed").length === 2, {
    interval: 5,
  });
  expect(isInstalled).toBe(false);
  held.release();
  await installing;
  producer.remove(first);
});

test("MOE-3: parameters that a class refuses are refused however often it was installed", async () => {
  await using producer = new Producer();
  const least = handler(`static check({ least }) { if (!(least >= 0)) throw new Error("no"); } ${LEAST}`);
  for (let i = 0; i < 4; i++) await producer.learn(least, { least: i });
  await expect(producer.install(least, { least: -1 })).rejects.toMatchObject({ code: "PARAMETERS_INVALID" });
});

test("MOE-5: of a host that does not keep its word the modulator is removed, and its consumers are told", async () => {
  await using producer = new Producer(breakingItsWord());
  const least = handler(LEAST);
  await producer.learn(least, { least: 9 });
  producer.held.isHeld = true;
  const derived = await producer.install(least, { least: 1 });
  expect(producer.removed.size).toBe(0);
  producer.held.release();
  await producer.settled();
  expect(producer.removed).toEqual(new Map([[derived, "MODULATOR_OUT_OF_MEMORY"]]));
});

/** It says that all is certain, and refuses the third. */
function breakingItsWord(): CarrierKind {
  let installed = 0;
  return takenOver((frame, say) => {
    if (frame.kind === "Install") {
      const { request, derived } = frame;
      const code = new JechoError("MODULATOR_OUT_OF_MEMORY").number;
      if (++installed < 3) say({ kind: "Installed", request, derived, ...PLAIN, certain: true });
      else say({ kind: "Refused", request, code, message: "" });
    } else if (frame.kind === "Remove")
      say({ kind: "Removed", derived: frame.derived, code: 0, message: "" });
    else if (frame.kind === "Prepare" && frame.derived !== 0)
      say({ kind: "Done", derived: frame.derived, batch: 0, dropped: 0, cpuMs: 0 });
  });
}
