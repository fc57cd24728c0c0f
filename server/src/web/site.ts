import type { Admission } from "../connections/admission.ts";
import { nothingHere, type StaticFiles, stateAnswer } from "./answers.ts";
import type { WebAnswer, WebRequest } from "./web-server.ts";

/** Answers what a gateway is asked by HTTP: whether it runs, whether a page may connect, and its files. */
export class Site {
  readonly #path: string;
  readonly #admission: Admission;
  readonly #files: StaticFiles | undefined;

  /** @param path that all of it is under */
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
    // What a page says of its files is about the folder that its address ends with.
    if (path === this.#path && path !== "")
      return { status: "308 Permanent Redirect", headers: [["location", `${path}/`]] };
    return this.#files.answer(request);
  }

  /** A browser tells no script why a connection was refused: a page that asks here hears it, and nothing else. */
  #admitted(request: WebRequest): WebAnswer {
    const host = request.header("host");
    // A page of the gateway's own, under whatever name, sends no origin.
    const message = this.#admission.refusal(request.header("origin") || `http://${host}`, host);
    return stateAnswer({ admitted: message === undefined, message }, "cross-origin");
  }
}
