import { unwatchFile, watchFile } from "node:fs";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { JechoError } from "@jecho/shared";

/** The files of a gateway's certificate, both as PEM. They are read again when they change. */
export interface TlsOptions {
  /** The private key. */
  readonly keyFile: string;
  /** The certificate, and behind it those that lead to one that clients trust. */
  readonly certFile: string;
}

const LOOK_MS = 2000;

/** The text of the key and of the certificate, as PEM. */
interface CertificateTexts {
  readonly key: string;
  readonly cert: string;
}

/** The certificate that a gateway shows, the newest one that its files had. */
export class Certificate {
  readonly keyFile: string;
  readonly certFile: string;
  readonly #log: (line: string) => void;
  #texts: CertificateTexts = { key: "", cert: "" };

  private constructor({ keyFile, certFile }: TlsOptions, log: (line: string) => void) {
    this.keyFile = keyFile;
    this.certFile = certFile;
    this.#log = log;
  }

  /** @throws JechoError `ARGUMENT_INVALID` where the files are no key and certificate that belong together */
  static async open(options: TlsOptions, log: (line: string) => void): Promise<Certificate> {
    const certificate = new Certificate(options, log);
    await certificate.#load();
    return certificate;
  }

  /** Key and certificate, as PEM. */
  get texts(): CertificateTexts {
    return this.#texts;
  }

  /** Calls back when the files have others, to be shown to new connections. @returns what ends that */
  follow(changed: (certificate: this) => void): () => void {
    const look = async (): Promise<void> => {
      try {
        if (!(await this.#load())) return;
        changed(this);
        this.#log("new connections are shown a new certificate");
      } catch (error) {
        this.#log(`${(error as Error).message}; the former one goes on`);
      }
    };
    // Between the two files' changes they do not belong together, which is no error yet: it is looked again with the second.
    const looked = (): void => void look();
    const files = [this.keyFile, this.certFile];
    for (const file of files) watchFile(file, { interval: LOOK_MS, persistent: false }, looked);
    return () => {
      for (const file of files) unwatchFile(file, looked);
    };
  }

  /** The error of files that cannot be used. */
  unusable(why: string): JechoError {
    return new JechoError(
      "ARGUMENT_INVALID",
      `${this.keyFile} and ${this.certFile} are no key and certificate that can be used: ${why}`,
    );
  }

  /** @returns whether they have changed */
  async #load(): Promise<boolean> {
    try {
      const [key, cert] = await Promise.all([
        readFile(this.keyFile, "utf8"),
        readFile(this.certFile, "utf8"),
      ]);
      createSecureContext({ key, cert });
      const isNew = key !== this.#texts.key || cert !== this.#texts.cert;
      this.#texts = { key, cert };
      return isNew;
    } catch (error) {
      throw this.unusable((error as Error).message);
    }
  }
}
