import { JechoError } from "@jecho/shared";

/** A worker with the program of a host for modulators. @throws JechoError `MODULATORS_NOT_SERVED` where none can be started */
export function startProgram(): Worker {
  if (typeof Worker === "undefined") {
    const here = "no worker can be started where this producer's concentrator runs";
    throw new JechoError("MODULATORS_NOT_SERVED", here);
  }
  return new Worker(new URL("../../generated/worker.mjs", import.meta.url), {
    type: "module",
    name: "modulators",
  });
}
