import { JechoError } from "@jecho/shared";
import type { Position } from "@jecho/shared/internal";

/** The position of a source on a channel. A producer's usual and urgent events are two sources, counted separately. */
export interface SourceCount {
  /** Subject that owns the source: the one that named it first, or whose kept events are of it; undefined where unknown. */
  by: string | undefined;
  readonly source: bigint;
  readonly urgent: boolean;
  /** Count of the newest event that was taken. */
  raised: number;
  /** The raw source of a modulator's output; 0n for none. The modulator has been through the events behind `after` up to `through`. */
  origin: bigint;
  after: number;
  through: number;
  /** When its newest event came that an earlier gateway kept, in milliseconds since 1970; 0 for none. */
  keptAt: number;
}

/** A source as the gateway knows it: its position, its producer, and whether it goes on. */
export interface GatewayLane extends SourceCount {
  producer: number;
  /** Count behind which it began here. */
  readonly began: number;
  /** Whether the producer is here and sends its events. */
  live: boolean;
  /** Whether the producer is here and sends none, as nobody wants them. */
  rests: boolean;
  /** Sequence number of the channel's newest event when this count last changed; -1 for a change at an earlier gateway. */
  seq: number;
  /** Whether its newest events were never sent, or are behind a gap: its end then has no sequence number, and listeners know it if told. */
  isUnsent: boolean;
  /** Whether the producer has gone. */
  isOver: boolean;
  /** When it ended, or a time before that where that was at another gateway, by `performance.now`; 0 while it goes on. */
  endedAt: number;
  /** The number of the producer that was cut off and may come back; 0 where none is waited for. */
  awaited: number;
  /** The process that its producer was in when it left; 0 while it is here, or where it was at another gateway. */
  process: number;
}

/** A lane of a source that has ended, of which nothing was taken. */
export const ENDED = {
  ...{ producer: 0, origin: 0n, after: 0, through: 0, keptAt: 0, by: undefined },
  ...{ live: false, rests: false, isUnsent: true, isOver: true, endedAt: 0, awaited: 0, process: 0 },
};

/** A producer's present or last position in a raw source. */
export type SourceAt = Readonly<Pick<GatewayLane, "source" | "urgent" | "producer" | "raised">> & {
  readonly endedAt?: number;
};

/** The source of a run's events, and of derived ones the raw source; whether its listeners have left, and its producer. */
export type RunSource = Readonly<Pick<GatewayLane, "source" | "origin" | "rests" | "isOver">>;

/** Longest time that the frame can say, 49 days: said of earlier ends, too. */
const MOST_AGO_MS = 2 ** 32 - 1;

/** Accounts for a stretch: joins it to the one before or, behind a gap, begins a new one. */
export function account(lane: GatewayLane, after: number, through: number): void {
  if (after > lane.through) lane.after = after;
  lane.through = Math.max(lane.through, through);
}

export function isOverNow({ isOver, awaited }: GatewayLane): boolean {
  return isOver && awaited === 0;
}

/** Whether the lane is a raw source without output. */
export function isUnmade({ source, origin }: GatewayLane): boolean {
  return source === origin;
}

/** The position of a lane, whose channel its channel says. */
export function positionOf(lane: GatewayLane): Position {
  const { source, urgent, producer, raised, origin, after, through, endedAt, process } = lane;
  const counts = { raised: BigInt(raised), after: BigInt(after), through: BigInt(through) };
  const agoMs = endedAt === 0 ? 0 : Math.min(MOST_AGO_MS, Math.ceil(performance.now() - endedAt));
  return {
    kind: "Position",
    channel: 0,
    producer,
    urgent,
    source,
    origin,
    process,
    by: "",
    agoMs,
    ...counts,
  };
}

/** @throws JechoError `FRAME_MALFORMED` for a count that no number holds */
export function checkCounts(...counts: readonly bigint[]): void {
  for (const count of counts)
    if (count > Number.MAX_SAFE_INTEGER) throw new JechoError("FRAME_MALFORMED", "a count is beyond 2^53");
}

/** A source's name: usual and urgent events are counted separately. */
export function sourceName({ source, urgent }: Pick<SourceCount, "source" | "urgent">): string {
  return `${source} ${urgent}`;
}

/** The number of a producer's usual or urgent events. */
export function laneNumber(producer: number, urgent: boolean): number {
  return 2 * producer + (urgent ? 1 : 0);
}
