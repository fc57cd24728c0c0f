import type { Modulator } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { errorCode } from "@jecho/shared";
import type { Install, Outgoing } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { Modulation } from "../src/modulation/modulation.ts";

/** Ends by itself, soon after it was installed. */
const failing: Modulator = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { static periodMs = 10; period() { throw new Error("over"); } }`,
};

test("MOE-19: one that ends while its feed is opened is refused with the reason, and nothing else is said of it", async () => {
  const answers: Outgoing[] = [];
  const unfed: string[] = [];
  const fed = Promise.withResolvers<void>();
  const modulation = new Modulation(
    events => new ModulatorEnvironment({ trusted: [failing.source] }, events),
    Number.POSITIVE_INFINITY,
    {
      room: bytes => new Uint8Array(bytes),
      onEvents() {},
      onSeen() {},
      onInstalled() {},
      onStatement() {},
      onRestarted() {},
      together: act => act(),
      onDone() {},
      onFurther() {},
      onAnswer: answer => answers.push(answer),
      onDemand() {},
      onFeed: () => fed.promise,
      onUnfed: name => unfed.push(name),
      schemaOf: () => undefined,
      onState() {},
      onNeeds() {},
      onPull() {},
      onCall() {},
    },
  );
  const install: Install = {
    kind: "Install",
    request: 5,
    channel: 1,
    derived: 2,
    modulator: modulatorTable(failing),
    offers: [],
    behind: 0,
    timeMs: 0,
    instead: {
      process: 3,
      base: "a",
      producers: [4],
      schema: new Uint8Array(0),
      own: false,
      direct: false,
      sources: [],
    },
  };
  modulation.install(install, undefined);
  await expect.poll(() => answers).toHaveLength(1);
  fed.resolve();
  await modulation.runs.finished();
  expect(answers.map(answer => ("code" in answer ? [answer.kind, errorCode(answer.code)] : answer))).toEqual([
    ["Refused", "MODULATOR_FAILED"],
  ]);
  expect(unfed).toEqual(["3@1", "3@1"]);
  expect([...modulation.installed]).toEqual([]);
  await modulation.close();
});
