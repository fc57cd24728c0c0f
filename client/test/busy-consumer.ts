// An application's thread that takes its first event and then nothing more until it is let go: it does not yield meanwhile.
import { parentPort, workerData } from "node:worker_threads";
import { connect } from "@jecho/client";
import { Tick } from "./tick.ts";

export interface BusyConsumer {
  readonly address: string;
  readonly whenFull: "block" | "drop-oldest";
  /** Shared: [0] lets it go when the test sets it, [1] is the number of the last event by then. */
  readonly gate: Int32Array;
}

export interface Taken {
  readonly seen: readonly number[];
  readonly missed: number;
  readonly dropped: number;
}

const { address, whenFull, gate } = workerData as BusyConsumer;
const session = connect(address);
const seen: number[] = [];
const consumer = await session.channel("a", Tick).subscribe(
  ({ n }) => {
    seen.push(n);
    if (seen.length === 1) Atomics.wait(gate, 0, 0);
    if (n !== Atomics.load(gate, 1)) return;
    const { missed, dropped } = consumer.stats;
    parentPort?.postMessage({ seen, missed, dropped } satisfies Taken);
    void session.close();
  },
  { queue: { whenFull, limitBytes: 256 * 1024 } },
);
