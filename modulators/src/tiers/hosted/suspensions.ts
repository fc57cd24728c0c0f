import { JechoError } from "@jecho/shared";
import type { HostClock } from "../periods.ts";

/** Length of the first suspension; each later one lasts twice as long, up to the most. */
const FIRST_MS = 5000;
const MOST_MS = 600_000;
/** Time after a suspension without another ended host, from which on the count begins anew. */
const FORGOTTEN_MS = 600_000;
/** Texts and subjects that are remembered: those that ended a host last. */
const MOST_TEXTS = 64;
const MOST_SUBJECTS = 1024;
/** Hosts that a subject's modulators may end before all of them are suspended. */
const SPARED = 1;

interface Offender {
  /** Hosts that it has ended. */
  ended: number;
  /** End of the suspension, by the clock. */
  until: number;
}

/**
 * Modulators that have ended their host, which costs all others in it their state. Their text is refused for a while, and, from the second end on, whatever else
 * comes from the same subject: else a loop of installations would end host after host.
 */
export class Suspensions {
  readonly #clock: HostClock;
  readonly #texts = new Map<string, Offender>();
  readonly #subjects = new Map<string, Offender>();

  constructor(clock: HostClock) {
    this.#clock = clock;
  }

  /** A modulator with this text has ended its host. @param by the subject that brought it; "" where that has no name */
  add(text: string, by: string): void {
    this.#add(this.#texts, text, 0, MOST_TEXTS);
    if (by !== "") this.#add(this.#subjects, by, SPARED, MOST_SUBJECTS);
  }

  /** @throws JechoError `MODULATOR_SUSPENDED`, saying for how long */
  check(text: string, by: string): void {
    this.#check(this.#texts.get(text), "this modulator has");
    this.#check(this.#subjects.get(by), `modulators of ${by} have`);
  }

  #check(offender: Offender | undefined, who: string): void {
    const leftMs = (offender?.until ?? 0) - this.#clock.now();
    if (offender === undefined || leftMs <= 0) return;
    const times = offender.ended === 1 ? "once" : `${offender.ended} times`;
    throw new JechoError(
      "MODULATOR_SUSPENDED",
      `${who} ended the host of all modulators ${times}: try again in ${Math.ceil(leftMs / 1000)} s`,
    );
  }

  #add(offenders: Map<string, Offender>, name: string, spared: number, most: number): void {
    const now = this.#clock.now();
    const known = offenders.get(name);
    const ended = known === undefined || now > known.until + FORGOTTEN_MS ? 1 : known.ended + 1;
    const ms = ended > spared ? Math.min(MOST_MS, FIRST_MS * 2 ** (ended - spared - 1)) : 0;
    // Deleted first, so that the map's order is that of the ends.
    offenders.delete(name);
    offenders.set(name, { ended, until: now + ms });
    for (const oldest of offenders.keys()) {
      if (offenders.size <= most) return;
      offenders.delete(oldest);
    }
  }
}
