import { typeFromFbs } from "@jecho/shared/fbs";
import { EventsFrame } from "@jecho/shared/internal";
import type { LoggedRun, Retention } from "../../src/history/event-log.ts";
import type { HistoryStore } from "../../src/history/store.ts";
import type { Stored } from "../../src/history/stored.ts";
import { encodedRun } from "../raw-client.ts";

export const NAME = "winds/surface";
export const TYPE = typeFromFbs("table Count { n: uint32; } root_type Count;");
export const retention: Retention = {
  events: 1000,
  seconds: Number.POSITIVE_INFINITY,
  bytes: 1 << 24,
  latest: false,
  key: "",
  durable: true,
};

/** A run as a gateway has stamped it. */
export function runOf(seq: number, epoch: number, { count = 1, bytes = 24, by = "" } = {}): LoggedRun {
  const events = Array.from({ length: count }, (_, i) => new Uint8Array(bytes).fill(seq + i));
  const header = { channel: 1, producer: 1, raised: seq, token: TYPE.token };
  const frame = EventsFrame.at(encodedRun(header, ...events));
  frame.stamp(epoch, seq);
  return { frame, source: 5n, origin: 7n, by, at: 1000 * seq };
}

/** Stores runs of one event each. */
export function fill(
  store: HistoryStore,
  name: string,
  epoch: number,
  first: number,
  last: number,
  latest = false,
): void {
  store.beginEpoch(name, { epoch, firstSeq: first }, { ...retention, latest });
  for (let seq = first; seq <= last; seq++) void store.append(name, runOf(seq, epoch));
}

export function seqs(stored: Stored | undefined): number[] {
  return (stored?.runs ?? []).map(({ frame }) => frame.seq);
}

export function range(first: number, last: number): number[] {
  return Array.from({ length: last + 1 - first }, (_, i) => first + i);
}
