import { afterEach, expect, test, vi } from "vitest";
import { Hold } from "../../../src/concentrator/outgoing/hold.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("DEL-8: what is raised waits through a second break, as long as through the first", () => {
  vi.useFakeTimers();
  const ended = vi.fn();
  const hold = new Hold(ended);
  const wanted = {} as Parameters<Hold["back"]>[0];
  hold.interrupted([wanted]);
  vi.advanceTimersByTime(10_000);
  hold.live();
  vi.advanceTimersByTime(4000);
  hold.interrupted([wanted]);
  vi.advanceTimersByTime(29_000);
  expect(ended).not.toHaveBeenCalled();
  hold.live();
  hold.opened();
  vi.advanceTimersByTime(5000);
  expect(ended).toHaveBeenCalledOnce();
});

test("DEL-8: what is raised waits until the producers are open again, and then while somebody is on the way back", () => {
  vi.useFakeTimers();
  const ended = vi.fn();
  const hold = new Hold(ended);
  type Wanted = Parameters<Hold["back"]>[0];
  const [first, second] = [{} as Wanted, {} as Wanted];
  hold.interrupted([first, second]);
  hold.live();
  // A slow network: it takes so long to open them.
  vi.advanceTimersByTime(20_000);
  hold.opened();
  vi.advanceTimersByTime(4000);
  hold.stir();
  vi.advanceTimersByTime(4000);
  hold.back(first);
  vi.advanceTimersByTime(4000);
  expect(ended).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1000);
  expect(ended).toHaveBeenCalledOnce();
});
