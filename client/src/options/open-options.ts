/* What an application says, in the form in which it crosses the wire; what makes no sense is refused here. */
import { JechoError } from "@jecho/shared";
import {
  checkKind,
  FROM,
  type History,
  type Place,
  type Queue,
  type SourcePlace,
  TEXT,
  WHEN_FULL,
  WHOLE,
} from "@jecho/shared/internal";
import { sourcePlaces } from "../consumer/handled-sources.ts";
import type { EventPlace, QueueOptions, SubscribeOptions } from "./consumer-options.ts";
import type { HistoryOptions } from "./producer-options.ts";

/** @throws JechoError `ARGUMENT_INVALID` */
export function historyOf({
  events = 0,
  seconds = 0,
  latest = false,
  onDemand = false,
  durable = false,
}: HistoryOptions = {}): History {
  if (seconds === Number.POSITIVE_INFINITY)
    throw new JechoError("ARGUMENT_INVALID", "history.seconds is Infinity; a history has bounds");
  if (durable && events === 0 && seconds === 0 && !latest)
    throw new JechoError(
      "ARGUMENT_INVALID",
      "history.durable is of a history, which has events, seconds or latest",
    );
  return { events, seconds, latest, onDemand, durable };
}

export function queueOf({ whenFull = "drop-oldest", limitBytes = 0 }: QueueOptions = {}): Queue {
  return { whenFull: WHEN_FULL[whenFull], limitBytes };
}

/** @throws JechoError `ARGUMENT_INVALID` */
export function labelOf(label = ""): string {
  checkKind("label", label, TEXT);
  if (label.length > 1024) throw new JechoError("ARGUMENT_INVALID", "a label has at most 1,024 characters");
  return label;
}

/** The consumer whose place another one goes on behind: its position in each source, and when it began. @throws JechoError `ARGUMENT_INVALID` */
export function formerOf({ from }: SubscribeOptions): { sources: SourcePlace[]; since: number } {
  const { sources = [], since = 0 } = (typeof from === "object" ? from : {}) as Partial<EventPlace>;
  try {
    return { sources: sourcePlaces(sources), since: Number(BigInt(since)) };
  } catch {
    throw new JechoError("ARGUMENT_INVALID", "`from` is not a consumer's place");
  }
}

/**
 * A time in it is of this machine's clock: what sends it makes that the gateway's.
 *
 * @returns undefined for a consumer that begins now @throws JechoError `ARGUMENT_INVALID`
 */
export function placeOf({ from = "now", speed = 0 }: SubscribeOptions): Place | undefined {
  const place = {
    from: FROM.now as number,
    epoch: 0,
    seq: 0n,
    at: 0,
    speed: Number.isFinite(speed) ? speed : 0,
  };
  if (from === "now") return undefined;
  if (from === "last") return { ...place, from: FROM.last };
  if (from instanceof Date && !Number.isNaN(+from)) return { ...place, from: FROM.time, at: +from };
  const { seq, epoch } = (typeof from === "number" ? { seq: from } : (from ?? {})) as Partial<EventPlace>;
  if (seq === undefined || !Number.isSafeInteger(seq) || seq < 0)
    throw new JechoError(
      "ARGUMENT_INVALID",
      `from is ${seq ?? from}; "now", "last", a sequence number, a consumer's place or a Date is wanted`,
    );
  if (typeof from === "number") return { ...place, from: FROM.seq, seq: BigInt(seq) };
  checkKind("from.epoch", epoch, WHOLE);
  return { ...place, from: FROM.resume, epoch: epoch as number, seq: BigInt(seq) };
}
