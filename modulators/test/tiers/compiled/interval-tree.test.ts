import { expect, test } from "vitest";
import { type Interval, IntervalTree } from "../../../src/tiers/compiled/interval-tree.ts";
import { seeded } from "./random-values.ts";

test("of intervals that come and go, those around a point are found, each once", () => {
  const random = seeded(1);
  const bound = (): number =>
    random() < 0.2 ? (random() < 0.5 ? -1 : 1) * Number.POSITIVE_INFINITY : Math.floor(random() * 40);
  const tree = new IntervalTree<Interval>();
  let all: Interval[] = [];
  for (let i = 0; i < 3000; i++) {
    const gone = random() < 0.4 ? all[Math.floor(random() * all.length)] : undefined;
    if (gone !== undefined) {
      tree.delete(gone);
      all = all.filter(one => one !== gone);
    } else {
      const [least = 0, most = 0] = [bound(), bound()].sort((a, b) => a - b);
      const interval = { least, most };
      tree.add(interval);
      all.push(interval);
    }
    const point = bound();
    const found: Interval[] = [];
    tree.around(point, interval => found.push(interval));
    const around = all.filter(({ least, most }) => least <= point && point <= most);
    expect(found.length).toBe(around.length);
    expect(new Set(found)).toEqual(new Set(around));
    expect(tree.size).toBe(all.length);
  }
});
