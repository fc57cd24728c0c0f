import { describe, expect, it } from "vitest";
import { arrangementOf } from "../../viewer/src/views/arrangement.ts";

describe("the views of the page", () => {
  it("are one of each kind, placed by the style sheet, where nothing else is asked for", () => {
    for (const search of ["", "?views=", "?views=pie"])
      expect(arrangementOf(search)).toEqual({
        kinds: ["map", "globe", "section"],
        gridTemplate: undefined,
      });
  });

  it("are those asked for, without what is none", () => {
    expect(arrangementOf("?views=map,pie,section,map").kinds).toEqual(["map", "section", "map"]);
  });

  it("share a grid about as high as wide", () => {
    const grid = (count: number) => arrangementOf(`?views=${Array(count).fill("map")}`).gridTemplate;
    expect(grid(1)).toBe("repeat(1, minmax(0, 1fr)) / repeat(1, minmax(0, 1fr))");
    expect(grid(3)).toBe("repeat(2, minmax(0, 1fr)) / repeat(2, minmax(0, 1fr))");
    expect(grid(16)).toBe("repeat(4, minmax(0, 1fr)) / repeat(4, minmax(0, 1fr))");
  });

  it("are 16 at most", () => {
    expect(arrangementOf(`?views=${Array(40).fill("globe")}`).kinds).toHaveLength(16);
  });
});
