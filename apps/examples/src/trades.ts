import { type } from "@jecho/client";

/** A trade of a stock, of ECho's figures 4 and 6. */
export const Trade = type("Trade", { symbol: "string", tradePrice: "float64" });
export type Trade = typeof Trade.event;

export const TRADES: readonly Trade[] = [74, 76, 77.5, 79, 78.5, 75.5, 90].map(tradePrice => ({
  symbol: "GT",
  tradePrice,
}));
