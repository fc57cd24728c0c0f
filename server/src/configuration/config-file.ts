import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { JechoError } from "@jecho/shared";
import { checkOptions } from "@jecho/shared/internal";
import type { FoundSettings } from "./command-line.ts";
import { checkSetting, namesOf, SETTING_NAMES, SETTINGS, type SettingName, settingOf } from "./settings.ts";
import { Misuse } from "./texts.ts";

const FILES = ["jecho.config.json", "jecho.config.ts", "jecho.config.js"];

interface ConfigFile {
  readonly path: string | undefined;
  readonly found: FoundSettings;
}

/**
 * The settings of a file: JSON, or a module whose default export is such an object. They have the names of `createGateway`'s options,
 * and `modulators`. Paths in it start at its folder.
 *
 * @param named undefined for the one in this folder, if there is one
 * @throws Misuse for a file that cannot be read, or says what cannot be
 */
export async function readConfigFile(named: string | undefined, folder: string): Promise<ConfigFile> {
  const present = FILES.filter(file => existsSync(resolve(folder, file)));
  if (named === undefined && present.length > 1)
    throw new Misuse(`there are ${present.join(" and ")}: keep one, or say which is meant (--config)`);
  const file = named ?? present[0];
  if (file === undefined) return { path: undefined, found: new Map() };
  const path = resolve(folder, file);
  const content = await load(path, file);
  try {
    checkOptions<object>(file, content, namesOf(SETTING_NAMES) as never);
    const found = new Map<SettingName, { value: unknown; from: string }>();
    for (const name of SETTING_NAMES) {
      const value = settingOf(content, name);
      if (value === undefined) continue;
      checkSetting(name, value);
      found.set(name, { value: placed(name, value, path), from: basename(path) });
    }
    return { path, found };
  } catch (error) {
    if (!(error instanceof JechoError)) throw error;
    throw new Misuse(error.message.startsWith(file) ? error.message : `${file}: ${error.message}`);
  }
}

async function load(path: string, file: string): Promise<object> {
  const content = await (extname(path) === ".json" ? readJson(path) : importDefault(path)).catch(
    (error: Error) => {
      throw new Misuse(`${file} cannot be read: ${error.message}`);
    },
  );
  if (typeof content !== "object" || content === null || Array.isArray(content))
    throw new Misuse(
      `${file} has no object with settings${extname(path) === ".json" ? "" : " as its default export"}`,
    );
  return content;
}

async function readJson(path: string): Promise<unknown> {
  return JSON.parse(await readFile(path, "utf8"));
}

async function importDefault(path: string): Promise<unknown> {
  return ((await import(pathToFileURL(path).href)) as { default?: unknown }).default;
}

function placed(name: SettingName, value: unknown, file: string): unknown {
  const { kind } = SETTINGS[name];
  const isPath = kind === "path" || (kind === "keys" && typeof value === "string" && !/^https?:/.test(value));
  return isPath ? resolve(dirname(file), value as string) : value;
}
