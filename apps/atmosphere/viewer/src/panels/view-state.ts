/** State that a view tells of itself, so that no picture is taken for newer than it is. */
import type { Status } from "@jecho/client";
import { dateTime } from "../look.ts";

export type ViewState =
  | "connecting"
  | "waiting"
  | "live"
  | "behind"
  | "paused"
  | "replay"
  | "stale"
  | "reconnecting"
  | "refused"
  | "handed-over"
  | "closed";

/** Signs that the state is made of; times are those of `Date.now()`, 0 where something never was. */
export interface Signs {
  readonly now: number;
  readonly session: Status;
  readonly subscription: Status;
  /** By this device's own word. */
  readonly isOnline: boolean;
  /** When the subscription came into force. */
  readonly openedAt: number;
  readonly lastEventAt: number;
  /** How long ago what came newest was made; undefined where nobody knows. */
  readonly ageMs: number | undefined;
  /** How long after the step before it that came. */
  readonly gapMs: number;
  /** When the page was last shown again: for a hidden one no field is sent. */
  readonly shownAt: number;
  /** When the simulation last spoke on its status channel. */
  readonly statusAt: number;
  readonly paused: boolean;
  readonly expectedMs: number;
  /** Silence says nothing in alarm mode as long as the simulation itself is heard. */
  readonly isAlarm: boolean;
  /** When an unanswered change of the view began. */
  readonly waitingSince: number;
  /** Replay of the past, while it is shown: how many times as fast, and how many steps there are up to the present. */
  readonly replay?: { readonly speed: number; readonly stepsBehind: number } | undefined;
}

export interface Judged {
  readonly state: ViewState;
  readonly since: number;
  readonly detail: string;
}

/** Nobody calls a picture stale that is a blink old. */
const LEAST_STALE_MS = 1500;
/** However slow everything was. */
const MOST_PATIENCE_MS = 15_000;
/** The status channel's own beat while the simulation is paused, three times over. */
const PAUSED_STALE_MS = 3500;
/** Most connections are there before that. */
const CONNECT_PATIENCE_MS = 2000;
/** Half a day: a time of day means the last one. */
const DATELESS_MS = 43_200_000;
/** A new window is not worth a word before that. */
const PATIENCE_MS = 400;

/** Milliseconds between steps that are to be expected: what is asked for, or what the machine can do. */
export function expectedIntervalMs(speed: number, measuredMs: number | undefined): number {
  return Math.max(speed > 0 ? 1000 / speed : 0, measuredMs ?? 0);
}

export function staleAfterMs(expectedMs: number): number {
  return Math.max(LEAST_STALE_MS, 3 * expectedMs);
}

export function judge(signs: Signs): Judged {
  return judgeConnection(signs) ?? judgeReplay(signs) ?? judgePause(signs) ?? judgeSilence(signs);
}

function judgeConnection({ now, session, subscription, isOnline, lastEventAt }: Signs): Judged | undefined {
  // Without a session there is nothing to be said of what was open in it.
  const { state, since, error } = session.state === "live" ? subscription : session;
  if (state === "live") return undefined;
  if (error?.code === "HANDED_OVER") return { state: "handed-over", since, detail: "" };
  // It is said within sentences.
  const told = error === undefined ? "" : `${error.code}: ${error.message.replace(/\.$/, "")}`;
  const isLong = now - since > CONNECT_PATIENCE_MS;
  const detail =
    state === "refused" || state === "closed"
      ? told
      : !isOnline
        ? "this device is offline"
        : told || (isLong ? "no gateway has answered so far" : "");
  // A picture is there already: what is being made now is not the first connection.
  if (state === "connecting" && lastEventAt > 0) return { state: "reconnecting", since, detail };
  return { state, since, detail };
}

function judgeReplay({ replay, expectedMs, subscription }: Signs): Judged | undefined {
  if (replay === undefined) return undefined;
  const { speed, stepsBehind } = replay;
  const seconds = Math.round((stepsBehind * expectedMs) / 1000);
  return { state: "replay", since: subscription.since, detail: `${speed}\u00d7, ${seconds} s behind` };
}

function judgePause({ now, paused, statusAt, shownAt, lastEventAt }: Signs): Judged | undefined {
  if (!paused || lastEventAt === 0) return undefined;
  if (now - Math.max(statusAt, shownAt) > PAUSED_STALE_MS)
    return { state: "stale", since: statusAt, detail: "the simulation is silent" };
  return { state: "paused", since: lastEventAt, detail: "" };
}

function judgeSilence(signs: Signs): Judged {
  const { now, lastEventAt, openedAt, shownAt, statusAt, isAlarm } = signs;
  const limit = staleAfterMs(signs.expectedMs);
  const { ageMs = 0 } = signs;
  if (lastEventAt === 0) {
    const heard = statusAt > 0 && now - statusAt < limit;
    const since = openedAt || signs.subscription.since;
    return { state: "waiting", since, detail: heard ? "for the first event" : "no simulation is heard" };
  }
  const heardAt = isAlarm ? Math.max(statusAt, lastEventAt) : lastEventAt;
  // What is long on its way, or came seldom, may be so again: that it does not come at all is known later.
  const slowMs = Math.max(signs.gapMs, ageMs - (now - lastEventAt));
  const patience = slowMs > limit ? limit + Math.min(2 * slowMs, MOST_PATIENCE_MS) : limit;
  // After a reconnection, or a time unseen, the clock begins again.
  if (now - Math.max(heardAt, openedAt, shownAt) > patience)
    return { state: "stale", since: heardAt, detail: "" };
  if (ageMs > limit && now - Math.max(openedAt, shownAt) > limit)
    return { state: "behind", since: lastEventAt, detail: `${Math.round(ageMs / 1000)} s behind` };
  if (isAlarm && now - lastEventAt > limit) return { state: "live", since: lastEventAt, detail: "no change" };
  const isWaiting = signs.waitingSince > 0 && now - signs.waitingSince > PATIENCE_MS && !isAlarm;
  return { state: "live", since: lastEventAt, detail: isWaiting ? "new window is on its way" : "" };
}

/** A moment of this machine's clock: the time of day alone, or with its date where a page that is open all night may mean another day. */
export function clockTime(at: number): string {
  return Date.now() - at < DATELESS_MS ? new Date(at).toLocaleTimeString("en-GB") : dateTime(at);
}

export function describe(judged: Judged): string {
  return wordsOf(judged) + sinceOf(judged);
}

/** Text that continues the words where there is room; empty where nobody asks since when. */
export function sinceOf({ state, since, detail }: Judged): string {
  const isAsked =
    state === "stale" || state === "reconnecting" || (state === "live" && detail === "no change");
  return isAsked ? ` since ${clockTime(since)}` : "";
}

export function wordsOf({ state, detail }: Judged): string {
  switch (state) {
    case "live":
      return detail === "no change" ? "live, no change" : "live";
    case "behind":
      return detail;
    case "replay":
      return `replay ${detail}`;
    case "handed-over":
      return "continued elsewhere";
    case "waiting":
      return detail === "" ? "waiting" : `waiting: ${detail}`;
    default:
      return state;
  }
}
