import { unusualOf } from "../delegate.ts";
import type { Declared } from "../sandbox/sandbox.ts";
import type { InstallRequest } from "../tier.ts";
import type { Installation } from "./installation.ts";

/** Modules that are remembered. */
const MOST_MODULES = 16;
/** Of parameters and states together, and objects: a sandbox has no trouble with so few, however they are nested. */
const MOST_CHARACTERS = 4096;
const MOST_OBJECTS = 16;

interface Known {
  readonly request: InstallRequest;
  readonly offers: string;
  readonly declared: Declared;
}

/**
 * Installations whose end is known before they begin: the host has installed the same module, and said that the answer is the same
 * whatever the parameters (`certain.ts`).
 */
export class Foregone {
  /** By source. */
  readonly #known = new Map<string, Known>();

  /** The host said so of this one, which it has installed. */
  learn({ request, grants, declared }: Installation): void {
    if (declared === undefined) return;
    const { source } = request.modulator;
    this.#known.delete(source);
    const [oldest] = this.#known.keys();
    if (this.#known.size === MOST_MODULES) this.#known.delete(oldest as string);
    this.#known.set(source, { request, offers: offersOf(grants), declared });
  }

  /** What its answer will be; undefined where that has to be waited for. */
  answerTo({ request, grants }: Installation): Declared | undefined {
    const known = this.#known.get(request.modulator.source);
    if (known === undefined || !isAlike(known.request, request) || known.offers !== offersOf(grants))
      return undefined;
    return isReadable(request) ? known.declared : undefined;
  }
}

function offersOf(grants: Installation["grants"]): string {
  const unusual = unusualOf(grants);
  return unusual.length === 0 ? "" : JSON.stringify(unusual);
}

/** Is it fed with the same? */
function isAlike(a: InstallRequest, b: InstallRequest): boolean {
  if ((a.behind ?? 0) !== (b.behind ?? 0) || a.further?.length || b.further?.length) return false;
  const [one, other] = [a.schema, b.schema];
  if (one === other) return true;
  if (one === undefined || other === undefined || one.byteLength !== other.byteLength) return false;
  return one.every((byte, i) => byte === other[i]);
}

/** Can a sandbox read its parameters and the states of its objects? */
function isReadable({ modulator: { parameters, objects } }: InstallRequest): boolean {
  if (objects.length > MOST_OBJECTS) return false;
  const texts = [parameters, ...objects.map(({ state }) => state)].filter(text => text !== "");
  if (texts.reduce((sum, { length }) => sum + length, 0) > MOST_CHARACTERS) return false;
  try {
    for (const text of texts) JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
