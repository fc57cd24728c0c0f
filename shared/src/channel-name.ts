import { JechoError } from "./errors.ts";

/** A channel's full name, taken apart: the gateway and the user's own name. */
export interface ChannelName {
  /** The gateway's address as written, `HOST:PORT`, and the path that it is reached under, if there is one; or its identity, `~` and 24 hexadecimal digits. */
  readonly server: string;
  /** The user's own name, such as `atmosphere/ozone`, or of a derived channel `atmosphere/ozone#alarms`. */
  readonly name: string;
  /** Behind an identity: where that gateway may be found, as `connect` takes it. */
  readonly at?: string;
}

const SEGMENT = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$/;
const MAX_SEGMENTS = 8;
/** No host's name begins with that. */
const IDENTITY = /^~[0-9a-f]{24}$/;

/** Whether the text is a gateway's identity, which may stand in a channel's name instead of an address. */
export function isIdentity(server: string): boolean {
  return IDENTITY.test(server);
}

/**
 * Takes `jecho://HOST:PORT/NAME` apart, or `jecho://IDENTITY/NAME`, or `jecho://IDENTITY/NAME?at=ADDRESS`. As in every URL, a `#` comes last.
 *
 * @param path that gateways are reached under, as `/jecho`: where the text goes on with it behind an address, it belongs to that; by default
 *   everything behind `HOST:PORT` is taken for the name, for the text alone does not tell
 * @throws JechoError `CHANNEL_NAME_INVALID` where it does not have that form
 */
export function parseChannelName(text: string, path = ""): ChannelName {
  const [, server = "", base = "", at, derived = ""] =
    /^jecho:\/\/([^/\s]+)\/([^?#]+)(?:\?at=([^#\s]+))?(#.*)?$/.exec(text) ?? [];
  const hasIdentity = isIdentity(server);
  if (server === "" || (server.startsWith("~") && !hasIdentity) || (at !== undefined && !hasIdentity)) {
    throw new JechoError(
      "CHANNEL_NAME_INVALID",
      `"${text.slice(0, 200)}" is neither jecho://HOST:PORT/NAME nor jecho://~24-HEX/NAME?at=ADDRESS`,
    );
  }
  const rest = `${base}${derived}`;
  if (at !== undefined) return { server, name: checkName(rest), at };
  if (path === "" || hasIdentity || !`/${rest}`.startsWith(`${path}/`))
    return { server, name: checkName(rest) };
  return { server: `${server}${path}`, name: checkName(rest.slice(path.length)) };
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
      `"${name.slice(0, 200)}" is not 1 to ${MAX_SEGMENTS} segments joined by "/", each of 1 to 64 letters, digits, ".", "_", "~" and "-", a letter or digit first`,
    );
  }
  return name;
}

/** A user's name, taken apart: the channel, and, behind `#`, the name that somebody gave to a modulator's output on it. */
export interface SplitName {
  /** The channel: `atmosphere/ozone`. */
  readonly base: string;
  /** Name of the derived channel: one segment; "" for the channel itself. */
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

/**
 * The full name of a channel.
 *
 * @param server address or identity of the gateway that has it
 * @param at address of the gateway with that identity
 */
export function formatChannelName(server: string, name: string, at?: string): string {
  if (at === undefined) return `jecho://${server}/${name}`;
  const [base, ...derived] = name.split(/(?=#)/);
  return `jecho://${server}/${base}?at=${at}${derived.join("")}`;
}
