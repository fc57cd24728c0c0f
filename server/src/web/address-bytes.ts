import { isIPv4, isIPv6 } from "node:net";

const MAPPED = "::ffff:";
const GROUPS = 8;

/** An IP address as its 4 or 16 bytes; empty for any other text, such as that of a closed socket. */
export function addressBytes(text: string): ArrayBuffer {
  const address = text.startsWith(MAPPED) ? text.slice(MAPPED.length) : text;
  if (isIPv4(address)) return Uint8Array.from(address.split("."), Number).buffer;
  if (!isIPv6(address)) return new ArrayBuffer(0);
  // The longest form that Node gives has no part in dots.
  const [head = "", tail] = (address.split("%", 1)[0] as string).split("::");
  const groupsOf = (part: string): number[] =>
    part === "" ? [] : part.split(":").map(group => Number.parseInt(group, 16));
  const [first, last] = [groupsOf(head), groupsOf(tail ?? "")];
  const zeros = Array(Math.max(0, GROUPS - first.length - last.length)).fill(0);
  return Uint8Array.from([...first, ...zeros, ...last].flatMap(group => [group >> 8, group & 0xff])).buffer;
}
