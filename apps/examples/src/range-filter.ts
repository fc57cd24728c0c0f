import { modulatorFrom } from "@jecho/client";
import type { Example } from "./example.ts";
import { TRADES, Trade } from "./trades.ts";

/** Figure 4 of the ECho paper: a derived channel with the trades outside of a range. */
export const rangeFilter: Example = {
  about: "ECho, figure 4: a derived channel of the trades outside of a range",
  async run(producing, consuming, print) {
    const producer = await producing.channel("examples/trades", Trade).produce();
    const outside = modulatorFrom((input: Trade) => input.tradePrice < 75.5 || input.tradePrice > 78.5);
    await consuming
      .channel("examples/trades", Trade)
      .subscribe(({ symbol, tradePrice }) => print(`${symbol} at ${tradePrice}`), { modulator: outside });
    for (const trade of TRADES) await producer.publishSync(trade);
  },
};
