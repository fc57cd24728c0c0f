import { useStatus } from "@jecho/react";
import type { PageState } from "../page-state.ts";
import { lastShownAt } from "../page-visibility.ts";
import { useNow } from "./state.tsx";
import { expectedIntervalMs, type Judged, judge } from "./view-state.ts";

/** How the page as a whole is doing: that is, the connection and the simulation's own word. */
export function usePageState({ feed, latest }: PageState): Judged {
  const session = useStatus();
  const now = useNow(500);
  const { simulation, intervalMs, receivedAt, channel } = latest;
  return judge({
    now,
    session,
    subscription: channel,
    isOnline: navigator.onLine,
    openedAt: channel.state === "live" ? channel.since : 0,
    lastEventAt: receivedAt,
    gapMs: latest.gapMs,
    ageMs: simulation && feed?.clock.ageMs(simulation.step, now),
    shownAt: lastShownAt(),
    statusAt: receivedAt,
    paused: simulation?.paused ?? false,
    expectedMs: expectedIntervalMs(simulation?.speed ?? 1, intervalMs),
    isAlarm: false,
    waitingSince: 0,
  });
}

/** Whether the simulation is heard now, so that what it says holds and what is asked of it reaches it. */
export function isHeard({ state }: Judged): boolean {
  return state === "live" || state === "behind" || state === "paused";
}
