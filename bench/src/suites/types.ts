import { OBJECT_NAMES } from "../objects.ts";
import { Worker } from "../processes.ts";
import { atLeast, atMost } from "../report.ts";
import { ratios } from "../statistics.ts";
import type { Context, Suite } from "../suite.ts";

const PEERS = ["json", "msgpack", "protobuf", "structured_clone"] as const;

/** Types: what encoding, reading and extension by name cost. Measured in a process of its own. */
export const types: Suite = {
  name: "types",
  about: "encoding and reading events, against memcpy and against today's serialisers",
  async run({ report, quick }: Context) {
    const worker = new Worker("serialisers");
    try {
      const options = { rounds: quick ? 5 : 9, ms: quick ? 30 : 60 };
      const large = await worker.call<Record<string, number[]>>("large", options);
      const of = (name: string): number[] => large[name] ?? [];
      for (const [name, times] of Object.entries(large)) report.metric(`types.${name}_100kb`, times, "us");
      report.metric("types.encode_100kb_vs_memcpy", ratios(of("encode"), of("memcpy")), "x", atMost(1.5));
      report.metric("types.superset_vs_same", ratios(of("read_superset"), of("read_same")), "x", atMost(1.1));
      report.metric(
        "types.superset_vs_same_fields",
        ratios(of("read_fields_superset"), of("read_fields_same")),
        "x",
        atMost(1.1),
      );
      for (const object of OBJECT_NAMES) {
        const times = await worker.call<Record<string, number[]>>("object", { ...options, object });
        for (const [name, values] of Object.entries(times))
          report.metric(`types.${name}_${object}`, values, "us");
        // Ahead is demanded on arrays and on the composite.
        const goal = object === "null" ? undefined : atLeast(1);
        for (const way of ["encode", "decode"] as const) {
          for (const peer of PEERS) {
            const theirs = times[`${way}_${peer}`];
            if (theirs === undefined) continue;
            const faster = ratios(theirs, times[`${way}_jecho`] ?? []);
            report.metric(`types.${way}_vs_${peer}_${object}`, faster, "x", goal);
          }
        }
      }
    } finally {
      await worker.stop();
    }
  },
};
