import type { Admission } from "../connections/admission.ts";
import { nothingHere, type StaticFiles, stateAnswer } from "./answers.ts";
import type { WebAnswer, WebRequest } from "./web-server.ts";

/** Answers HTTP requests: whether the gateway runs, whether a page may connect, and its files. */
export class Site {
  readonly #path: string;
  readonly #admission: Admission;
  readonly #files: StaticFiles | undefined;

  /** @param path under which everything is served */
  constructor(path: string, admission: Admission, files: StaticFiles | undefined) {
    this.#path = path;
    this.#admission = admission;
    this.#files = files;
  }

  answer(request: WebRequest): WebAnswer {
    const { method, path } = request;
    if (method === "get" && path === `${this.#path}/healthz`) return stateAnswer({ status: "ok" });
    if (method === "get" && path === `${this.#path}/admission`) return this.#admitted(request);
    if (this.#files === undefined || (method !== "get" && method !== "head")) return nothingHere();
    // A page's relative addresses need its folder's slash at the end.
    if (path === this.#path && path !== "")
      return { status: "308 Permanent Redirect", headers: [["location", `${path}/`]] };
    return this.#files.answer(request);
  }

  /** Tells a page why its connection would be refused, which a browser does not tell scripts. */
  #admitted(request: WebRequest): WebAnswer {
    const host = request.header("host");
    // A page from this very host sends no origin.
    const message = this.#admission.refusal(request.header("origin") || `http://${host}`, host);
    return stateAnswer({ admitted: message === undefined, message }, "cross-origin");
  }
}
