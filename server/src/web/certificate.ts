import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";
import { JechoError } from "@jecho/shared";

/** The files of a gateway's certificate, as PEM. They are read again when they change. */
export interface TlsOptions {
  /** The private key. */
  readonly keyFile: string;
  /** The certificate, followed by its chain to one that clients trust. */
  readonly certFile: string;
}

/** Interval of looks at the files, in milliseconds. */
const LOOK_MS = 1000;

/** The text of the key and of the certificate, as PEM. */
interface CertificateTexts {
  readonly key: string;
  readonly cert: string;
}

/** A gateway's certificate: the newest one of its files. */
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

  /**
   * Calls back when the files have changed, for new connections.
   *
   * Each look compares the files with the certificate in use, so that no exchange goes unnoticed.
   *
   * @returns a function that ends that
   */
  follow(changed: (certificate: this) => void): () => void {
    let ended = false;
    let complaint: string | undefined;
    const look = async (): Promise<void> => {
      try {
        const isNew = await this.#load();
        if (ended) return;
        complaint = undefined;
        if (isNew) {
          changed(this);
          this.#log("new connections are shown a new certificate");
        }
      } catch (error) {
        const { message } = error as Error;
        // Files that stay unusable are reported once.
        if (!ended && message !== complaint) this.#log(`${message}; the former one goes on`);
        complaint = message;
      }
      if (!ended) next = setTimeout(look, LOOK_MS).unref();
    };
    let next = setTimeout(look, LOOK_MS).unref();
    return () => {
      ended = true;
      clearTimeout(next);
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
      if (key === this.#texts.key && cert === this.#texts.cert) return false;
      createSecureContext({ key, cert });
      this.#texts = { key, cert };
      return true;
    } catch (error) {
      throw this.unusable((error as Error).message);
    }
  }
}
