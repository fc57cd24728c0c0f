import type { Json, Modulator } from "@jecho/modulators";
import type { ModulatorTable } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";
import { checkOptions } from "@jecho/shared/internal";
import type { EagerHandler, ResetOptions } from "../options/consumer-options.ts";
import { PAIR, RESET } from "../options/option-names.ts";
import type { ControlRequest, PortNotice } from "../places/port.ts";

/** A reset that was asked for. */
interface Resetting {
  readonly pair: EagerHandler;
  readonly sync: boolean;
  resolve(): void;
  reject(error: JechoError): void;
}

/** The part of a consumer that its resets use. */
export interface ResetsOptions {
  readonly endpoint: number;
  post(request: ControlRequest): void;
  tableOf(modulator: Modulator, capabilities?: readonly string[]): ModulatorTable;
  /** Resolves when no promise that the handler returned is under way. */
  settled(): Promise<void>;
}

/** A consumer's resets, and comparisons of its modulator with others. */
export class Resets {
  readonly #options: ResetsOptions;
  readonly #asked = new Map<number, Resetting>();
  /** Resets that are in force and wait for events of the old pair that are still being handled. */
  readonly #settling = new Set<Resetting>();
  /** The comparison of the modulator in force. */
  #equals: Modulator["equals"];
  #next = 1;

  /** @param pair that is in force at first */
  constructor(pair: EagerHandler, options: ResetsOptions) {
    this.#equals = pair.modulator?.equals;
    this.#options = options;
  }

  /** @throws JechoError what makes a pair that cannot be sent */
  ask(pair: EagerHandler, options: ResetOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      checkOptions<EagerHandler>("reset()", pair, PAIR);
      checkOptions<ResetOptions>("reset()", options, RESET);
      const { sync = false } = options;
      const { endpoint, tableOf } = this.#options;
      const modulator = pair.modulator && tableOf(pair.modulator, pair.capabilities);
      const reset = this.#next++;
      this.#asked.set(reset, { pair, sync, resolve, reject });
      this.#options.post({ is: "resetConsumer", endpoint, reset, modulator });
    });
  }

  /**
   * The reset is in force, which answers the older ones too.
   *
   * @param take is given its pair before anybody is answered
   */
  opened(reset: number, take: (pair: EagerHandler) => void): void {
    const newest = this.#asked.get(reset);
    if (newest !== undefined) {
      this.#equals = newest.pair.modulator?.equals;
      take(newest.pair);
    }
    for (const [number, resetting] of this.#asked) {
      if (number > reset) continue;
      this.#asked.delete(number);
      if (resetting.sync) this.#settle(resetting);
      else resetting.resolve();
    }
  }

  refused(reset: number, error: JechoError): void {
    this.#asked.get(reset)?.reject(error);
    this.#asked.delete(reset);
  }

  /** Finds the modulator among these that is equal to the own one, if there is one. */
  compare({ reset, newest, modulators }: Extract<PortNotice, { is: "compare" }>): void {
    const { endpoint, post } = this.#options;
    const asked = this.#asked.get(reset);
    const equals = asked === undefined ? this.#equals : asked.pair.modulator?.equals;
    const compared = { is: "compared", endpoint, reset, newest } as const;
    try {
      const equal = modulators.find(({ parameters }) =>
        equals?.({ parameters: JSON.parse(parameters) as Json }),
      );
      post({ ...compared, equal, failure: "" });
    } catch (error) {
      const { message } = JechoError.from(error);
      post({ ...compared, equal: undefined, failure: `its equals failed: ${message}` });
    }
  }

  /** The consumer has ended. */
  end(error: JechoError): void {
    for (const { reject } of [...this.#asked.values(), ...this.#settling]) reject(error);
    this.#asked.clear();
    this.#settling.clear();
  }

  #settle(resetting: Resetting): void {
    this.#settling.add(resetting);
    void this.#options.settled().then(() => {
      this.#settling.delete(resetting);
      resetting.resolve();
    });
  }
}
