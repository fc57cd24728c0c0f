import { modulatorFrom } from "@jecho/client";
import type { Example } from "./example.ts";
import { TRADES, Trade } from "./trades.ts";
import { viewKnown } from "./view-known.ts";

/** Figure 6 of the ECho paper: the range is a parameter block that the client updates. */
export const parameterizedFilter: Example = {
  about: "ECho, figure 6: the same filter, with a range that its consumer changes while it runs",
  async run(producing, consuming, print) {
    const producer = await producing.channel("examples/quotes", Trade).produce();
    const param = consuming.share({ rangeLowBound: 75.5, rangeHighBound: 78.5 });
    const outside = modulatorFrom(
      (input: Trade, { objects: { param } }) =>
        input.tradePrice < param.rangeLowBound || input.tradePrice > param.rangeHighBound,
      { objects: { param } },
    );
    let prices: number[] = [];
    await consuming
      .channel("examples/quotes", Trade)
      .subscribe(({ tradePrice }) => prices.push(tradePrice), { modulator: outside });
    const trade = async (): Promise<string> => {
      prices = [];
      for (const each of TRADES) await producer.publishSync(each);
      return prices.join(", ");
    };
    print(`outside of 75.5 to 78.5: ${await trade()}`);
    param.update({ rangeLowBound: 60, rangeHighBound: 80 });
    await viewKnown(producer, "param", param.state);
    print(`outside of 60 to 80: ${await trade()}`);
  },
};
