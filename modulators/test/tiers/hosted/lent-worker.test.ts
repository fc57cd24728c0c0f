import { Worker as Thread } from "node:worker_threads";
import { modulatorTable } from "@jecho/modulators/internal";
import type { JechoError } from "@jecho/shared";
import { EventsFrame, encodeRun } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { ModulatorEnvironment } from "../../../src/tiers/browser-environment.ts";
import { Lenders, lendWorkers } from "../../../src/tiers/hosted/lent-worker.ts";
import { modulator } from "../../rig.ts";

const CHANNEL = 1;
const DERIVED = 2;
const PROGRAM = new URL("../../../src/generated/worker.mjs", import.meta.url);
/** A thread that is to its program what a page's worker is. */
const WORKER = `
  const { parentPort } = require("node:worker_threads");
  process.getBuiltinModule = undefined;
  globalThis.close = () => process.exit();
  globalThis.postMessage = () => {};
  import(${JSON.stringify(PROGRAM.href)}).then(() => {
    parentPort.onmessage = event => globalThis.onmessage(event);
  });`;
/** Deadlines that no busy machine makes a modulator miss. */
const limits = { callMs: 60_000, installMs: 60_000 };

/** A place that can start no worker itself. */
class Borrower implements AsyncDisposable {
  readonly lenders = new Lenders();
  readonly removed: JechoError[] = [];
  readonly restarts: string[] = [];
  readonly seen: number[] = [];
  /** How often a modulator was installed. */
  installations = 0;
  readonly modulators: ModulatorEnvironment;
  #raised = 0;

  constructor() {
    this.modulators = new ModulatorEnvironment(
      { limits },
      {
        onEvents: run => this.seen.push(run.bytes[run.eventStart(0)] as number),
        onRemoved: (_, error) => this.removed.push(error),
        onImpaired: (_, { message }) => this.restarts.push(message),
        onCall: () => this.installations++,
      },
      undefined,
      { lenders: this.lenders },
    );
  }

  /** @param lends does it start workers? @returns what is to be called when it goes */
  page(lends: boolean): () => void {
    const { port1, port2 } = new MessageChannel();
    if (lends)
      lendWorkers(port1, () => {
        const thread = new Thread(WORKER, { eval: true, execArgv: ["--no-warnings"] });
        return {
          post: (message, transfer) => thread.postMessage(message, transfer as never),
          terminate: () => void thread.terminate(),
        };
      });
    return this.lenders.add(port2);
  }

  async install(body: string): Promise<void> {
    const table = modulatorTable(
      modulator(`static needs = ["log"];\n installed() { this.moe.log("here"); }\n${body}`),
    );
    await this.modulators.install({
      derived: DERIVED,
      channel: CHANNEL,
      schema: undefined,
      modulator: table,
    });
  }

  raise(value: number): void {
    const header = {
      channel: CHANNEL,
      producer: 1,
      raised: ++this.#raised,
      token: 0n,
      parameters: 0,
      flags: 0,
    };
    const event = { bytes: Uint8Array.of(value), start: 0, end: 1 };
    this.modulators.enqueue(EventsFrame.at(encodeRun(header, [event])));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.modulators.close();
  }
}

test("MOE-24: however many pages go while it is at work, a modulator goes on in the next one", async () => {
  await using place = new Borrower();
  const leave = Array.from({ length: 4 }, () => place.page(true));
  await place.install("enqueue() { for (;;); }");
  place.raise(1);
  for (const [i, gone] of leave.slice(0, 3).entries()) {
    await expect.poll(() => place.installations).toBe(i + 1);
    gone();
    expect(place.restarts).toHaveLength(i + 1);
  }
  await expect.poll(() => place.installations).toBe(4);
  expect(place.removed).toEqual([]);
  expect(place.restarts.at(-1)).toContain("the page that lent its worker is gone");
});

test("MOE-24: pages that go before they have started a worker are no reason to run a modulator elsewhere", async () => {
  await using place = new Borrower();
  const leave = Array.from({ length: 5 }, () => place.page(false));
  place.page(true);
  const installed = place.install("enqueue(event) { return super.enqueue(event); }");
  for (const gone of leave) gone();
  await installed;
  place.raise(7);
  await expect.poll(() => place.seen).toEqual([7]);
  expect(place.removed).toEqual([]);
});
