/* What an application says, in the form in which it crosses the wire; what makes no sense is refused here. */
import { JechoError } from "@jecho/shared";
import {
  FROM,
  type History,
  type Place,
  type Queue,
  type SourcePlace,
  WHEN_FULL,
} from "@jecho/shared/internal";
import { sourcePlaces } from "../consumer/handled-sources.ts";
import type { EventPlace, QueueOptions, SubscribeOptions } from "./consumer-options.ts";
import type { HistoryOptions } from "./producer-options.ts";

/** @throws JechoError `ARGUMENT_INVALID` */
export function mostOf(most = Number.POSITIVE_INFINITY): number {
  if (!(most >= 0))
    throw new JechoError("ARGUMENT_INVALID", `modulators.most is ${most}, not a number of at least 0`);
  return most;
}

/** @throws JechoError `ARGUMENT_INVALID` */
export function historyOf({
  events = 0,
  seconds = 0,
  latest = false,
  onDemand = false,
  durable = false,
}: HistoryOptions = {}): History {
  for (const [name, bound] of Object.entries({ events, seconds })) {
    if (!Number.isFinite(bound) || bound < 0)
      throw new JechoError("ARGUMENT_INVALID", `history.${name} is ${bound}, not a number of at least 0`);
  }
  if (durable && events === 0 && seconds === 0 && !latest)
    throw new JechoError(
      "ARGUMENT_INVALID",
      "history.durable is of a history, which has events, seconds or latest",
    );
  return { events: Math.floor(events), seconds, latest, onDemand, durable };
}

/** @throws JechoError `ARGUMENT_INVALID` */
export function queueOf({ whenFull = "drop-oldest", limitBytes = 0 }: QueueOptions = {}): Queue {
  const policy = WHEN_FULL[whenFull] as number | undefined;
  if (policy === undefined)
    throw new JechoError(
      "ARGUMENT_INVALID",
      `queue.whenFull of a consumer is one of ${Object.keys(WHEN_FULL).join(", ")}, not ${whenFull}`,
    );
  return { whenFull: policy, limitBytes };
}

/** @throws JechoError `ARGUMENT_INVALID` */
export function labelOf(label = ""): string {
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
  if (!(speed >= 0))
    throw new JechoError("ARGUMENT_INVALID", `speed is ${speed}, not a number of at least 0`);
  const place = {
    from: FROM.now as number,
    epoch: 0,
    seq: 0n,
    at: 0,
    speed: Number.isFinite(speed) ? speed : 0,
  };
  if (from === "now") return undefined;
  if (from === "last") return { ...place, from: FROM.last };
  if (from instanceof Date) {
    const at = from.getTime();
    if (Number.isNaN(at)) throw new JechoError("ARGUMENT_INVALID", "from is an invalid date");
    return { ...place, from: FROM.time, at };
  }
  const seq = typeof from === "object" ? from.seq : from;
  if (!Number.isSafeInteger(seq) || seq < 0)
    throw new JechoError(
      "ARGUMENT_INVALID",
      `from is ${seq}; "now", "last", a sequence number, a consumer's place or a Date is wanted`,
    );
  if (typeof from === "object") return { ...place, from: FROM.resume, epoch: from.epoch, seq: BigInt(seq) };
  return { ...place, from: FROM.seq, seq: BigInt(from) };
}
