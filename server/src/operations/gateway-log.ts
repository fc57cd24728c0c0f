/** The log for what an operator should know: a logger of pino's, say. No token, key, or content of an event is written. */
export interface GatewayLog {
  /** Usual events: connections that came and went, and deeds that take a right. */
  debug(fields: object, message: string): void;
  /** Refusals. */
  info(fields: object, message: string): void;
  /** Warnings: an operator should look at these. */
  warn(fields: object, message: string): void;
  /** Faults of the gateway or its machine. */
  error(fields: object, message: string): void;
}

/** Levels, the least first. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** The levels of a log. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A log of lines for people: the message, and behind it what it is about, as `name=value`. @param least level that is written */
export function lineLog(write: (line: string) => void, least: LogLevel = "warn"): GatewayLog {
  const at = (level: LogLevel) =>
    LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(least)
      ? () => {}
      : (fields: object, message: string) => write([message, ...Object.entries(fields).map(shown)].join(" "));
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function shown([name, value]: [string, unknown]): string {
  return `${name}=${typeof value === "string" && /^[\w.:/#*-]+$/.test(value) ? value : JSON.stringify(value)}`;
}
