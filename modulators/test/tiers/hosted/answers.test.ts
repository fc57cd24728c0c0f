import { fuzz, mutated } from "@jecho/e2e/fuzz";
import { sampleFrame } from "@jecho/e2e/sample-frames";
import { fifo } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import { EventsFrame, encodeControl, encodeRun, type Outgoing, parseFrame } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import type { CarrierKind } from "../../../src/tiers/hosted/carrier.ts";
import { ModulatorHost } from "../../../src/tiers/hosted/modulator-host.ts";

const [CHANNEL, DERIVED, RUNS, LIMIT_BYTES] = [1, 7, 20, 1 << 20];
const NONE = new Uint8Array(0);

test("WIRE-5: whatever comes out of a host's pipe, its producer lives, and gets of it what may be or nothing", async () => {
  let tried = 0;
  await fuzz("host's pipe", 3, async dice => {
    const before = tried;
    /** A host that answers as it should, now and then in another way, and says what nobody asked. */
    const carrier: CarrierKind = {
      hungMs: 500,
      start(_limits, _limitBytes, listener) {
        let isGone = false;
        const end = (): void => {
          if (isGone) return;
          isGone = true;
          listener.exit({ error: new JechoError("MODULATOR_HOST_FAILED"), blame: "modulator" });
        };
        const tell = (frame: Uint8Array): void => {
          tried++;
          // The carrier itself sees to sizes.
          if (!isGone) listener.frame(dice.below(6) === 0 ? mutated(dice, frame) : frame);
          if (dice.below(8) === 0 && !isGone) listener.frame(sampleFrame(dice));
        };
        const say = (control: Outgoing): void => tell(encodeControl(control));
        let batch = 0;
        return {
          pid: undefined,
          send: bytes =>
            queueMicrotask(() => {
              const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
              const frame = parseFrame(view, bytes, 0, bytes.byteLength);
              if (frame.kind === "Install")
                say({
                  kind: "Installed",
                  request: frame.request,
                  derived: frame.derived,
                  schema: NONE,
                  needs: [],
                  reads: NONE,
                });
              else if (frame.kind === "Events") {
                say({ kind: "Passed", derived: DERIVED, ranges: [0, frame.count] });
                say({ kind: "Done", derived: DERIVED, batch: ++batch });
              } else if (frame.kind === "Remove") say({ kind: "Removed", derived: frame.derived });
            }),
          finish: end,
          kill: () => queueMicrotask(end),
          hold() {},
        };
      },
    };
    const seen: number[] = [];
    await using host = new ModulatorHost({
      carrier,
      limits: { outputBytes: LIMIT_BYTES } as object,
      onEvents: run => seen.push(run.count),
      onRemoved: () => {},
    });
    const modulator = modulatorTable(fifo().modulator);
    const installed = await host
      .install({ derived: DERIVED, channel: CHANNEL, schema: undefined, modulator })
      .catch((error: unknown) => error);
    if (installed instanceof Error) expect(installed).toBeInstanceOf(JechoError);
    for (let raised = 1; raised <= RUNS; raised++) {
      const header = { channel: CHANNEL, producer: 1, raised, token: 0n, parameters: 0, flags: 0 };
      host.enqueue(EventsFrame.at(encodeRun(header, [{ bytes: NONE, start: 0, end: 0 }])));
    }
    await Promise.race([host.settled(), new Promise(resolve => setTimeout(resolve, 50))]);
    expect(seen.every(count => count >= 1)).toBe(true);
    return tried - before;
  });
});
