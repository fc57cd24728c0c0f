/** The token that this page shows to a gateway with keys: it came in the link, or was pasted, and is kept for this tab alone. */
import { takeFromFragment } from "./fragment.ts";

/** Name of the token in a link, behind the #. */
export const TOKEN = "token";
const KEY = "atmosphere.token";

/** Token of this page: lost when the page is loaded again, where the browser keeps nothing for it. */
let held: string | undefined;

export function accessToken(): string | undefined {
  const given = takeFromFragment(TOKEN);
  if (given !== undefined) keepAccessToken(given);
  if (held !== undefined) return held;
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

export function keepAccessToken(token: string): void {
  held = token;
  try {
    sessionStorage.setItem(KEY, token);
  } catch {}
}

/** Rights that a token gives, by its own word; the gateway's alone counts. None where it cannot be read. */
export function rightsOf(token: string | undefined): readonly string[] {
  try {
    const [, claims = ""] = (token ?? "").split(".");
    const json = atob(claims.replaceAll("-", "+").replaceAll("_", "/"));
    const { can } = JSON.parse(json) as { can?: unknown };
    return Array.isArray(can) ? can.filter(right => typeof right === "string") : [];
  } catch {
    return [];
  }
}

/** Whether a token lets its owner end the connections of others, by its own word. */
export function mayKick(token: string | undefined): boolean {
  return rightsOf(token).some(right => right.startsWith("kick:") || right.startsWith("*:"));
}
