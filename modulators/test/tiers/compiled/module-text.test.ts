import { modulatorFrom } from "@jecho/modulators";
import { expect, test } from "vitest";
import { MOE_EXPORTS } from "../../../src/tiers/compiled/module-text.ts";
import { Bench } from "./compiled-bench.ts";

test("MOE-27: what is known to be exported by jecho:moe is there in a host, too", async () => {
  const text = `import { ${[...MOE_EXPORTS].join()} } from "jecho:moe"; export default class extends FifoModulator {}`;
  for (const local of [true, false]) {
    await using bench = new Bench({ local });
    await bench.install(modulatorFrom(text));
    expect(bench.placement?.tier).toBe(local ? "compiled" : "hosted");
  }
});
