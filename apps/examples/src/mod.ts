/** The sample programs, by the names that `npm start -w apps/examples -- NAME` takes. */
import { changingHandlers } from "./changing-handlers.ts";
import { derivedMean } from "./derived-mean.ts";
import type { Example } from "./example.ts";
import { handlerPartitioning } from "./handler-partitioning.ts";
import { parameterizedFilter } from "./parameterized-filter.ts";
import { rangeFilter } from "./range-filter.ts";

export type { Example };

export const EXAMPLES: Readonly<Record<string, Example>> = {
  "handler-partitioning": handlerPartitioning,
  "changing-handlers": changingHandlers,
  "range-filter": rangeFilter,
  "derived-mean": derivedMean,
  "parameterized-filter": parameterizedFilter,
};
