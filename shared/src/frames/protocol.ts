/** The WebSocket subprotocol, and the number that `Hello` carries. */
export const SUBPROTOCOL = "jecho.1";
/** The subprotocol with a checksum behind each message. */
export const CHECKED_SUBPROTOCOL = "jecho.1.crc32";
/** Subprotocols that a client offers. */
export const SUBPROTOCOLS: readonly string[] = [SUBPROTOCOL, CHECKED_SUBPROTOCOL];
export const PROTOCOL = 1;
