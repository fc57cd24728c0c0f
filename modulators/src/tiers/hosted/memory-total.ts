import type { RunningModulator } from "../../running/running-modulator.ts";

/** Processor time of a modulator after which its memory is measured again. */
const WEIGHED_MS = 1;
/** Turns after which its memory is measured again, whatever time they took. */
const WEIGHED_TURNS = 256;

/** Collecting garbage has to give back this part of the limit: it takes a millisecond for each modulator. */
const WORTH = 8;

interface Weight {
  /** Party that the memory counts for: a subject, or a modulator without one. */
  readonly by: string;
  bytes: number;
  /** Processor time that the modulator had used when its memory was measured. */
  cpuMs: number;
  turns: number;
}

/** Memory that all modulators of a host take together. */
export class MemoryTotal {
  readonly #limitBytes: number;
  readonly #weights = new Map<RunningModulator, Weight>();
  #bytes = 0;

  constructor(limitMiB: number) {
    this.#limitBytes = limitMiB * (1 << 20);
  }

  get isExceeded(): boolean {
    return this.#bytes > this.#limitBytes;
  }

  add(modulator: RunningModulator, by: string): void {
    const bytes = modulator.heldBytes;
    this.#bytes += bytes;
    const name = by === "" ? `#${modulator.derived}` : `by ${by}`;
    this.#weights.set(modulator, { by: name, bytes, cpuMs: modulator.cpuMs, turns: 0 });
  }

  /**
   * Collects all modulators' garbage.
   *
   * @param pause called after each
   * @returns false where that gave back so little that it would soon be needed again
   */
  collect(pause: () => void): boolean {
    const before = this.#bytes;
    for (const [modulator, weight] of this.#weights) {
      modulator.collect();
      this.#weigh(modulator, weight);
      pause();
    }
    return before - this.#bytes > this.#limitBytes / WORTH;
  }

  #weigh(modulator: RunningModulator, weight: Weight): void {
    const bytes = modulator.heldBytes;
    this.#bytes += bytes - weight.bytes;
    Object.assign(weight, { bytes, cpuMs: modulator.cpuMs, turns: 0 });
  }

  /** The modulator has had a turn. */
  turned(modulator: RunningModulator): void {
    const weight = this.#weights.get(modulator);
    if (weight === undefined) return;
    if (++weight.turns < WEIGHED_TURNS && modulator.cpuMs - weight.cpuMs < WEIGHED_MS) return;
    this.#weigh(modulator, weight);
  }

  forget(modulator: RunningModulator): void {
    this.#bytes -= this.#weights.get(modulator)?.bytes ?? 0;
    this.#weights.delete(modulator);
  }

  /** The largest modulator of the party that takes most. */
  largest(): RunningModulator | undefined {
    const sums = new Map<string, number>();
    for (const { by, bytes } of this.#weights.values()) sums.set(by, (sums.get(by) ?? 0) + bytes);
    const most = Math.max(...sums.values());
    let largest: RunningModulator | undefined;
    let largestBytes = -1;
    for (const [modulator, { by, bytes }] of this.#weights) {
      if (sums.get(by) !== most || bytes <= largestBytes) continue;
      largest = modulator;
      largestBytes = bytes;
    }
    return largest;
  }
}
