import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { JechoError } from "@jecho/shared";
import type { WebAnswer, WebRequest } from "./web-server.ts";

/** Content policy of answers that are no pages: nothing is allowed. */
const NO_PAGE = "default-src 'none'; frame-ancestors 'none'";

/**
 * Headers of each answer: browsers must not guess its content type, and only this site's own pages may use it.
 *
 * @param policy its content policy
 * @param readers whose pages may use it
 */
function headersOf(
  policy: string,
  readers: "same-origin" | "cross-origin" = "same-origin",
): [name: string, value: string][] {
  return [
    ["x-content-type-options", "nosniff"],
    ["referrer-policy", "no-referrer"],
    ["cross-origin-resource-policy", readers],
    ["content-security-policy", policy],
  ];
}

/** A status and a sentence. */
export function refusal(status: string, sentence: string): WebAnswer {
  return {
    status,
    headers: [...headersOf(NO_PAGE), ["content-type", "text/plain; charset=utf-8"]],
    body: `${sentence}\n`,
  };
}

/** The answer for a path that does not exist. */
export function nothingHere(): WebAnswer {
  return refusal("404 Not Found", "There is nothing here.");
}

/** The state of something, which is another one the next time. @param readers whose pages may read it */
export function stateAnswer(
  state: object,
  readers: "same-origin" | "cross-origin" = "same-origin",
): WebAnswer {
  const everybodys: [string, string][] =
    readers === "cross-origin" ? [["access-control-allow-origin", "*"]] : [];
  return {
    status: "200 OK",
    headers: [
      ...headersOf(NO_PAGE, readers),
      ...everybodys,
      ["content-type", "application/json"],
      ["cache-control", "no-store"],
    ],
    body: `${JSON.stringify(state)}\n`,
  };
}

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
  ".avif": "image/avif",
  ".ico": "image/x-icon",
  ".txt": "text/plain; charset=utf-8",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
  ".wasm": "application/wasm",
};

const pack = promisify(gzip);

/** Content types that are worth compressing. */
const PACKED = /^text\/|json|svg|wasm/;
/** Least size worth compressing: a shorter answer is mostly header and fits into one packet. */
const LEAST_PACKED_BYTES = 1024;
/** Matches a list of encodings with gzip, unless its weight is 0. */
const TAKES_GZIP = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/;

interface Body {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

interface StaticFile {
  readonly plain: Body;
  /** Compressed content; undefined where that gains nothing. Without TLS browsers accept no better encoding than gzip. */
  readonly packed: Body | undefined;
  readonly type: string;
  /** Whether it may be cached for ever, for its name has a hash of the content. */
  readonly immutable: boolean;
}

/** The requested host, in the form of a content policy. */
const HOST = /^[A-Za-z0-9.:[\]-]+$/;

/** The files of a folder, read once and served from memory: a path that is not in the table does not exist. */
export class StaticFiles {
  readonly #files = new Map<string, StaticFile>();
  readonly #policy: string | undefined;

  private constructor(policy: string | undefined) {
    this.#policy = policy;
  }

  /**
   * @param base path under which they are served
   * @param policy their content policy; undefined for the usual one
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

  /** Answers GET and HEAD. */
  answer(request: WebRequest): WebAnswer {
    const path = decoded(request.path);
    const file = this.#files.get(path.endsWith("/") ? `${path}index.html` : path);
    if (file === undefined) return nothingHere();
    const packed = TAKES_GZIP.test(request.header("accept-encoding")) ? file.packed : undefined;
    const { bytes, etag } = packed ?? file.plain;
    const headers: [string, string][] = [
      ["etag", etag],
      ...headersOf(this.#policy ?? policyFor(request.header("host"))),
      // Isolated from other origins, a page may share memory with its workers: events then cross without a message. What another policy than the
      // usual lets in, such as a map's tiles, comes without cookies.
      ["cross-origin-opener-policy", "same-origin"],
      ["cross-origin-embedder-policy", this.#policy === undefined ? "require-corp" : "credentialless"],
      ["cache-control", file.immutable ? "public, max-age=31536000, immutable" : "no-cache"],
    ];
    if (file.packed !== undefined) headers.push(["vary", "accept-encoding"]);
    if (request.header("if-none-match") === etag) return { status: "304 Not Modified", headers, body: bytes };
    headers.push(["content-type", file.type]);
    if (packed !== undefined) headers.push(["content-encoding", "gzip"]);
    return { status: "200 OK", headers, body: bytes };
  }
}

/**
 * The gateway's own files and nothing else, and no other gateway to connect to. Not every browser takes `'self'` for WebSockets, too.
 *
 * @param host the requested host
 */
function policyFor(host: string): string {
  const sockets = HOST.test(host) ? ` ws://${host} wss://${host}` : "";
  // A page that produces, or makes its own view of what is modulated nowhere else, runs modulators in WebAssembly; where its bundler knows
  // nothing of workers, in one that is made of text.
  return `default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self' blob:; connect-src 'self'${sockets}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'self'`;
}

/** A path as files are named: browsers escape spaces and letters like ä. What cannot be decoded names no file. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}

function bodyOf(bytes: Uint8Array): Body {
  return { bytes, etag: `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"` };
}
