import { readFile, rename, writeFile } from "node:fs/promises";
import { deserialize, serialize } from "node:v8";
import type { SimulationState } from "./simulation.ts";

/** Told apart from files of other programs, and of versions that kept something else. */
const FORMAT = "jecho atmosphere 1";

/** A file with the newest state of a simulation. At any moment, that of a crash too, there is a whole one. */
export class Checkpoint {
  readonly #file: string;
  #next: SimulationState | undefined;
  #writing: Promise<void> | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** The state of an earlier run; undefined where there is no such file. @throws Error where it is none that can be read */
  async read(): Promise<SimulationState | undefined> {
    let bytes: Buffer;
    try {
      bytes = await readFile(this.#file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
    const [format, state] = contentOf(bytes);
    if (format !== FORMAT) throw new Error(`${this.#file} is no checkpoint of this version's`);
    return state as SimulationState;
  }

  /** Writes a state, or a newer one if there is one by the time that the last is written. Resolves when the newest is. */
  save(state: SimulationState): Promise<void> {
    this.#next = state;
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const beside = `${this.#file}.new`;
    while (this.#next !== undefined) {
      const bytes = serialize([FORMAT, this.#next]);
      this.#next = undefined;
      await writeFile(beside, bytes, { mode: 0o600 });
      await rename(beside, this.#file);
    }
  }
}

function contentOf(bytes: Buffer): unknown[] {
  try {
    const content: unknown = deserialize(bytes);
    return Array.isArray(content) ? content : [];
  } catch {
    return [];
  }
}
