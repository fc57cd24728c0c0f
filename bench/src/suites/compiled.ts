import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { COLLECTS, GatewayProcess, Worker } from "../processes.ts";
import { atLeast, atMost } from "../report.ts";
import { columnsOf, ratios } from "../statistics.ts";
import { type Context, repeat, type Suite } from "../suite.ts";
import { runVitest } from "../vitest.ts";
import type { Consume, Produce, Stream } from "../workers/growing.ts";
import type { Cost, CostOf } from "../workers/moe-cost.ts";
import type { Measurement, Side } from "../workers/moe-latency.ts";
import { compiledBreakEven } from "./moe-break-even.ts";

const PLACES = ["local", "compiled", "isolated-vm"] as const;
type Place = (typeof PLACES)[number];
/** Events of a channel with many filters. */
const EVENTS_PER_SECOND = 5000;
const SCRIPTS = fileURLToPath(new URL("../../../modulators/scripts/", import.meta.url));

/** Anybody's filters, compiled: what an event costs that they reject, beside the other tiers, and whether they come out the same. */
export const compiled: Suite = {
  name: "compiled",
  about: "filters that are compiled, against the same in the local tier and in a host",
  // Most of it is the fuzzer, which installs each of its programs in a sandbox.
  limitMs: 3_600_000,
  async run(context) {
    await accepted(context);
    await costs(context);
    await compiledBreakEven(context);
    await installs(context);
    await contained(context);
    await manyFilters(context);
    await fuzz(context);
  },
};

/** Modulators that come with the project and are compiled beside a producer that does not know them. */
async function accepted({ report }: Context): Promise<void> {
  const counts = JSON.parse(await printedBy("accepted")) as Record<string, [compiled: number, of: number]>;
  for (const [name, goal] of [
    ["standard", 12],
    ["examples", 14],
  ] as const) {
    const [compiled, of] = counts[name] as [number, number];
    report.metric(`compiled.accepted_${name}`, [compiled], `of ${of}`, atLeast(goal));
  }
}

async function costs({ report, quick }: Context): Promise<void> {
  const worker = new Worker("moe-cost");
  try {
    const events = quick ? 100_000 : 400_000;
    const rounds = await repeat(quick ? 5 : 15, async () => {
      const round = {} as Record<Place, number>;
      for (const place of PLACES) {
        const of: CostOf = { place, filter: "range", events };
        const { sandboxNs, hostNs, producerNs } = await worker.call<Cost>("cost", of);
        round[place] = sandboxNs + hostNs + producerNs;
      }
      return round;
    });
    const rejected = columnsOf(rounds);
    for (const [name, place] of [
      ["local", "local"],
      ["compiled", "compiled"],
      ["hosted", "isolated-vm"],
    ] as const)
      report.metric(`compiled.range_filter_${name}`, rejected[place], "ns/event");
    report.metric(
      "compiled.range_filter_vs_local",
      ratios(rejected.compiled, rejected.local),
      "x",
      atMost(0.25),
    );
    report.metric(
      "compiled.range_filter_vs_hosted",
      ratios(rejected.compiled, rejected["isolated-vm"]),
      "x",
      atMost(0.03),
    );
    for (const [name, filter, native, goal] of [
      ["mean_37x253", "meanOf", "mean", 0.25],
      ["mean_37x253_by_a_loop", "mean", "mean", undefined],
      ["window", "window", "window", 0.7],
    ] as const) {
      const of: CostOf = { place: "compiled", filter, events: 7400 };
      const both = await repeat(quick ? 5 : 15, async () => ({
        compiled: (await worker.call<Cost>("cost", of)).sandboxNs,
        native: await worker.call<number>("native", native),
      }));
      const { compiled, native: outside } = columnsOf(both);
      report.metric(`compiled.${name}`, compiled, "ns/event");
      const isMet = goal === undefined ? undefined : atMost(goal);
      report.metric(`compiled.${name}_vs_native`, ratios(compiled, outside), "x", isMet);
    }
    const holds = await repeat(quick ? 1 : 3, () => worker.call<number>("longestHold"));
    report.metric("compiled.longest_hold", Math.max(...holds), "ms", atMost(5));
    for (const place of ["local", "compiled"] as const) {
      const first = await repeat(quick ? 5 : 15, () => worker.call<number>("first", place));
      const isCompiled = place === "compiled";
      const name = isCompiled ? "compiled.range_filter_first_512" : "compiled.range_filter_first_512_local";
      report.metric(name, first, "ns/event", isCompiled ? atMost(100) : undefined);
    }
  } finally {
    await worker.stop();
  }
}

