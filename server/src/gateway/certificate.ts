import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { JechoError } from "@jecho/shared";
import type { AppOptions, TemplatedApp } from "#uws";

/** The files of a gateway's certificate, both as PEM. They are read again when they change. */
export interface TlsOptions {
  /** The private key. */
  readonly keyFile: string;
  /** The certificate, and behind it those that lead to one that clients trust. */
  readonly certFile: string;
}

const LOOK_MS = 2000;
/** Whatever name a client asks for, of up to so many parts. */
const NAMES = Array.from({ length: 6 }, (_, i) =>
  Array(i + 1)
    .fill("*")
    .join("."),
);

/** The certificate that a gateway shows, the newest one that its files had. */
export class Certificate {
  readonly #options: TlsOptions;
  #text: string;

  private constructor(options: TlsOptions, text: string) {
    this.#options = options;
    this.#text = text;
  }

  /** @throws JechoError `ARGUMENT_INVALID` where the files are no key and certificate that belong together */
  static async open(options: TlsOptions): Promise<Certificate> {
    return new Certificate(options, await load(options));
  }

  /** @throws JechoError `ARGUMENT_INVALID` where uWebSockets.js cannot use what Node can */
  secure(createApp: (options: AppOptions) => TemplatedApp): TemplatedApp {
    try {
      return createApp(this.#appOptions);
    } catch {
      throw unusable(this.#options, "uWebSockets.js does not take them");
    }
  }

  get #appOptions(): AppOptions {
    const { keyFile, certFile } = this.#options;
    return { key_file_name: keyFile, cert_file_name: certFile };
  }

  /**
   * Has new connections shown what the files have from now on. uWebSockets.js cannot exchange an app's own certificate, but those by the name that a client asks for:
   * who asks for none, as for an IP address, is shown the first one for as long as the gateway runs.
   *
   * @param route says to an app what it serves: what has a certificate of its own has routes of its own
   * @returns what ends that
   */
  follow(app: TemplatedApp, route: (app: TemplatedApp) => void, log: (line: string) => void): () => void {
    const { keyFile, certFile } = this.#options;
    const look = async (): Promise<void> => {
      try {
        const text = await load(this.#options);
        if (text === this.#text) return;
        this.#text = text;
        for (const name of NAMES) {
          app.removeServerName(name);
          app.addServerName(name, this.#appOptions);
          route(app.domain(name));
        }
        log("new connections are shown a new certificate");
      } catch (error) {
        log(`${(error as Error).message}; the former one goes on`);
      }
    };
    // Between the two files' changes they do not belong together, which is no error yet: it is looked again with the second.
    const changed = (): void => void look();
    for (const file of [keyFile, certFile])
      watchFile(file, { interval: LOOK_MS, persistent: false }, changed);
    return () => {
      for (const file of [keyFile, certFile]) unwatchFile(file, changed);
    };
  }
}

/** uWebSockets.js does not say what is wrong, and Node does. */
async function load(options: TlsOptions): Promise<string> {
  try {
    const [key, cert] = await Promise.all([
      readFile(options.keyFile, "utf8"),
      readFile(options.certFile, "utf8"),
    ]);
    createSecureContext({ key, cert });
    return `${key}\n${cert}`;
  } catch (error) {
    throw unusable(options, (error as Error).message);
  }
}

function unusable({ keyFile, certFile }: TlsOptions, why: string): JechoError {
  return new JechoError(
    "ARGUMENT_INVALID",
    `${keyFile} and ${certFile} are no key and certificate that can be used: ${why}`,
  );
}
