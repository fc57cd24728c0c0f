import { parseArgs } from "node:util";
import { suggestion } from "@jecho/shared/internal";
import { LIMIT_NAMES, SETTING_NAMES, SETTINGS, type Setting, type SettingName } from "./settings.ts";
import { Misuse, readText } from "./texts.ts";

/** Values of some settings, as `createGateway` takes them, and where each was found. */
export type FoundSettings = ReadonlyMap<SettingName, { readonly value: unknown; readonly from: string }>;

interface CommandLine {
  readonly found: FoundSettings;
  /** The file that the other settings are in. */
  readonly config: string | undefined;
  readonly help: boolean;
  readonly json: boolean;
}

const SWITCHES = {
  config: { type: "string" },
  limit: { type: "string", multiple: true },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

/** The flags of all settings, by their names without the dashes. */
const FLAGS = new Map<string, readonly [SettingName, Setting]>(
  SETTING_NAMES.flatMap(name => {
    const { flag } = SETTINGS[name];
    return flag === undefined ? [] : [[flag, [name, SETTINGS[name]]]];
  }),
);

/** Flags that a shell completes behind `jecho gateway` and `jecho config`. */
export const GATEWAY_FLAGS: readonly { readonly flag: string; readonly says: string }[] = [
  { flag: "--config", says: "a file with these settings" },
  ...Array.from(FLAGS, ([flag, [, { says }]]) => ({ flag: `--${flag}`, says })),
  { flag: "--limit", says: "another limit than the usual" },
  { flag: "--help", says: "how to use it" },
];

/**
 * Reads the words behind `jecho gateway` or `jecho config`.
 *
 * @throws Misuse, which says which word is wrong
 */
export function readCommandLine(args: readonly string[]): CommandLine {
  const { values: parsed, positionals } = parse(args);
  const values: Record<string, unknown> = parsed;
  const [stray] = positionals;
  if (stray !== undefined) throw new Misuse(`it takes options alone, not "${positionals.join(" ")}"`);
  const found = new Map<SettingName, { value: unknown; from: string }>();
  for (const [flag, value] of Object.entries(values)) {
    const setting = FLAGS.get(flag);
    if (setting === undefined) continue;
    const [name, { kind }] = setting;
    const from = `--${flag}`;
    found.set(name, {
      value: kind === "switch" ? value : readText(name, value as string | string[], from),
      from,
    });
  }
  for (const text of (values["limit"] ?? []) as string[]) {
    const [, name = "", value = ""] = /^(\w+)=(.*)$/.exec(text) ?? [];
    const limit = LIMIT_NAMES.find(known => known === name);
    if (limit === undefined)
      throw new Misuse(
        `--limit takes the name of a limit and its number, as connections=500, not "${text}"${name === "" ? "" : `; ${suggestion(name, LIMIT_NAMES)}`}`,
      );
    found.set(limit, { value: readText(limit, value, `--limit ${limit}`), from: "--limit" });
  }
  const {
    config,
    help = false,
    json = false,
  } = values as { config?: string; help?: boolean; json?: boolean };
  return { found, config, help, json };
}

function parse(args: readonly string[]) {
  const flags = Array.from(FLAGS, ([flag, [, { kind }]]) => {
    const multiple = kind === "list" || kind === "pairs";
    return [flag, kind === "switch" ? { type: "boolean" as const } : { type: "string" as const, multiple }];
  });
  const options = { ...Object.fromEntries(flags), ...SWITCHES };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, allowNegative: true });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const unknown = /'(--?[\w-]+)'/.exec(message)?.[1];
    if (code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION" || unknown === undefined) throw new Misuse(message);
    throw new Misuse(
      `there is no option ${unknown}; ${suggestion(
        unknown,
        GATEWAY_FLAGS.map(({ flag }) => flag),
      )}`,
    );
  }
}

const COLUMN = 22;
const WIDTH = 118;

/** The list of all options, for people. */
export function describeFlags(): string {
  const shown = [...FLAGS].map(([flag, [, setting]]) => {
    const { kind, takes, says, usual } = setting;
    const more = kind === "list" || kind === "pairs" ? "; may be repeated" : "";
    const usually = usual === undefined || usual === "" || usual === false ? "" : ` (${usual})`;
    return describe(`--${flag}${takes === undefined ? "" : ` ${takes}`}`, `${says}${usually}${more}`);
  });
  const limits = `another limit than the usual, as connections=500; may be repeated. There are ${LIMIT_NAMES.join(", ")}`;
  return [
    describe(
      "--config FILE",
      "a file with these settings (jecho.config.json, .ts or .js of this folder, if it is there)",
    ),
    ...shown,
    describe("--limit NAME=NUMBER", limits),
  ].join("\n");
}

function describe(flag: string, says: string): string {
  const lines: string[] = [""];
  for (const word of says.split(" ")) {
    const line = lines.at(-1) as string;
    if (line !== "" && COLUMN + line.length + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  const margin = " ".repeat(COLUMN);
  const head = flag.length > COLUMN - 4 ? `  ${flag}\n${margin}` : `  ${flag}`.padEnd(COLUMN);
  return head + lines.join(`\n${margin}`);
}
