import { existsSync, readFileSync } from "node:fs";
import { fifo } from "@jecho/modulators";
import { expect, test } from "vitest";
import { inEnqueue, neighbourIn } from "./hostile-rig.ts";
import { Rig } from "./rig.ts";

/* What becomes of the memory of modulators that have ended: where the system tells what a process holds. */

const LIMIT_MIB = 16;
const LEAK = "let kept = [];";
/** One of each in a cycle. */
const HOSTILE = [
  inEnqueue("for (;;) kept.push({});", LEAK),
  inEnqueue(`let s = "x"; for (;;) { s += s; kept.push(s + 1); }`, LEAK),
  inEnqueue("for (;;) kept.push(new Uint8Array(1e6).fill(1));", LEAK),
];
/** So many well-behaved ones in a cycle: each has an isolate, or an instance, of about 1 MiB at least. */
const PEACEFUL = 24;
/** Until engines have learned what they learn, and the allocator has grown to what a cycle needs. */
const FIRST_CYCLES = 4;
const FURTHER_CYCLES = 4;
/**
 * Memory that the hostile modulators of one cycle had. If memory did not come back, the further cycles would leave four times as much behind, and
 * those that were removed in peace twice as much by themselves. Spare sandboxes, and garbage that is not collected yet, are less.
 */
const BOUND_MIB = HOSTILE.length * LIMIT_MIB;

/** Memory of the process that the host is, or is a thread of. */
function residentMiB({ host }: Rig): number {
  const status = readFileSync(`/proc/${host.stats.pid ?? "self"}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

test.runIf(existsSync("/proc/self/status"))(
  "12 memory comes back: of modulators that were removed, and of those that were ended at the cap",
  async () => {
    await using rig = new Rig({ limits: { memoryMiB: LIMIT_MIB, timeShare: 1 } });
    const neighbourHasSeenAll = await neighbourIn(rig);
    const peaceful = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        const derived = await rig.install(fifo().modulator);
        rig.step(1);
        await rig.settled();
        rig.host.remove(derived);
      }
    };
    const cycles = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i++) {
        for (const hostile of HOSTILE) {
          const derived = await rig.install(hostile);
          rig.step(1);
          await rig.settled();
          expect(rig.removed.get(derived)?.code).toMatch(/^MODULATOR_(OUT_OF_MEMORY|TIMED_OUT|FAILED)$/);
        }
        await peaceful(PEACEFUL);
      }
    };
    await cycles(FIRST_CYCLES);
    const before = residentMiB(rig);
    await cycles(FURTHER_CYCLES);
    // Garbage is collected as the host goes on.
    await expect
      .poll(async () => {
        await peaceful(1);
        return residentMiB(rig) - before;
      })
      .toBeLessThan(BOUND_MIB);
    neighbourHasSeenAll();
  },
  300_000,
);
