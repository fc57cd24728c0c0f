// Firefox and WebKit as Debian has them, each by the protocol that it speaks: neither needs more than its own package.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { accessSync, constants, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";

/** A page in one of them. */
export interface Tab {
  /** Runs a function in the page, which knows nothing but its argument, and resolves to what that resolves to. */
  evaluate<T, A = undefined>(work: (argument: A) => T | Promise<T>, argument?: A): Promise<T>;
  close(): Promise<void>;
}

export interface OtherBrowser extends AsyncDisposable {
  open(url: string): Promise<Tab>;
}

/** A browser that may be there. */
export interface BrowserOfDebian {
  readonly name: string;
  /** The reason why the browser cannot be started, and the remedy; "" where it can. */
  readonly missing: string;
  start(): Promise<OtherBrowser>;
}

export function findFirefox(): BrowserOfDebian {
  const program = programNamed("firefox-esr") ?? programNamed("firefox") ?? "";
  return {
    name: "Firefox",
    missing: program === "" ? "there is no Firefox: install firefox-esr" : "",
    start: () => Firefox.start(program),
  };
}

export function findWebKit(): BrowserOfDebian {
  const driver = programNamed("WebKitWebDriver");
  const [browser] = globSync("/usr/lib/*/webkit2gtk-*/MiniBrowser");
  // WebKit has no way to run without a screen.
  const screen = process.env["DISPLAY"] === undefined ? programNamed("xvfb-run") : "";
  const isThere = driver !== undefined && browser !== undefined && screen !== undefined;
  return {
    name: "WebKit",
    missing: isThere ? "" : "there is no WebKit, or no screen for it: install webkit2gtk-driver and xvfb",
    start: () => WebKit.start([...(screen === "" ? [] : [screen ?? "", "-a"]), driver ?? ""], browser ?? ""),
  };
}

function programNamed(name: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .map(folder => join(folder, name))
    .find(file => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** A child with a group of its own, since it starts others. */
function startGroup(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(command, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
}

async function endGroup(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  process.kill(-(child.pid as number), "SIGKILL");
  await ended;
}

/** As text, with a result that is JSON. */
function callOf(work: (argument: never) => unknown, argument: unknown): string {
  return `Promise.resolve((${work})(${JSON.stringify(argument)})).then(result => JSON.stringify(result ?? null))`;
}

/** By WebDriver BiDi: messages over a WebSocket. */
class Firefox implements OtherBrowser {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  #number = 0;

  private constructor(child: ChildProcess, profile: string, socket: WebSocket) {
    this.#child = child;
    this.#profile = profile;
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const { id, result, error, message } = JSON.parse(data as string);
      const asked = this.#asked.get(id);
      if (error === undefined) asked?.resolve(result);
      else asked?.reject(new Error(`Firefox: ${error}: ${message}`));
      this.#asked.delete(id);
    });
  }

  static async start(program: string): Promise<Firefox> {
    const profile = mkdtempSync(join(tmpdir(), "jecho-firefox-"));
    const child = startGroup(
      program,
      ["--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", profile],
      { HOME: profile },
    );
    let address: string | undefined;
    for await (const line of createInterface(child.stderr!)) {
      address = /^WebDriver BiDi listening on (\S+)$/.exec(line)?.[1];
      if (address !== undefined) break;
    }
    child.stderr!.resume();
    const socket = new WebSocket(`${address}/session`);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    const firefox = new Firefox(child, profile, socket);
    await firefox.#ask("session.new", { capabilities: {} });
    return firefox;
  }

  async open(url: string): Promise<Tab> {
    const { context } = await this.#ask<{ context: string }>("browsingContext.create", { type: "tab" });
    await this.#ask("browsingContext.navigate", { context, url, wait: "complete" });
    return {
      evaluate: async (work, argument) => {
        const { result, exceptionDetails } = await this.#ask<Evaluated>("script.evaluate", {
          expression: callOf(work, argument),
          target: { context },
          awaitPromise: true,
        });
        if (result === undefined) throw new Error(exceptionDetails?.text);
        return JSON.parse(result.value);
      },
      close: () => this.#ask("browsingContext.close", { context }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
    await endGroup(this.#child);
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10 });
  }

  #ask<R = void>(method: string, params: object): Promise<R> {
    const asked = Promise.withResolvers<unknown>();
    const id = ++this.#number;
    this.#asked.set(id, asked);
    this.#socket.send(JSON.stringify({ id, method, params }));
    return asked.promise as Promise<R>;
  }
}

interface Evaluated {
  readonly result?: { readonly value: string };
  readonly exceptionDetails?: { readonly text: string };
}

/** By WebDriver: requests over HTTP, about the window that was switched to last. */
class WebKit implements OtherBrowser {
  readonly #driver: ChildProcess;
  readonly #session: string;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(driver: ChildProcess, session: string) {
    this.#driver = driver;
    this.#session = session;
  }

  static async start([command = "", ...args]: readonly string[], binary: string): Promise<WebKit> {
    // It chooses none by itself, and nobody else has this process' number.
    const port = 30_000 + (process.pid % 28_000);
    const driver = startGroup(command, [...args, "-p", String(port)], {
      // In a container it may not make a sandbox.
      WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
    });
    const url = `http://127.0.0.1:${port}/session`;
    const options = { "webkitgtk:browserOptions": { binary, args: ["--automation"] } };
    for (;;)
      try {
        const { sessionId } = await request<{ sessionId: string }>(url, {
          capabilities: { alwaysMatch: { ...options, timeouts: { script: 60_000 } } },
        });
        return new WebKit(driver, `${url}/${sessionId}`);
      } catch (error) {
        if (driver.exitCode !== null || !(error instanceof TypeError)) throw error;
        await new Promise(resolve => setTimeout(resolve, 100));
      }
  }

  async open(url: string): Promise<Tab> {
    // A tab of a window would be hidden by the one before it.
    const { handle } = await this.#ask<{ handle: string }>("window/new", { type: "window" });
    await this.#at(handle, "url", { url });
    return {
      evaluate: async (work, argument) => {
        const { result, error } = await this.#at<{ result?: string; error?: string }>(
          handle,
          "execute/async",
          {
            script: `${callOf(work, argument)}.then(result => arguments[0]({ result }), error => arguments[0]({ error: String(error) }))`,
            args: [],
          },
        );
        if (result === undefined) throw new Error(error);
        return JSON.parse(result);
      },
      close: () => this.#at(handle, "window", undefined),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endGroup(this.#driver);
  }

  /** Asks about a window, when nobody else does. */
  #at<R>(handle: string, what: string, body: object | undefined): Promise<R> {
    const asked = this.#turn.then(async () => {
      await this.#ask("window", { handle });
      return this.#ask<R>(what, body);
    });
    this.#turn = asked.catch(() => {});
    return asked;
  }

  #ask<R>(what: string, body: object | undefined): Promise<R> {
    return request(`${this.#session}/${what}`, body);
  }
}

/** @param body of a POST; undefined is a DELETE */
async function request<R>(url: string, body: object | undefined): Promise<R> {
  const response = await fetch(url, {
    method: body === undefined ? "DELETE" : "POST",
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const { value } = (await response.json()) as { value: R & { error?: string; message?: string } };
  if (!response.ok) throw new Error(`WebKit: ${value.error}: ${value.message}`);
  return value;
}
