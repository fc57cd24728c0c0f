// `npm run accepted --workspace @jecho/modulators`: which of the modulators that come with the project are compiled beside a producer that does not know them, and
// why others are not.
import { exampleModulators, standardModulators, verdictsOn } from "../test/tiers/compiled/shipped.ts";

const counts: Record<string, readonly [compiled: number, of: number]> = {};
for (const [kind, all] of [
  ["standard", standardModulators()],
  ["examples", exampleModulators()],
] as const) {
  const verdicts = Object.entries(verdictsOn(all));
  for (const [name, verdict] of verdicts) process.stderr.write(`# ${name}: ${verdict}\n`);
  counts[kind] = [verdicts.filter(([, verdict]) => verdict === "compiled").length, all.length];
}
console.log(JSON.stringify(counts));
