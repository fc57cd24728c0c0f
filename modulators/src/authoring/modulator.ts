import { JechoError } from "@jecho/shared";
import { checkKind, TEXT, unplainIn } from "@jecho/shared/internal";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

/** Plain data, as JSON carries it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** The part of a shared object that modulators need; the client's `SharedObject` is one. */
export interface SharedReference {
  /** Names the object everywhere. */
  readonly id: string;
  /** Counts its updates. */
  readonly version: number;
  /** Plain data. */
  readonly state: object;
}

/** A consumer's code that runs inside each producer of a channel, and makes a derived channel of it. */
export interface Modulator {
  /** Text of one ES module whose default export is a class that extends `Modulator` of "jecho:moe". At most 256 KiB. */
  readonly source: string;
  /** Handed to the constructor, frozen. Default: null. */
  readonly parameters?: Json;
  /** Makes the modulator equal to others of the same source and shared objects that have the same key. Default: the parameters. */
  readonly key?: string;
  /** The shared objects that it reads, as `this.objects.NAME`. */
  readonly objects?: Readonly<Record<string, SharedReference>>;
  /**
   * The names of the objects with lazy copies: the modulator is told of a newer version (`moe.isStale(name)`) and gets its state, with a later event,
   * after asking for it (`moe.pull(name)`). Default: none; each newer state is sent at once.
   */
  readonly lazy?: readonly string[];
  /**
   * Whether a running modulator of the same source serves as well as this one. If so, its consumer shares
   * that one's derived channel and parameters. It runs with the consumer, and is asked only of modulators
   * that have an `equals` as well, read the same shared objects, and have the same capabilities. Default: modulators with the same
   * `key` are equal.
   */
  readonly equals?: (other: { readonly parameters: Json }) => boolean;
}

/** The part of an eager handler that stays with the consumer: it turns received events into those that the handler sees. */
export interface Demodulator<In = unknown, Out = unknown> {
  /**
   * Takes one event of the derived channel, and calls `emit`, before it returns, for each event that the handler is to see. Emitted events
   * are handled even if it then throws.
   *
   * @param source reads bytes that the modulator made with `bytesOf`
   */
  push(event: In, emit: (event: Out) => void, source: EventSource): void;
}

/** Reads events of the base channel that came as bytes inside other events. */
export interface EventSource {
  /**
   * @param token the type that they were written with, as from `typeToken`
   * @returns an event of the consumer's type
   * @throws JechoError `TYPE_UNKNOWN`, `EVENT_INVALID`
   */
  decode(token: bigint, bytes: Uint8Array): unknown;
}

/** A handler split in two; spread it into the options of `subscribe`. */
export interface HandlerPair<In = unknown, Out = unknown> {
  /** Runs with every producer. */
  readonly modulator: Modulator;
  /** Stays with the consumer. Default: none, so the handler sees the modulator's output. */
  readonly demodulator?: Demodulator<In, Out>;
}

/** A modulator in a frame, with the fields of the table of that name. */
export interface ModulatorTable {
  readonly source: string;
  readonly parameters: string;
  readonly key: string;
  readonly objects: readonly {
    name: string;
    object: string;
    version: number;
    state: string;
    lazy: boolean;
  }[];
  readonly capabilities: readonly string[];
  readonly compares: boolean;
}

/** JSON with sorted names in each object, so that equal data give equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    const names = Object.keys(inner).sort();
    return Object.fromEntries(names.map(name => [name, (inner as Record<string, unknown>)[name]]));
  });
}

/**
 * The modulator as it travels, with the present states of its shared objects.
 *
 * @param capabilities the capabilities of its consumer
 * @throws JechoError `PARAMETERS_INVALID` where its parameters are not plain data, naming what in them; `ARGUMENT_INVALID` where a lazy object
 * is none that it reads, or its key or the capabilities are none; `MODULATOR_INVALID` where it has no source
 */
export function modulatorTable(modulator: Modulator, capabilities: readonly string[] = []): ModulatorTable {
  const { source, parameters = null, key, objects = {}, lazy = [] } = modulator;
  if (typeof source !== "string")
    throw new JechoError(
      "MODULATOR_INVALID",
      Object.hasOwn(modulator, "modulator")
        ? "this is a pair of modulator and demodulator: subscribe(handler, pair) takes it, or { ...pair, label }"
        : "a modulator has the text of its source: modulatorFrom() makes one of a function, a class or a text",
    );
  const unknown = lazy.find(name => !Object.hasOwn(objects, name));
  if (unknown !== undefined)
    throw new JechoError("ARGUMENT_INVALID", `"${unknown}" is lazy, but no object of the modulator's`);
  const unplain = unplainIn(parameters, "parameters");
  if (unplain !== undefined) throw new JechoError("PARAMETERS_INVALID", unplain);
  if (key !== undefined) checkKind("a modulator's key", key, TEXT);
  for (const [name, { id }] of Object.entries(objects)) checkKind(`objects.${name}.id`, id, TEXT);
  if (!Array.isArray(capabilities) || !capabilities.every(each => typeof each === "string"))
    throw new JechoError("ARGUMENT_INVALID", 'capabilities are a list of names, such as ["steer"]');
  const parametersText = canonicalJson(parameters);
  return {
    capabilities: [...capabilities].sort(),
    compares: modulator.equals !== undefined,
    source,
    parameters: parametersText,
    key: key === undefined && modulator.objects === undefined ? "" : keyOf(modulator, parametersText),
    objects: Object.entries(objects)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { id, version, state }]) => ({
        name,
        object: id,
        version,
        state: canonicalJson(state),
        lazy: lazy.includes(name),
      })),
  };
}

/**
 * Names a modulator: two with equal keys are one, and share a derived channel. SHA-256 in hex over that of its source, its `key`, the ids
 * of its shared objects, and which of them are lazy; their states do not count.
 */
export function modulatorKey(modulator: Modulator): string {
  const key = keyText(modulator, canonicalJson(modulator.parameters));
  return hashOf(JSON.stringify([hashOf(modulator.source), key]));
}

/** Longer keys travel as their hash. */
const KEY_CHARACTERS = 1024;

/** The key as it travels. The source is compared beside it; and hashing what is short would take longer than sending it. */
function keyOf(modulator: Modulator, parameters: string): string {
  const key = keyText(modulator, parameters);
  return key.length <= KEY_CHARACTERS ? key : hashOf(key);
}

/** The text of the key by which modulators of the same source are equal. */
function keyText({ key, objects = {}, lazy = [] }: Modulator, parameters: string): string {
  const ids = Object.entries(objects)
    .map(([name, { id }]) => [name, id, lazy.includes(name)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([key ?? [parameters], ids]);
}

function hashOf(text: string): string {
  return bytesToHex(sha256(new TextEncoder().encode(text)));
}
