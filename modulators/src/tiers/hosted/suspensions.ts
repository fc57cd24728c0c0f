import { JechoError } from "@jecho/shared";
import { keepNewest } from "../../running/newest-entries.ts";
import type { HostClock } from "../periods.ts";

/** Length of the first suspension; each later one lasts twice as long, up to the most. */
const FIRST_MS = 5000;
const MOST_MS = 600_000;
/** Time without an offence after which the count starts again. */
const FORGOTTEN_MS = 600_000;
/** Most texts and subjects that are remembered, the newest ones. */
const MOST_TEXTS = 64;
const MOST_SUBJECTS = 1024;

/** Offence for which modulators are suspended. */
interface Offence {
  /** Offences of one text, and of one subject's modulators, before they are suspended. */
  readonly sparedTexts: number;
  readonly sparedSubjects: number;
  readonly name: string;
}

const OFFENCES = {
  /** An ended host, which costs all others in it their state. */
  endedHost: { sparedTexts: 0, sparedSubjects: 1, name: "ended the host of all modulators" },
  /** A call beyond its time, which costs others the time until it was noticed. */
  timedOut: { sparedTexts: 2, sparedSubjects: 7, name: "timed out" },
} as const satisfies Record<string, Offence>;

interface Offender {
  times: number;
  /** End of the suspension, by the clock. */
  until: number;
}

/**
 * Suspends modulators that ended their host or timed out repeatedly. First their text is refused for a while, after further offences everything
 * from the same subject. Otherwise a loop of installations could end host after host, or take much of its time.
 */
export class Suspensions {
  readonly #records = {
    endedHost: new OffenceRecord(OFFENCES.endedHost),
    timedOut: new OffenceRecord(OFFENCES.timedOut),
  };
  readonly #clock: HostClock;

  constructor(clock: HostClock) {
    this.#clock = clock;
  }

  /** Counts an offence of a modulator with this text. @param by the subject that brought it; "" where it has no name */
  add(kind: keyof typeof OFFENCES, text: string, by: string): void {
    this.#records[kind].add(text, by, this.#clock.now());
  }

  /** @throws JechoError `MODULATOR_SUSPENDED`, saying for how long */
  check(text: string, by: string): void {
    const now = this.#clock.now();
    for (const record of Object.values(this.#records)) record.check(text, by, now);
  }
}

/** The texts and subjects that have committed one kind of offence. */
class OffenceRecord {
  readonly #offence: Offence;
  readonly #texts = new Map<string, Offender>();
  readonly #subjects = new Map<string, Offender>();

  constructor(offence: Offence) {
    this.#offence = offence;
  }

  add(text: string, by: string, now: number): void {
    const { sparedTexts, sparedSubjects } = this.#offence;
    blame(this.#texts, text, sparedTexts, MOST_TEXTS, now);
    if (by !== "") blame(this.#subjects, by, sparedSubjects, MOST_SUBJECTS, now);
  }

  check(text: string, by: string, now: number): void {
    this.#refuse(this.#texts.get(text), "this modulator has", now);
    this.#refuse(this.#subjects.get(by), `modulators of ${by} have`, now);
  }

  #refuse(offender: Offender | undefined, who: string, now: number): void {
    const leftMs = (offender?.until ?? 0) - now;
    if (offender === undefined || leftMs <= 0) return;
    const times = offender.times === 1 ? "once" : `${offender.times} times`;
    throw new JechoError(
      "MODULATOR_SUSPENDED",
      `${who} ${this.#offence.name} ${times}: try again in ${Math.ceil(leftMs / 1000)} s`,
    );
  }
}

function blame(
  offenders: Map<string, Offender>,
  name: string,
  spared: number,
  most: number,
  now: number,
): void {
  const known = offenders.get(name);
  const times = known === undefined || now > known.until + FORGOTTEN_MS ? 1 : known.times + 1;
  const ms = times > spared ? Math.min(MOST_MS, FIRST_MS * 2 ** (times - spared - 1)) : 0;
  keepNewest(offenders, name, { times, until: now + ms }, most);
}
