import { JechoError } from "@jecho/shared";
import { type Control, encodeControl, type Frame, parseFrame } from "@jecho/shared/internal";
import type { CarrierKind } from "../src/host/carrier.ts";

const NONE = new Uint8Array(0);
/** What a modulator declares that needs nothing, and makes what it takes. */
export const PLAIN = { schema: NONE, needs: [], reads: NONE };

/** A host that a modulator has taken over. @param answer is given what comes to it, and says anything */
export function takenOver(answer: (frame: Frame, say: (control: Control) => void) => void): CarrierKind {
  return {
    hungMs: 60_000,
    start(_limits, _limitBytes, listener) {
      const say = (control: Control): void => listener.frame(encodeControl(control));
      return {
        pid: undefined,
        send: bytes => queueMicrotask(() => answer(frameOf(bytes), say)),
        finish() {},
        kill: () => listener.exit({ error: new JechoError("MODULATOR_HOST_FAILED"), blame: "modulator" }),
        hold() {},
        flush() {},
      };
    },
  };
}

export function frameOf(bytes: Uint8Array): Frame {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return parseFrame(view, bytes, 0, bytes.byteLength);
}