/** Until a filter is in force whose text was never seen before, or only its parameters, against a synchronous event. */
async function installs({ report, quick }: Context): Promise<void> {
  const gateway = await GatewayProcess.start();
  const [producing, consuming] = [new Worker("moe-latency"), new Worker("moe-latency")];
  try {
    const side: Side = { port: gateway.port, local: false };
    await producing.call("produce", side);
    await consuming.call("consume", side);
    // Nobody installs again and again without a rest.
    const rested: Measurement = { acts: 1, restMs: 15 };
    const install = async (isNew: boolean): Promise<number> => {
      const [us = 0] = await consuming.call<number[]>("installLevels", { ...rested, isNew });
      return us;
    };
    const rounds = await repeat(quick ? 20 : 100, async () => ({
      sync: (await producing.call<number[]>("sync", rested))[0] ?? 0,
      unseen: await install(true),
      known: await install(false),
    }));
    const { sync, unseen, known } = columnsOf(rounds);
    report.metric("compiled.sync_event", sync, "us");
    report.metric("compiled.install", unseen, "us");
    report.metric("compiled.install_vs_sync_event", ratios(unseen, sync), "x", atMost(2));
    report.metric("compiled.install_known_vs_sync_event", ratios(known, sync), "x");
  } finally {
    await Promise.all([gateway, producing, consuming].map(process => process.stop()));
  }
}

/** Hostile modulators where what can be compiled is, and texts and events against the compiler itself. */
async function contained({ report, quick }: Context): Promise<void> {
  const files: readonly (readonly [project: string, ...files: string[]])[] = quick
    ? [["all", "modulators/test/tiers/compiled/compiled-tier"]]
    : [
        ["compiled", "hostile-"],
        [
          "all",
          "modulators/test/tiers/compiled/compiled-tier",
          "tiers/compiled/compiler",
          "tiers/compiled/differences",
        ],
      ];
  let [passed, all] = [0, 0];
  for (const [project, ...some] of files) {
    const { testResults } = await runVitest([...some, "--project", project]);
    for (const { fullName, status } of testResults.flatMap(({ assertionResults }) => assertionResults)) {
      if (status !== "passed" && status !== "failed") continue;
      all++;
      if (status === "passed") passed++;
      else report.note(`compiled.contained: NOT contained: ${fullName}`);
    }
  }
  report.metric("compiled.contained", passed, `of ${all}`, atLeast(Math.max(1, all)));
}

/** 10,000 strangers' filters of one channel, two of which let an event through, against one: the whole of their producer's process. */
async function manyFilters({ report, quick }: Context): Promise<void> {
  const filters = quick ? 1000 : 10_000;
  const gateway = await GatewayProcess.start([
    "--limit",
    `modulatorsPerConnection=${filters + 1}`,
    "--log-level",
    "warn",
  ]);
  const [producer, viewers] = [new Worker("growing", [], COLLECTS), new Worker("growing")];
  const { port } = gateway;
  // Of one filter, the first of many, hardly any of their events is wanted, and each of its own.
  const cost = async (channel: string, of = filters): Promise<number> => {
    const before = producer.cpuMs();
    const asked: Stream = { channel, perSecond: EVENTS_PER_SECOND, filters: of, ms: quick ? 500 : 2000 };
    const events = await producer.call<number>("stream", asked);
    return (1000 * (producer.cpuMs() - before)) / events;
  };
  const view = (channel: string, count: number): Promise<number> =>
    viewers.call<number>("consume", { port, channels: [channel], count, by: "filters" } satisfies Consume);
  try {
    const produce: Produce = { port, channels: ["one", "many"], each: 1, tier: "compiled" };
    await producer.call("produce", produce);
    await view("one", 1);
    await cost("one");
    const before = await producer.call<number>("memory");
    const ms = await view("many", filters);
    report.metric(`compiled.open_${filters}`, [ms / 1000], "s");
    const bytes = (await producer.call<number>("memory")) - before;
    report.metric("compiled.memory_per_modulator", [bytes / filters / 1024], "KiB", atMost(20));
    const rounds = await repeat(quick ? 3 : 15, async () => ({
      one: await cost("one"),
      many: await cost("many"),
      wanted: await cost("one", 1),
    }));
    const { one, many, wanted } = columnsOf(rounds);
    report.metric("compiled.filters_1", one, "us/event");
    report.metric("compiled.filters_1_wanted", wanted, "us/event");
    report.metric(`compiled.filters_${filters}`, many, "us/event");
    const goal = quick ? undefined : atMost(3);
    report.metric(`compiled.filters_${filters}_vs_1`, ratios(many, one), "x", goal);
    report.metric(`compiled.filters_${filters}_vs_1_wanted`, ratios(many, wanted), "x");
  } finally {
    await Promise.all([producer.stop(), viewers.stop(), gateway.stop()]);
  }
}

async function fuzz({ report, quick }: Context): Promise<void> {
  const [programs, events] = quick ? [64, 128] : [1100, 1000];
  // Its exit code says that something differs, too.
  const { pairs, differences } = JSON.parse(
    await printedBy("fuzz-compiled", `${programs}`, `${events}`, "1"),
  );
  report.metric("compiled.fuzz_pairs", pairs, "pairs", quick ? undefined : atLeast(1_000_000));
  report.metric("compiled.fuzz_differences", differences, "programs", atMost(0));
}

/** The last line that a script of the modulators' prints. */
async function printedBy(script: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [`${SCRIPTS}${script}.ts`, ...args]).catch(
    (failed: { stdout?: string }) => ({ stdout: failed.stdout ?? "" }),
  );
  return stdout.trim().split("\n").at(-1) as string;
}
