// `npm run fuzz --workspace @jecho/modulators [-- PROGRAMS [EVENTS [SEED]]]`: random modulators on random events, compiled and in isolated-vm: most alone, others
// with many of their kind on one channel.
import { Fuzzer } from "../test/tiers/compiled/fuzzer.ts";

const [programs = 4000, events = 256, first = 1] = process.argv.slice(2).map(Number);
const fuzzer = new Fuzzer();
const { result } = fuzzer;
const STEP = 256;

for (let seed = first; seed < first + programs; seed += STEP) {
  const seeds = Array.from({ length: Math.min(STEP, first + programs - seed) }, (_, i) => seed + i);
  await fuzzer.run(seeds, events);
  process.stderr.write(`# ${result.pairs} pairs, ${result.differences.length} differences\n`);
}
for (let seed = first; seed < first + programs / 100; seed++) await fuzzer.runFilters(seed, 1, events);
await fuzzer.close();
for (const { seed, text, compiled, hosted } of result.differences.slice(0, 5))
  console.log(
    `seed ${seed}\n${text}\ncompiled: ${compiled.slice(0, 400)}\nhosted:   ${hosted.slice(0, 400)}\n`,
  );
for (const [why, count] of [...result.reasons].sort((a, b) => b[1] - a[1]).slice(0, 10))
  process.stderr.write(`# ${count} refused: ${why}\n`);
console.log(
  JSON.stringify({
    programs: result.programs,
    refused: result.refused,
    stopped: result.stopped,
    pairs: result.pairs,
    differences: result.differences.length,
  }),
);
if (result.differences.length > 0) process.exitCode = 1;
