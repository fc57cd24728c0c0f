import type { HttpResponse } from "uWebSockets.js";

/** What is no page may do nothing. */
export const NO_PAGE = "default-src 'none'; frame-ancestors 'none'";

/** What each answer has: it is to be taken for what it says it is, and by this site's own pages alone. @param policy what it may do */
export function writeHeaders(response: HttpResponse, policy: string): HttpResponse {
  return response
    .writeHeader("x-content-type-options", "nosniff")
    .writeHeader("referrer-policy", "no-referrer")
    .writeHeader("cross-origin-resource-policy", "same-origin")
    .writeHeader("content-security-policy", policy);
}

/** Answers with a status and a sentence. @param isHead HEAD is answered by the headers alone */
export function refuse(response: HttpResponse, status: string, sentence: string, isHead = false): void {
  const body = `${sentence}\n`;
  writeHeaders(response.writeStatus(status), NO_PAGE).writeHeader(
    "content-type",
    "text/plain; charset=utf-8",
  );
  // With the length given to it, `endWithoutBody` does not count as an answer.
  if (isHead) response.writeHeader("content-length", String(Buffer.byteLength(body))).endWithoutBody();
  else response.end(body);
}
