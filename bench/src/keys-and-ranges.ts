import { type Modulator, modulatorFrom, type } from "@jecho/client";

/** Events that many filters look at: a key, and a value beside it. */
export const Tick = type("Tick", { key: "int32", value: "float64" });

/** One of many filters, by its number: a half has a key each, the other half a range that ends where the next one begins. */
export function filterOf(i: number): Modulator {
  return i % 2 === 0
    ? modulatorFrom((event, { parameters }) => event.key === parameters.key, { parameters: { key: i } })
    : modulatorFrom(
        (event, { parameters }) => event.value >= parameters.from && event.value < parameters.to,
        { parameters: { from: i - 1, to: i + 1 } },
      );
}

/** The event of this number, which one of so many filters of either half lets through. */
export function tickOf(number: number, filters: number): typeof Tick.event {
  const at = (2 * number * 7919) % Math.max(filters, 2);
  return { key: at, value: at + 0.5 };
}
