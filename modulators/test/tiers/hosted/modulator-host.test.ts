import { fifo } from "@jecho/modulators";
import { modulatorTable } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import {
  type Control,
  EventsFrame,
  encodeControl,
  encodeRun,
  type Frame,
  parseFrame,
} from "@jecho/shared/internal";
import { expect, test } from "vitest";
import type { CarrierKind } from "../../../src/tiers/hosted/carrier.ts";
import { ModulatorHost } from "../../../src/tiers/hosted/modulator-host.ts";

const CHANNEL = 1;
const DERIVED = 7;
const EVENTS = 4;
const NONE = new Uint8Array(0);

/** A host that a modulator has taken over: it says of each run that these of its events pass. */
function lying(ranges: readonly number[], derived = DERIVED): CarrierKind {
  return {
    hungMs: 60_000,
    start(_limits, _limitBytes, listener) {
      const say = (control: Control): void => listener.frame(encodeControl(control));
      const answer = (frame: Frame): void => {
        if (frame.kind === "Install") {
          const { request } = frame;
          say({
            kind: "Installed",
            request,
            derived: frame.derived,
            schema: NONE,
            needs: [],
            reads: NONE,
            cpuMs: 0,
            tier: "",
            tierWhy: "",
          });
        } else if (frame.kind === "Events") {
          say({ kind: "Passed", derived, urgent: false, parameters: 0, versions: [], ranges });
          say({ kind: "Done", derived: DERIVED, batch: 1, dropped: 0, waiting: 0, cpuMs: 0 });
        }
      };
      return {
        pid: undefined,
        send: bytes => queueMicrotask(() => answer(frameOf(bytes))),
        finish() {},
        kill: () => listener.exit({ error: new JechoError("MODULATOR_HOST_FAILED"), blame: "modulator" }),
        hold() {},
      };
    },
  };
}

function frameOf(bytes: Uint8Array): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return parseFrame(view, bytes, 0, bytes.byteLength);
}

/** Events that come out of a run of four events of one byte, 0 to 3; or why the modulator was removed. */
async function outcomeOf(carrier: CarrierKind): Promise<number[] | string> {
  const seen: number[] = [];
  let removed: string | undefined;
  await using host = new ModulatorHost({
    carrier,
    onEvents(run) {
      for (let i = 0; i < run.count; i++) seen.push(run.bytes[run.eventStart(i)] as number);
    },
    onRemoved(_, { code }) {
      removed = code;
    },
  });
  await host.install({
    derived: DERIVED,
    channel: CHANNEL,
    schema: undefined,
    modulator: modulatorTable(fifo().modulator),
  });
  const events = Array.from({ length: EVENTS }, (_, i) => ({ bytes: Uint8Array.of(i), start: 0, end: 1 }));
  const header = { channel: CHANNEL, producer: 1, raised: 1, token: 0n, parameters: 0, flags: 0 };
  host.enqueue(EventsFrame.at(encodeRun(header, events)));
  await host.settled();
  return removed ?? seen;
}

test.each([
  ["all", [0, 4], [0, 1, 2, 3]],
  ["some", [0, 1, 2, 4], [0, 2, 3]],
  ["one twice, and in another order", [2, 3, 0, 3], [2, 0, 1, 2]],
])(
  "MOE-25: %s of the events that the host says pass are sent as the producer has them",
  async (_, ranges, seen) => {
    expect(await outcomeOf(lying(ranges))).toEqual(seen);
  },
);

test.each([
  ["beyond the run", [3, 5]],
  ["none", [2, 2]],
  ["backwards", [3, 1]],
  ["half of a range", [0, 2, 3]],
  ["more bytes than it may make", Array.from({ length: 2 * 500_000 }, (_, i) => (i % 2) * EVENTS)],
])("MOE-25: a host that says that there pass %s is ended with its modulator", async (_, ranges) => {
  expect(await outcomeOf(lying(ranges))).toBe("MODULATOR_FAILED");
});

test("MOE-25: a host that lets events through for another modulator than the one at work is ended", async () => {
  expect(await outcomeOf(lying([0, EVENTS], DERIVED + 1))).toBe("MODULATOR_FAILED");
});

test("who waits for modulators that were removed waits no longer than there is a host", async () => {
  // This host takes longer to begin than one without modulators is kept.
  const carrier: CarrierKind = {
    hungMs: 60_000,
    start: () => ({ pid: undefined, send() {}, finish() {}, kill() {}, hold() {} }),
  };
  const host = new ModulatorHost({ carrier, idleMs: 1, onEvents() {}, onRemoved() {} });
  const installed = host.install({
    derived: DERIVED,
    channel: CHANNEL,
    schema: undefined,
    modulator: modulatorTable(fifo().modulator),
  });
  const settled = host.settled();
  host.remove(DERIVED);
  await expect(installed).rejects.toMatchObject({ code: "CLOSED" });
  await settled;
});
