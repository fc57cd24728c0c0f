import { afterEach, expect, test, vi } from "vitest";
import { Hold } from "../src/concentrator/hold.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("DEL-8: what is raised waits through a second break, as long as through the first", () => {
  vi.useFakeTimers();
  const ended = vi.fn();
  const hold = new Hold(ended);
  const wanted = {} as Parameters<Hold["back"]>[0];
  hold.begin([wanted]);
  vi.advanceTimersByTime(10_000);
  hold.live();
  vi.advanceTimersByTime(4000);
  hold.begin([wanted]);
  vi.advanceTimersByTime(29_000);
  expect(ended).not.toHaveBeenCalled();
  hold.live();
  vi.advanceTimersByTime(5000);
  expect(ended).toHaveBeenCalledOnce();
});
