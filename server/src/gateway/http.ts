import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { JechoError } from "@jecho/shared";
import type { HttpRequest, HttpResponse } from "#uws";

/** Content policy of an answer that is no page: nothing is allowed. */
export const NO_PAGE = "default-src 'none'; frame-ancestors 'none'";

/**
 * Writes the headers of each answer: its content type is not to be guessed, and only this site's own pages may use it.
 *
 * @param policy what it may do
 * @param readers whose pages may use it
 */
export function writeHeaders(
  response: HttpResponse,
  policy: string,
  readers: "same-origin" | "cross-origin" = "same-origin",
): HttpResponse {
  return response
    .writeHeader("x-content-type-options", "nosniff")
    .writeHeader("referrer-policy", "no-referrer")
    .writeHeader("cross-origin-resource-policy", readers)
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

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
};

const pack = promisify(gzip);

/** Content types that are not compressed already. */
const PACKED = /^text\/|json|svg|wasm/;
/** Least size that is worth compressing: of a shorter answer the header and the rest of its packet are most. */
const LEAST_PACKED_BYTES = 1024;
/** Matches a list of encodings that has gzip in it, with a weight other than 0. */
const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/;

interface Body {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

interface StaticFile {
  readonly plain: Body;
  /** Compressed; undefined where that gains nothing. Pages from the network have no better encoding than gzip without TLS. */
  readonly packed: Body | undefined;
  readonly type: string;
  /** Built names carry a hash of the content, so they may be kept for ever. */
  readonly immutable: boolean;
}

/** The host that a page was asked of, as a policy may name it. */
const HOST = /^[A-Za-z0-9.:[\]-]+$/;

/** The files of a folder, read once and served from memory: what is not in the table does not exist. */
export class StaticFiles {
  readonly #files = new Map<string, StaticFile>();
  readonly #policy: string | undefined;

  private constructor(policy: string | undefined) {
    this.#policy = policy;
  }

  /**
   * @param base path that they are served under
   * @param policy what pages may do; undefined for the usual
   * @throws JechoError `ARGUMENT_INVALID` where the folder cannot be read
   */
  static async load(folder: string, base: string, policy: string | undefined): Promise<StaticFiles> {
    const files = new StaticFiles(policy);
    const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: Error) => {
      throw new JechoError("ARGUMENT_INVALID", `the folder of files to serve: ${error.message}`);
    });
    const add = async (file: string): Promise<void> => {
      const path = `${base}/${relative(folder, file).split(sep).join("/")}`;
      const bytes = await readFile(file);
      const type = TYPES[extname(file)] ?? "application/octet-stream";
      const isPacked = PACKED.test(type) && bytes.length >= LEAST_PACKED_BYTES;
      files.#files.set(path, {
        plain: bodyOf(bytes),
        packed: isPacked ? bodyOf(await pack(bytes)) : undefined,
        type,
        immutable: path.startsWith(`${base}/assets/`),
      });
    };
    const found = entries.filter(entry => entry.isFile());
    await Promise.all(found.map(({ parentPath, name }) => add(join(parentPath, name))));
    return files;
  }

  /** Answers GET, and HEAD with the same headers alone. */
  serve(response: HttpResponse, request: HttpRequest): void {
    const url = request.getUrl();
    const isHead = request.getMethod() === "head";
    const file = this.#files.get(url.endsWith("/") ? `${url}index.html` : url);
    if (file === undefined) return refuse(response, "404 Not Found", "There is nothing here.", isHead);
    const packed = TAKES_GZIP.test(request.getHeader("accept-encoding")) ? file.packed : undefined;
    const { bytes, etag } = packed ?? file.plain;
    const known = request.getHeader("if-none-match") === etag;
    response.writeStatus(known ? "304 Not Modified" : "200 OK");
    response.writeHeader("etag", etag);
    writeHeaders(response, this.#policy ?? policyFor(request.getHeader("host")));
    if (file.packed !== undefined) response.writeHeader("vary", "accept-encoding");
    // Isolated from other origins, a page may share memory with its workers: events then cross without a message. The policy
    // below allows nothing of other origins anyway.
    response
      .writeHeader("cross-origin-opener-policy", "same-origin")
      .writeHeader("cross-origin-embedder-policy", "require-corp");
    response.writeHeader(
      "cache-control",
      file.immutable ? "public, max-age=31536000, immutable" : "no-cache",
    );
    if (known) {
      response.endWithoutBody();
      return;
    }
    response.writeHeader("content-type", file.type);
    if (packed !== undefined) response.writeHeader("content-encoding", "gzip");
    // With the length given to it, `endWithoutBody` does not count as an answer.
    if (isHead) response.writeHeader("content-length", String(bytes.byteLength)).endWithoutBody();
    else response.end(bytes);
  }
}

/**
 * The gateway's own files and nothing else, and no other gateway to connect to. Not every browser takes `'self'` for WebSockets, too.
 *
 * @param host that the page was asked of
 */
function policyFor(host: string): string {
  const sockets = HOST.test(host) ? ` ws://${host} wss://${host}` : "";
  // A page that produces, or makes its own view of what is modulated nowhere else, runs modulators in WebAssembly; where its bundler knows
  // nothing of workers, in one that is made of text.
  return `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; connect-src 'self'${sockets}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'self'`;
}

function bodyOf(bytes: Uint8Array): Body {
  return { bytes, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"` };
}
