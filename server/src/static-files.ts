import type { HttpRequest, HttpResponse } from "uWebSockets.js";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";

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

interface StaticFile {
  readonly body: Uint8Array;
  readonly type: string;
  readonly etag: string;
  /** Built names carry a hash of the content, so they may be kept for ever. */
  readonly immutable: boolean;
}

/** The files of a folder, read once and served from memory: what is not in the table does not exist. */
export class StaticFiles {
  readonly #files = new Map<string, StaticFile>();

  static async load(folder: string): Promise<StaticFiles> {
    const files = new StaticFiles();
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const file = join(entry.parentPath, entry.name);
      const path = `/${relative(folder, file).split(sep).join("/")}`;
      const body = await readFile(file);
      files.#files.set(path, {
        body,
        type: TYPES[extname(file)] ?? "application/octet-stream",
        etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"`,
        immutable: path.startsWith("/assets/"),
      });
    }
    return files;
  }

  serve(response: HttpResponse, request: HttpRequest): void {
    const url = request.getUrl();
    const file = this.#files.get(url.endsWith("/") ? `${url}index.html` : url);
    if (file === undefined) {
      response
        .writeStatus("404 Not Found")
        .writeHeader("content-type", "text/plain")
        .end("There is nothing here.\n");
      return;
    }
    const known = request.getHeader("if-none-match") === file.etag;
    response.writeStatus(known ? "304 Not Modified" : "200 OK");
    response.writeHeader("etag", file.etag);
    // Isolated from other origins, a page may share memory with its workers: events then cross without a message. The policy
    // below allows nothing of other origins anyway.
    response
      .writeHeader("cross-origin-opener-policy", "same-origin")
      .writeHeader("cross-origin-embedder-policy", "require-corp")
      .writeHeader("cross-origin-resource-policy", "same-origin");
    response.writeHeader(
      "cache-control",
      file.immutable ? "public, max-age=31536000, immutable" : "no-cache",
    );
    if (known) {
      response.endWithoutBody();
      return;
    }
    response
      .writeHeader("content-type", file.type)
      .writeHeader("x-content-type-options", "nosniff")
      .writeHeader("referrer-policy", "no-referrer")
      .writeHeader(
        "content-security-policy",
        // A page that produces, or makes its own view of what is modulated nowhere else, runs modulators in WebAssembly.
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self' ws: wss:; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; frame-ancestors 'self'",
      );
    response.end(file.body);
  }
}
