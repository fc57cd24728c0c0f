import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { describe, expect, inject, test } from "vitest";
import { PLACES, rigAt } from "./placement-rig.ts";
import { EVEN, moe, Tick, whenState } from "./rig.ts";

const THIRDS = moe("enqueue(event) { if (event.n % 3 === 0) super.enqueue(event); }");
const CUT_AT = 10;
const BACK_AT = 60;
const LAST = 66;

const NEW = {
  "a plain one": { step: 1, options: {} },
  "one with a filter": { step: 3, options: { modulator: THIRDS } },
} as const;

describe.each(PLACES)("modulators at the %s", at => {
  describe.each([
    "while its producer is cut off",
    "at a gateway that was started again, before its producer is back",
  ])("a consumer begins %s", when => {
    const restarts = when.startsWith("at");

    test.each([
      ["a plain one", "nobody"],
      ["one with a filter", "nobody"],
      ["a plain one", "one with a filter"],
      ["one with a filter", "one with a filter"],
    ] as const)(
      "DEL-2, DEL-8, PROV-5: %s gets what is raised then, or is told of it, where %s was there before",
      async (kind, before) => {
        await using rig = await rigAt(at);
        await using way = await startCutter(rig.gateway.address);
        const backoff = { firstMs: 20, mostMs: 100 };
        await using session = connect(way.address, { ...rig.producing, backoff, place: inject("place") });
        const producer = await session.channel("a", Tick).produce();
        const raise = (from: number, to: number): void => {
          for (let n = from; n <= to; n++) producer.publish({ n, note: "" });
        };
        if (before !== "nobody")
          await rig
            .session()
            .channel("a", Tick)
            .subscribe(() => {}, { modulator: EVEN });
        raise(1, CUT_AT);
        await session.flush();
        const lost = whenState(session, "reconnecting");
        way.part();
        await lost;
        if (restarts) {
          await rig.gateway.close();
          await rig.again();
        }
        const { step, options } = NEW[kind];
        const seen = new Set<number>();
        let told = 0;
        const consumer = await rig
          .session()
          .channel("a", Tick)
          .subscribe(({ n }) => seen.add(n), { ...options, onMissed: ({ events }) => (told += events) });
        raise(CUT_AT + 1, BACK_AT);
        way.join();
        await whenState(session, "live");
        if (kind === "a plain one") await expect.poll(() => producer.demand.consumers).toBeGreaterThan(0);
        else await expect.poll(() => consumer.placements.map(placement => placement.at)).toEqual([at]);
        raise(BACK_AT + 1, LAST);
        await expect
          .poll(() => consumer.stats.missed + seen.size * step)
          .toBeGreaterThanOrEqual(LAST - CUT_AT);
        const lacking = Array.from({ length: LAST - CUT_AT }, (_, i) => CUT_AT + 1 + i).filter(
          n => n % step === 0 && !seen.has(n),
        );
        const [first = 0] = lacking;
        expect(told).toBeGreaterThanOrEqual(lacking.length && (lacking.at(-1) as number) - first + 1);
        expect(told).toBeLessThanOrEqual(LAST - CUT_AT);
        if (before !== "nobody") expect({ told, lacking }).toEqual({ told: 0, lacking: [] });
      },
    );
  });
});
