import type { Provenance } from "@jecho/modulators/internal";
import type { ProducerEndpoint } from "../concentrator/endpoints/endpoint.ts";
import { preciseNow } from "../options/tracing.ts";

/** Most remembered runs of one source; a modulator that is further behind is reported to have begun with the oldest. */
const REMEMBERED = 256;

/** An input run of modulators. */
interface BegunRun {
  /** Count of its last event. */
  readonly through: number;
  readonly atMs: number;
}

/** Reports to tracing sessions how long modulators here took for their producers' events. */
export class TracedRuns {
  readonly #begun = new WeakMap<Provenance["source"], BegunRun[]>();

  /** Modulators are given this run. */
  begin({ source, through }: Provenance): void {
    const runs = this.#begun.get(source) ?? [];
    if (runs.length === 0) this.#begun.set(source, runs);
    runs.push({ through, atMs: preciseNow() });
    if (runs.length > REMEMBERED) runs.shift();
  }

  /** A modulator has made events of this stretch of the producer's. */
  made(producer: ProducerEndpoint, { source, after, through }: Provenance, made: number): void {
    const untilMs = preciseNow();
    const begun = this.#begun.get(source)?.find(run => run.through > after);
    const times = { fromMs: begun?.atMs ?? untilMs, untilMs };
    const run = { urgent: source.urgent, first: after + 1, last: through, made, ...times };
    producer.listener.notify({ is: "modulated", endpoint: producer.id, run });
  }
}
