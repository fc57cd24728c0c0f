import { JechoError } from "@jecho/shared";
import type { Limits } from "../sandbox/sandbox.ts";

/** @throws JechoError `MODULATOR_TOO_LARGE`, `OBJECT_INVALID` */
export function checkSizes(
  {
    source,
    parameters,
    objects,
  }: { source: string; parameters: string; objects: readonly { state: string }[] },
  limits: Limits,
): void {
  if (source.length > limits.sourceBytes) throw tooLarge("the source");
  if (parameters.length > limits.parametersBytes) throw tooLarge("the parameters");
  for (const { state } of objects) checkState(state, limits);
}

/** @throws JechoError `OBJECT_INVALID` */
export function checkState(state: string, { parametersBytes }: Limits): void {
  if (state.length > parametersBytes)
    throw new JechoError("OBJECT_INVALID", "the state of a shared object is larger than the limit");
}

function tooLarge(what: string): JechoError {
  return new JechoError("MODULATOR_TOO_LARGE", `${what} is larger than the limit`);
}
