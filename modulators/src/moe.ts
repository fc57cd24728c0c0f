/// <reference path="../standard/moe.d.ts" preserve="true" />
/**
 * Base classes for modulators that are written beside their consumers. Where this is imported, TypeScript also knows
 * the module "jecho:moe", which modulators in files of their own import.
 */
import type * as Moe from "jecho:moe";
import * as world from "./sandbox/world/moe.ts";

type Objects = Readonly<Record<string, unknown>>;

/** Base class of a modulator that takes, keeps and gives events its own way. */
export const Modulator = world.Modulator as unknown as typeof Moe.Modulator;
export type Modulator<Event extends object = object, P = unknown, O = Objects> = Moe.Modulator<Event, P, O>;

/** Base class of most modulators: passes every event that its `enqueue` is given, in order. */
export const FifoModulator = world.FifoModulator as unknown as typeof Moe.FifoModulator;
export type FifoModulator<Event extends object = object, P = unknown, O = Objects> = Moe.FifoModulator<
  Event,
  P,
  O
>;

/** Marks an event to be sent ahead of those that wait, and returns it. */
export const urgent: typeof Moe.urgent = world.urgent;
