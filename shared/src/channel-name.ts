import { JechoError } from "./errors.ts";

/** A channel's full name, taken apart: the name server's address and the user's own name. */
export interface ChannelName {
  /** `HOST:PORT` of the name server, as written. */
  readonly server: string;
  /** The user's own name, such as `atmosphere/ozone`, or of a derived channel `atmosphere/ozone#alarms`. */
  readonly name: string;
}

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;
const MAX_SEGMENTS = 8;

/**
 * Takes `jecho://HOST:PORT/NAME` apart. Whether a gateway is reached under a path, the text alone does not say: that is taken for a part of the name.
 *
 * @throws JechoError `CHANNEL_NAME_INVALID` where it does not have that form
 */
export function parseChannelName(text: string): ChannelName {
  const match = /^jecho:\/\/([^/\s]+)\/(.+)$/.exec(text);
  if (match === null) {
    throw new JechoError(
      "CHANNEL_NAME_INVALID",
      `"${text.slice(0, 200)}" is not of the form jecho://HOST:PORT/NAME`,
    );
  }
  return { server: match[1] as string, name: checkName(match[2] as string) };
}

/**
 * Checks the user's part of a name: segments of letters, digits, `.`, `_`, `~` and `-`, joined by `/`.
 *
 * @throws JechoError `CHANNEL_NAME_INVALID`
 */
export function checkUserName(name: string): string {
  const segments = name.split("/");
  if (segments.length > MAX_SEGMENTS || !segments.every(segment => SEGMENT.test(segment))) {
    throw new JechoError(
      "CHANNEL_NAME_INVALID",
      `"${name.slice(0, 200)}": a name is 1 to ${MAX_SEGMENTS} segments of 1 to 64 letters, digits, ".", "_", "~" or "-", each beginning with a letter or a digit, joined by "/"`,
    );
  }
  return name;
}

/** A user's name, taken apart: the channel, and, behind `#`, the name that somebody gave what a modulator makes of it. */
export interface SplitName {
  /** The channel: `atmosphere/ozone`. */
  readonly base: string;
  /** One segment; "" for the channel itself. */
  readonly derived: string;
}

/** @throws JechoError `CHANNEL_NAME_INVALID` */
export function splitName(name: string): SplitName {
  const at = name.indexOf("#");
  if (at < 0) return { base: checkUserName(name), derived: "" };
  const [base, derived] = [name.slice(0, at), name.slice(at + 1)];
  if (!SEGMENT.test(derived)) {
    const shown = derived.slice(0, 200);
    throw new JechoError("CHANNEL_NAME_INVALID", `"${shown}": a derived channel's name is one segment`);
  }
  return { base: checkUserName(base), derived };
}

/**
 * Checks the user's part of the name of a channel or derived channel.
 *
 * @throws JechoError `CHANNEL_NAME_INVALID`
 */
export function checkName(name: string): string {
  splitName(name);
  return name;
}

/** The full name of a channel at a name server. */
export function formatChannelName(server: string, name: string): string {
  return `jecho://${server}/${name}`;
}
