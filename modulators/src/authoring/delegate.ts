import { JechoError } from "@jecho/shared";
import { type Offer as Grant, mayControl } from "@jecho/shared/internal";
import type { Value } from "../sandbox/values.ts";

/**
 * A producer's offers to modulators, by name. A modulator lists what it needs as `static needs`, and finds each at that
 * path of `this.moe`: `context.temperature`, `services.celsius`, `controls.warm`.
 */
export interface Delegate {
  /**
   * Read-only views of the producer's state, as functions that give the present value. What a modulator sees is the value when the
   * producer raised the first event of a batch. At most 1 MiB each. Read only while a modulator needs it.
   */
  readonly context?: Readonly<Record<string, () => Value>>;
  /**
   * Functions for modulators to call. Their text travels: they run beside the modulator, and so can use nothing but
   * their arguments and the language.
   */
  // biome-ignore lint/suspicious/noExplicitAny: any function that a producer may have.
  readonly services?: Readonly<Record<string, (...args: any[]) => unknown>>;
  /**
   * Functions by which modulators steer the producer. A call gives nothing back; it runs here, once the modulator's
   * turn has ended well, in the order of the calls.
   */
  // biome-ignore lint/suspicious/noExplicitAny: each takes what it takes; the arguments are Values.
  readonly controls?: Readonly<Record<string, (...args: any[]) => void>>;
  /** Gets the lines that modulators log. */
  readonly log?: (line: string) => void;
  /**
   * The capability that a consumer must have for its modulators to use something, by the name under which a modulator
   * needs it, or by that of the group: `{ controls: "steer", "context.secret": "insider" }`. Default: none.
   */
  readonly requires?: Readonly<Record<string, string>>;
}

/** One thing that is offered, as it travels. */
export interface Offer {
  /** The offer's name, as a modulator needs it. */
  readonly name: string;
  /** The capability that it takes; "" for none. */
  readonly capability: string;
  /** A service's text. */
  readonly text: string;
}

/** Services that every MOE offers by itself. */
export const MOE_SERVICES = ["clock", "entropy", "log", "random", "statistics"] as const;

const NAME = /^[A-Za-z_$][\w$]{0,63}$/;
const GROUPS = ["context", "services", "controls"] as const;

/**
 * Turns a delegate into data.
 *
 * @throws JechoError `ARGUMENT_INVALID` naming what cannot be offered
 */
export function offersOf(delegate: Delegate): Offer[] {
  const { requires = {} } = delegate;
  const offers: Offer[] = [];
  for (const group of GROUPS) {
    for (const [name, offered] of Object.entries(delegate[group] ?? {})) {
      if (!NAME.test(name) || typeof offered !== "function")
        throw new JechoError("ARGUMENT_INVALID", `${group}.${name.slice(0, 64)} cannot be offered`);
      const text = group === "services" ? textOf(name, offered) : "";
      const full = `${group}.${name}`;
      offers.push({ name: full, capability: requires[full] ?? requires[group] ?? "", text });
    }
  }
  for (const name of MOE_SERVICES) offers.push({ name, capability: requires[name] ?? "", text: "" });
  const known = new Set<string>([...GROUPS, ...offers.map(({ name }) => name)]);
  const unknown = Object.keys(requires).find(name => !known.has(name));
  if (unknown !== undefined)
    throw new JechoError("ARGUMENT_INVALID", `requires names "${unknown}", which is not offered`);
  return offers;
}

/** The offers where no producer offers anything. */
export const MOE_OFFERS: readonly Offer[] = offersOf({});

const FUNCTION = /^(?:async\s*)?(?:function\b|\(|[\w$]+\s*=>)/;

/** Whether a function's text is one by itself; a method's is one only in an object. */
export function isExpression(text: string): boolean {
  return FUNCTION.test(text);
}

/** A function's text as an expression. */
function textOf(name: string, offered: object): string {
  const text = Function.prototype.toString.call(offered);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) {
    throw new JechoError(
      "ARGUMENT_INVALID",
      `services.${name} has no text; offer a function that calls it, as (x) => Math.abs(x)`,
    );
  }
  return isExpression(text) ? `(${text})` : `Object.values({ ${text} })[0]`;
}

/** The offers that a modulator with this text may use when its consumer has these capabilities. */
export function grantsOf(
  offers: readonly Offer[],
  { source, capabilities }: { readonly source: string; readonly capabilities: readonly string[] },
): readonly Grant[] {
  const controls = mayControl(source);
  return offers.map(({ name, capability, text }) => {
    const isHeld = capability === "" || capabilities.includes(capability);
    const granted = isHeld && (controls || !name.startsWith("controls."));
    return { name, granted, text: granted ? text : "", capability: granted ? "" : capability };
  });
}

/** The module that brings services to a modulator; its export has them by name. undefined without any. */
export function servicesModule(grants: readonly Grant[]): string | undefined {
  const services = grants.filter(({ text }) => text !== "");
  if (services.length === 0) return undefined;
  const entries = services.map(
    ({ name, text }) => `${JSON.stringify(name.slice("services.".length))}: ${text}`,
  );
  return `export default { __proto__: null, ${entries.join(",\n")} };`;
}
