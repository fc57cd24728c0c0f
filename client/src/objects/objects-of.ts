import type { Modulator } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import { SharedObject } from "./shared-object.ts";

/**
 * Checks that what a modulator reads is shared at the gateway that it is to be installed by: elsewhere the object would stay as it is now.
 *
 * @throws JechoError `OBJECT_UNKNOWN`
 */
export function checkObjects({ objects = {} }: Modulator, gateway: string | undefined): void {
  for (const [name, object] of Object.entries(objects)) {
    const at = object instanceof SharedObject ? object.gateway : undefined;
    if (at === undefined || gateway === undefined || at === gateway) continue;
    throw new JechoError(
      "OBJECT_UNKNOWN",
      `"${name}" is shared at ${at}, not at ${gateway}: share it in the session that \`session.at(channel)\` gives`,
    );
  }
}
