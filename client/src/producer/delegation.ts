import type { Delegate, Value } from "@jecho/modulators";
import { copyValue, type Offer, offersOf, sameValue, sizeOf } from "@jecho/modulators/internal";
import { JechoError } from "@jecho/shared";

const VIEW_BYTES = 1 << 20;

/** A producer's delegate at work: tells the concentrator the views that modulators need, and runs what they call. */
export class Delegation {
  readonly offers: readonly Offer[];
  readonly #delegate: Delegate;
  readonly #tell: (name: string, value: Value) => void;
  readonly #onError: (error: JechoError) => void;
  readonly #told = new Map<string, Value>();
  #wanted: readonly string[] = [];
  #looked = false;

  /** @throws JechoError `ARGUMENT_INVALID` for what cannot be offered */
  constructor(
    delegate: Delegate,
    tell: (name: string, value: Value) => void,
    onError: (error: JechoError) => void,
  ) {
    this.offers = offersOf(delegate);
    this.#delegate = delegate;
    this.#tell = tell;
    this.#onError = onError;
  }

  /** All views as they are now, so that a modulator that needs one has it when it is installed. */
  present(): ReadonlyMap<string, Value> {
    for (const name of Object.keys(this.#delegate.context ?? {})) {
      this.#attempt(`context.${name}`, () => this.#read(`context.${name}`));
    }
    return new Map(this.#told);
  }

  /** Modulators need these views from now on. */
  want(names: readonly string[]): void {
    this.#wanted = names;
    this.#looked = false;
    this.look();
  }

  /** An event is about to be raised: the views are read, once for all the events of a turn of the event loop. */
  look(): void {
    if (this.#looked || this.#wanted.length === 0) return;
    this.#looked = true;
    queueMicrotask(() => {
      this.#looked = false;
    });
    for (const name of this.#wanted)
      this.#attempt(name, () => {
        if (this.#read(name)) this.#tell(name, this.#told.get(name) as Value);
      });
  }

  /** A modulator called a control, or logged a line. */
  call(name: string, values: readonly Value[]): void {
    const { controls = {}, log } = this.#delegate;
    const control = name === "log" ? log : controls[name.slice("controls.".length)];
    this.#attempt(name, () => control?.(...(values as [string])));
  }

  /** @returns has it changed? */
  #read(name: string): boolean {
    const view = this.#delegate.context?.[name.slice("context.".length)];
    if (view === undefined) return false;
    const value = view();
    if (sameValue(this.#told.get(name), value)) return false;
    if (sizeOf(value) > VIEW_BYTES) throw new Error(`it is larger than ${VIEW_BYTES} bytes`);
    this.#told.set(name, copyValue(value));
    return true;
  }

  #attempt(name: string, act: () => void): void {
    try {
      act();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#onError(new JechoError("DELEGATE_FAILED", `${name}: ${why}`, { cause: error }));
    }
  }
}
