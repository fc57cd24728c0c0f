import { suggestion } from "@jecho/shared/internal";
import type { FoundSettings } from "./command-line.ts";
import { SETTING_NAMES, type SettingName } from "./settings.ts";
import { Misuse, readText } from "./texts.ts";

/** Kubernetes sets variables named for services, as JECHO_PORT for one that is called jecho: none of ours begins like these. */
const PREFIX = "JECHO_OPTION_";

const VARIABLES = new Map(SETTING_NAMES.map(name => [variableOf(name), name]));

/** The environment's variable for a setting: JECHO_OPTION_TLS_KEY_FILE for `tls.keyFile`. */
export function variableOf(name: SettingName): string {
  return PREFIX + name.replaceAll(/[A-Z]/g, "_$&").replaceAll(".", "_").toUpperCase();
}

/**
 * The settings that the environment has. Items of lists stand between commas.
 *
 * @throws Misuse for a variable that begins like these and is none, or a value that is none
 */
export function readEnvironment(environment: NodeJS.ProcessEnv): FoundSettings {
  const found = new Map<SettingName, { value: unknown; from: string }>();
  for (const [variable, text = ""] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX)) continue;
    const name = VARIABLES.get(variable);
    if (name === undefined)
      throw new Misuse(
        `the environment has ${variable}, which is no setting; ${suggestion(variable, [...VARIABLES.keys()])}`,
      );
    found.set(name, { value: readText(name, text, variable), from: variable });
  }
  return found;
}
