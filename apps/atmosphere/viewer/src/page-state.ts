import type { PageAddress } from "./page-address.ts";
import type { StatusFeed, StatusSnapshot } from "./status-feed.ts";
import type { Traffic } from "./traffic.ts";
import type { ShownViews } from "./views/shown-views.ts";

/** State that every part of the page may show. */
export interface PageState {
  readonly feed: StatusFeed | undefined;
  readonly latest: StatusSnapshot;
  readonly traffic: Traffic;
  readonly views: ShownViews;
  readonly address: PageAddress;
}
