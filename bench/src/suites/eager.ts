import { GatewayProcess, type Process, Worker } from "../processes.ts";
import { atMost } from "../report.ts";
import { ratios } from "../statistics.ts";
import type { Suite } from "../suite.ts";
import { readViewingSession } from "../viewing-session.ts";
import type { Produce } from "../workers/field-producer.ts";
import type { OpenViewer } from "../workers/viewer.ts";

/** Number of the model's steps, computed beforehand; the replay goes through them there and back. */
const MODEL_STEPS = { quick: 24, full: 60 } as const;
/**
 * The round that is not counted is so many times as fast, with so many times the steps in the same session: code is compiled when it has
 * run often, whatever the time.
 */
const WARM_UP = { haste: 2, steps: 2 } as const;

/** Costs of one replay: CPU in milliseconds, bytes on the wire in both directions. */
interface Costs {
  readonly producer: number;
  readonly gateway: number;
  readonly viewer: number;
  readonly producerBytes: number;
  readonly viewerBytes: number;
}

/** Benefits of eager handlers: the recorded session of a viewer, with eager handlers, with such that its producer does not know, and without, in turn. */
export const eager: Suite = {
  name: "eager",
  about: "eager handlers: a viewer's session with and without",
  async run({ report, quick }) {
    const { durationMs } = readViewingSession();
    const rounds = quick ? 1 : 3;
    const speed = quick ? 60 : 20;
    const stepsPerSecond = quick ? 1 : 2;
    const steps = Math.round((durationMs / 1000) * stepsPerSecond);
    const gateway = await GatewayProcess.start();
    const [producer, producerWire, viewerWire] = ["field-producer", "wire", "wire"].map(
      name => new Worker(name),
    ) as [Worker, Worker, Worker];
    const viewers = {
      eager: new Worker("viewer"),
      strangers: new Worker("viewer"),
      whole: new Worker("viewer"),
    };
    const processes: Process[] = [gateway, producer, producerWire, viewerWire, ...Object.values(viewers)];
    const costs: Record<keyof typeof viewers, Costs[]> = { eager: [], strangers: [], whole: [] };
    try {
      const port = await producerWire.call<number>("open", gateway.port);
      const viewerPort = await viewerWire.call<number>("open", gateway.port);
      await producer.call("open", { port, steps: MODEL_STEPS[quick ? "quick" : "full"] });
      for (let round = -1; round < rounds; round++)
        for (const kind of ["eager", "strangers", "whole"] as const) {
          const viewer = viewers[kind];
          const [haste, more] = round < 0 ? [WARM_UP.haste * speed, WARM_UP.steps] : [speed, 1];
          const look = async (): Promise<Costs> => ({
            producer: producer.treeCpuMs(),
            gateway: gateway.cpuMs(),
            viewer: viewer.cpuMs(),
            producerBytes: await producerWire.call<number>("count"),
            viewerBytes: await viewerWire.call<number>("count"),
          });
          const opened = { port: viewerPort, isEager: kind !== "whole", isStranger: kind === "strangers" };
          await viewer.call("open", opened satisfies OpenViewer);
          const before = await look();
          await Promise.all([
            producer.call("produce", {
              steps: more * steps,
              intervalMs: 1000 / (stepsPerSecond * more) / haste,
            } satisfies Produce),
            viewer.call("replay", haste),
          ]);
          const after = await look();
          await viewer.call("close");
          if (round < 0) continue;
          costs[kind].push(
            Object.fromEntries(
              Object.entries(after).map(([name, value]) => [name, value - before[name as keyof Costs]]),
            ) as unknown as Costs,
          );
        }
    } finally {
      await Promise.all(processes.map(process => process.stop()));
    }
    const { eager, strangers, whole } = costs;
    const perSecond = (value: number): number => value / (durationMs / 1000);
    const total = ({ producer, gateway, viewer }: Costs): number => producer + gateway + viewer;
    for (const [kind, rows] of Object.entries(costs)) {
      for (const part of ["producer", "gateway", "viewer"] as const)
        report.metric(
          `eager.${kind}_${part}_cpu`,
          rows.map(row => row[part] / steps),
          "ms/step",
        );
      for (const part of ["producer", "viewer"] as const)
        report.metric(
          `eager.${kind}_${part}_wire`,
          rows.map(row => perSecond(row[`${part}Bytes`])),
          "B/s",
        );
    }
    report.note(
      `the session's ${durationMs / 1000} s with ${stepsPerSecond} steps/s were replayed ${speed} times as fast; the model's steps were computed before`,
    );
    const compare = (of: (costs: Costs) => number): number[] => ratios(eager.map(of), whole.map(of));
    report.metric(
      "eager.bytes_session",
      compare(({ viewerBytes }) => viewerBytes),
      "x",
      atMost(0.02),
    );
    report.metric("eager.total_cpu_session", compare(total), "x", atMost(0.3));
    // Its modulators are texts that the producer does not know: compiled, and hosted in alarm mode.
    report.metric(
      "eager.strangers_total_cpu_session",
      ratios(strangers.map(total), whole.map(total)),
      "x",
      atMost(0.3),
    );
    report.metric(
      "eager.producer_bytes_session",
      compare(({ producerBytes }) => producerBytes),
      "x",
    );
    report.metric(
      "eager.producer_cpu_session",
      compare(({ producer }) => producer),
      "x",
    );
    report.metric(
      "eager.gateway_cpu_session",
      compare(({ gateway }) => gateway),
      "x",
    );
    report.metric(
      "eager.viewer_cpu_session",
      compare(({ viewer }) => viewer),
      "x",
    );
  },
};
