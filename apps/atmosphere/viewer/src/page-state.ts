import type { Session, Status } from "@jecho/client";
import type { StatusFeed, StatusSnapshot } from "./status-feed.ts";
import type { Traffic } from "./traffic.ts";

/** What every part of the page may have to say. */
export interface PageState {
  readonly session: Session | undefined;
  readonly status: Status;
  readonly feed: StatusFeed | undefined;
  readonly latest: StatusSnapshot;
  readonly traffic: Traffic;
}
