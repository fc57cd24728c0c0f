import type { ConnectOptions, Modulator, Placement } from "@jecho/client";
import { startModulating } from "@jecho/client/modulating";
import type { GatewayOptions } from "@jecho/server";
import { PATIENT, type Rig, startRig } from "./rig.ts";

export type Place = Placement["at"];

export const PLACES: readonly Place[] = ["producer", "gateway", "consumer"];

export const startPatient: NonNullable<GatewayOptions["modulating"]> = (address, token, say) =>
  startModulating(address, token, say, PATIENT);

/** A rig in which modulators run in one place. `producing` is for the sessions of its producers. */
export async function rigAt(
  at: Place,
  options: GatewayOptions = {},
): Promise<Rig & { readonly producing: ConnectOptions }> {
  const rig = await startRig({
    ...options,
    ...(at === "gateway" && { modulating: startPatient }),
  });
  return {
    ...rig,
    producing: at === "producer" ? {} : { modulators: { most: 0 } },
  };
}

/** Passes even `n`, and numbers what it passes: that shows whether its state is its own, and whether it is still the same. */
export const numbered: Modulator = {
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  passed = 0;
  enqueue(event) { if (event.n % 2 === 0) super.enqueue({ n: event.n, note: event.note + ++this.passed }); }
}`,
};
