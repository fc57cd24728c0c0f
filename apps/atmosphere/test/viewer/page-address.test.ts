import { expect, onTestFinished, test, vi } from "vitest";
import { colourMap } from "../../viewer/src/drawing/colour-map.ts";
import type { KeptView } from "../../viewer/src/handed-page.ts";
import { lookOf, PageAddress, scalesOf, searchOf, viewsOf } from "../../viewer/src/page-address.ts";

const LOOK = { layer: 24, longitude: 16.25, colours: colourMap("turbo"), smooth: false };
const FILTER = { kind: "filter" } as const;

test("what is looked at is the same again when it is read from the address", () => {
  const views: KeptView[] = [
    {
      kind: "map",
      place: 0,
      aim: { latitude: 48.2, longitude: -16.5, reach: 60 },
      mode: FILTER,
      detail: "auto",
    },
    { kind: "map", place: 1, aim: undefined, mode: { kind: "alarm", threshold: 0.05 }, detail: 4 },
    { kind: "section", place: 2, aim: undefined, mode: FILTER, detail: 2 },
  ];
  const scales = { scale: { low: -1, high: 0.5 }, sectionScale: undefined };
  const search = searchOf("?views=map,map,section&place=here&map=old", LOOK, scales, views);
  expect(search).toBe(
    "?views=map,map,section&place=here&hPa=150&lon=16.25&colours=turbo&cells&scale=-1,0.5&map=48.2,-16.5,60&map=alarm0.05,stride4&section=stride2",
  );
  expect(lookOf(search)).toEqual(LOOK);
  expect(scalesOf(search)).toEqual(scales);
  expect(viewsOf(search, ["map", "map", "section"])).toEqual(views);
});

test("views that are as usual are left out, unless one of their kind stands behind them that is not", () => {
  const usual = (kind: KeptView["kind"], place: number): KeptView => {
    return { kind, place, aim: undefined, mode: FILTER, detail: "auto" };
  };
  const views = [usual("map", 0), usual("globe", 1), { ...usual("map", 2), detail: 8 } as const];
  const search = searchOf("", { ...LOOK, smooth: true }, {}, views);
  expect(search).toBe("?hPa=150&lon=16.25&colours=turbo&map&map=stride8");
  expect(viewsOf(search, ["map", "globe", "map"])).toEqual(views);
});

test("what is no such thing is left out", () => {
  expect(lookOf("?hPa=11&lon=x&cells=no")).toEqual({ smooth: false });
  expect(lookOf("")).toEqual({});
  expect(scalesOf("?scale=5,5&sectionScale=1")).toEqual({ scale: undefined, sectionScale: undefined });
  expect(viewsOf("?map=100,370,60&globe=1,2,alarm-1,stride3", ["map", "globe"])).toMatchObject([
    { aim: { latitude: 90, longitude: 10, reach: 60 } },
    { aim: undefined, mode: FILTER, detail: "auto" },
  ]);
});

test("the address keeps where views look that have not said so yet", () => {
  const search = "?hPa=150&lon=16.4&colours=turbo&map=48.2,16.4,60";
  const written: string[] = [];
  vi.stubGlobal("location", { search, pathname: "/", hash: "" });
  vi.stubGlobal("history", { state: null, replaceState: (_: null, __: "", to: string) => written.push(to) });
  onTestFinished(() => void vi.unstubAllGlobals());
  const address = new PageAddress(viewsOf(search, ["map"]));
  address.setLook({ layer: 20, longitude: 16.4, colours: colourMap("turbo"), smooth: true });
  address.flush();
  expect(written).toEqual([expect.stringContaining("map=48.2,16.4,60")]);
});
