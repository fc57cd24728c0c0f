import { connect, type InheritedSubscription } from "@jecho/client";
import { expect, test } from "vitest";
import { handedPage } from "../../viewer/src/handed-page.ts";

const session = connect("jecho://localhost:1/", { place: "here" });

/** A subscription as it is handed over, as far as its name is read. */
function named(channel: string, label: unknown): InheritedSubscription {
  const text = typeof label === "string" ? label : JSON.stringify(label);
  return { channel: `jecho://localhost:1/${channel}`, label: text, objects: {} } as InheritedSubscription;
}

test("views come in the order that they have on the page, with what each is called", () => {
  const aim = { latitude: 10, longitude: 370, reach: 2 };
  const page = handedPage(session, {
    objects: [],
    subscriptions: [
      named("atmosphere/ozone", {
        kind: "globe",
        place: 1,
        detail: 4,
        aim,
        mode: { kind: "alarm", threshold: 0.2 },
      }),
      named("atmosphere/status", { layer: 7, longitude: -75, colours: "turbo", smooth: false }),
      named("atmosphere/ozone", { kind: "map", place: 0, detail: "auto", mode: { kind: "filter" } }),
    ],
  });
  expect(page.views.map(({ kind, detail, mode }) => ({ kind, detail, mode }))).toEqual([
    { kind: "map", detail: "auto", mode: { kind: "filter" } },
    { kind: "globe", detail: 4, mode: { kind: "alarm", threshold: 0.2 } },
  ]);
  expect(page.views[1]?.aim).toEqual({ ...aim, longitude: 10 });
  expect(page.look).toMatchObject({ layer: 7, longitude: -75, smooth: false, colours: { name: "turbo" } });
});

test("what is called in a way that is not known is left out", () => {
  const page = handedPage(session, {
    objects: [],
    subscriptions: [
      named("atmosphere/ozone", "no JSON"),
      named("atmosphere/ozone", { kind: "cube", place: 0 }),
      named("atmosphere/ozone", { kind: "map", place: "first" }),
      named("atmosphere/ozone", {
        kind: "map",
        place: 0,
        detail: 3,
        mode: { kind: "alarm", threshold: "x" },
        aim: {},
      }),
      named("atmosphere/status", { layer: 1e9, longitude: null, colours: 5 }),
    ],
  });
  expect(page.views).toMatchObject([
    { kind: "map", detail: "auto", mode: { kind: "filter" }, aim: undefined },
  ]);
  expect(page.look).toEqual({ layer: 36 });
});
