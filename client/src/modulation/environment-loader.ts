import type { Environment } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";

/** The environment that modulators run in, made when the first of them is to be installed. */
export class EnvironmentLoader {
  readonly #create: () => Environment | Promise<Environment>;
  readonly #begin: (environment: Environment) => void;
  #loaded: Environment | undefined;
  #loading: Promise<Environment> | undefined;
  #isClosed = false;

  /** @param begin called once, before others get the environment */
  constructor(create: () => Environment | Promise<Environment>, begin: (environment: Environment) => void) {
    this.#create = create;
    this.#begin = begin;
  }

  /** The environment; undefined before it is loaded. */
  get loaded(): Environment | undefined {
    return this.#loaded;
  }

  /** The promise of the environment while it is being loaded, so that callers act in order. */
  get loading(): Promise<Environment> | undefined {
    return this.#loading;
  }

  /** The environment; a promise of it while it is being loaded. @throws JechoError `MODULATORS_NOT_SERVED` */
  load(): Environment | Promise<Environment> {
    const present = this.#loaded ?? this.#loading;
    if (present !== undefined) return present;
    const made = this.#create();
    if (!(made instanceof Promise)) return this.#enter(made);
    this.#loading = made
      .then(async environment => {
        if (!this.#isClosed) return this.#enter(environment);
        await environment.close();
        throw new JechoError("CLOSED", "the session is closed");
      })
      .catch(error => {
        // The next installation tries again.
        this.#loading = undefined;
        throw JechoError.from(error, "MODULATORS_NOT_SERVED");
      });
    return this.#loading;
  }

  #enter(environment: Environment): Environment {
    this.#loaded = environment;
    this.#loading = undefined;
    this.#begin(environment);
    return environment;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#loaded?.close();
  }
}
