import { whyNoNats } from "@jecho/e2e/nats";
import { expect, test } from "vitest";
import { runChaos } from "../src/chaos/chaos.ts";
import { CATEGORIES } from "../src/chaos/checker.ts";

const whyNot = await whyNoNats();

test.each([
  ["a list", false],
  ["NATS", true],
])(
  "CLU-3, DEL-10: a restart of three gateways in turn, under load, costs no consumer an event (by %s)",
  {
    timeout: 300_000,
  },
  async (_, byNats) => {
    if (byNats && whyNot !== undefined) return console.warn(whyNot);
    const done = await runChaos({
      seed: 3,
      gateways: 3,
      byNats,
      roams: true,
      allModulate: true,
      kinds: ["gateways-restarted-in-turn"],
      faults: 1,
      patienceMs: 20_000,
    });
    expect(done.failures).toEqual([]);
    for (const category of CATEGORIES) {
      const verdict = done.verdicts[category];
      const nothing = { lostUntold: 0, duplicated: 0, reordered: 0, corrupt: 0, overtold: 0 };
      // A machine that is so busy that it starves modulators' hosts restarts these, with what waited in them.
      const isStarved = category.startsWith("modulated") && verdict.restarts > 0;
      // Consumers that do not keep up are told what was dropped.
      const wanted = isStarved || category === "slow" ? nothing : { ...nothing, told: 0 };
      const seen = JSON.stringify(verdict);
      expect(verdict, `${category} ${seen}\n${done.notes.join("\n")}`).toMatchObject(wanted);
      expect(verdict.events).toBeGreaterThan(1000);
    }
  },
);
