import type { Modulator } from "@jecho/modulators";
import { JechoError } from "@jecho/shared";
import { checkOptions } from "@jecho/shared/internal";
import { readText } from "#platform";
import { MODULATOR } from "../options/option-names.ts";

/**
 * A modulator whose module lies in a file of its own: `modulatorFromFile(new URL("./filter.js", import.meta.url))`. In
 * Node it may be TypeScript; the places in errors are those in the file.
 *
 * @param options its parameters, key and shared objects
 * @throws JechoError `MODULATOR_INVALID` where it cannot be read, `ARGUMENT_INVALID` for a text in place of the URL, and for an option that it does not have
 */
export async function modulatorFromFile(
  url: URL,
  options: Omit<Modulator, "source"> = {},
): Promise<Modulator> {
  if (typeof url === "string")
    throw new JechoError(
      "ARGUMENT_INVALID",
      `modulatorFromFile() takes a URL: new URL("${url}", import.meta.url)`,
    );
  checkOptions<typeof options>("modulatorFromFile()", options, MODULATOR);
  try {
    return { ...options, source: await readText(url) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new JechoError("MODULATOR_INVALID", `${url} cannot be read: ${why}`, { cause: error });
  }
}
