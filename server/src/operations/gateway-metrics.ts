import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { GatewayLimits, GatewayStats, KnownLimits } from "../gateway/gateway-limits.ts";
import type { GatewayCounts } from "./gateway-counts.ts";

/** The parts of a gateway that metrics read. */
export interface Measured {
  readonly counts: GatewayCounts;
  readonly limits: KnownLimits;
  readonly stats: () => GatewayStats;
  /** The reason why the gateway takes nobody at present; undefined where it does. */
  readonly whyNotReady: () => string | undefined;
}

/** A gateway's metrics, as Prometheus reads them. All is looked up when it is asked for. */
export function gatewayMetrics({ counts, limits, stats, whyNotReady }: Measured): Registry {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string, value: () => number): void =>
    void new Gauge({
      ...{ name, help, registers },
      collect() {
        this.set(value());
      },
    });
  const counter = (name: string, help: string, value: () => number): void =>
    void new Counter({
      ...{ name, help, registers },
      collect() {
        this.reset();
        this.inc(value());
      },
    });
  const counters = <L extends string>(
    name: string,
    help: string,
    label: L,
    values: () => Iterable<[string, number]>,
  ) =>
    void new Counter({
      ...{ name, help, registers, labelNames: [label] },
      collect() {
        this.reset();
        for (const [of, value] of values()) this.inc({ [label]: of } as Record<L, string>, value);
      },
    });
  gauge("jecho_ready", "1 while the gateway takes clients", () => (whyNotReady() === undefined ? 1 : 0));
  gauge("jecho_connections", "Connections of clients", () => stats().connections);
  gauge("jecho_channels", "Channels in use, or whose history is in memory", () => stats().channels);
  gauge("jecho_derived_channels", "Channels that modulators make", () => stats().derivedChannels);
  gauge("jecho_queue_bytes", "Bytes that wait for consumers who do not keep up", () => stats().queueBytes);
  gauge("jecho_history_bytes", "Bytes of events kept in memory", () => stats().historyBytes);
  gauge(
    "jecho_history_waiting_bytes",
    "Bytes of durable history that wait to be stored",
    () => stats().historyWaitingBytes,
  );
  gauge("jecho_blocking", "Channels on which a consumer has producers wait", () => stats().blocking);
  counter("jecho_events_total", "Events that came in", () => counts.events);
  counter("jecho_event_bytes_total", "Bytes of runs of events that came in", () => counts.bytes);
  counter(
    "jecho_events_dropped_total",
    "Events dropped for processes that did not keep up",
    () => counts.dropped,
  );
  counter(
    "jecho_history_failed_total",
    "Times that a channel's durable history was not stored any more",
    () => counts.unstored,
  );
  counters("jecho_refusals_total", "Requests refused", "code", () => counts.refusals);
  counters("jecho_connections_ended_total", "Connections that ended", "code", () => counts.ended);
  const names = Object.keys(limits) as (keyof GatewayLimits)[];
  new Gauge({
    ...{ name: "jecho_limit", help: "What a limit is set to", registers, labelNames: ["limit"] },
    collect() {
      for (const limit of names) this.set({ limit }, limits[limit]);
    },
  });
  counters(
    "jecho_limit_reached_total",
    "Times that somebody was refused, cut off or lost something for a limit",
    "limit",
    () => names.map(limit => [limit, counts.timesReached(limit)]),
  );
  return registry;
}
