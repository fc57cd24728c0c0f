import { fifo, type Modulator } from "@jecho/modulators";
import type { Limits } from "@jecho/modulators/node";
import { JechoError } from "@jecho/shared";
import { afterAll, afterEach, expect } from "vitest";
import { modulator, Rig, USUAL } from "./rig.ts";

/*
 * Hostile modulators, whose tests are named after their rows in the list of what the sandbox must withstand. A well-behaved
 * one stands beside each of them.
 */

/** How a hostile modulator ended; `derived` where it lives. */
export interface Outcome {
  readonly code: string;
  readonly message: string;
  readonly derived?: number;
}

/**
 * Installs a well-behaved modulator.
 *
 * @returns expects that it has seen every step that the rig raised since, once and in order
 */
export async function neighbourIn(rig: Rig): Promise<() => void> {
  const neighbour = await installed(rig, fifo().modulator);
  const before = rig.raised.length;
  return () => {
    const seen = rig.received(neighbour);
    expect(seen.map(({ event }) => [event.step, event.layer])).toEqual(rig.raised.slice(before));
    expect(seen.map(({ raised }) => raised)).toEqual(seen.map((_, i) => i));
    expect(rig.removed.has(neighbour)).toBe(false);
  };
}

/** Installs a well-behaved modulator, as a gateway does: again where a busy machine took too long, which no rig is to blame for. */
async function installed(rig: Rig, wellBehaved: Modulator): Promise<number> {
  for (;;)
    try {
      return await rig.install(wellBehaved);
    } catch (error) {
      if ((error as JechoError).code !== "MODULATOR_TIMED_OUT") throw error;
    }
}

/** One rig for all tests of a file; after each of them its neighbour is asked. @param limits patient ones but for these */
export async function besideNeighbour(limits: Partial<Limits> = USUAL) {
  const rig = new Rig({ limits });
  const hasSeenAll = await neighbourIn(rig);
  afterAll(() => rig.host.close());
  afterEach(async () => {
    rig.step();
    await rig.settled();
    hasSeenAll();
  });

  /** Installs it, raises a step of three events, and tells how it ended. */
  async function fateOf(hostile: Modulator): Promise<Outcome> {
    let derived: number;
    try {
      derived = await rig.install(hostile);
    } catch (error) {
      expect(error).toBeInstanceOf(JechoError);
      return error as JechoError;
    }
    rig.step();
    await rig.settled();
    const removed = rig.removed.get(derived);
    if (removed !== undefined) return removed;
    rig.host.remove(derived);
    return { code: "alive", message: "", derived };
  }

  /** The value of an expression in the modulator's world, as text. */
  async function found(expression: string, before = ""): Promise<string> {
    const body = `static output = { name: "Finding", description: { text: "string" } };
      enqueue(event) { super.enqueue({ text: String(${expression}) }); }`;
    const { derived, code, message } = await fateOf(modulator(body, before));
    if (derived === undefined) return `${code}: ${message}`;
    return rig.received<{ text: string }>(derived)[0]?.event.text ?? "nothing";
  }

  return { rig, fateOf, found };
}

/** A modulator with this code for each event. */
export const inEnqueue = (code: string, before = ""): Modulator =>
  modulator(`enqueue(event) { ${code} }`, before);
