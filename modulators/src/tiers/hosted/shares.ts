/** A count of time that starts again at 0 whenever the host has been idle. */
interface Account {
  usedMs: number;
  /** Number of the busy period that it belongs to. */
  stretch: number;
}

/** A sharer of one host's time: a subject, a connection, or a modulator without one. */
interface Sharer extends Account {
  /** Number of the sharer's modulators, and of those for which something waits. */
  modulators: number;
  waiting: number;
  /** Time used by the modulator that was served last: one for which nothing had waited begins there. */
  floorMs: number;
}

/** Most sharers that are remembered without modulators: one that comes and goes keeps its count. */
const MOST_ABSENT = 1024;
/** Most events of one turn where more wait, as long as turns take no longer than the time below. */
const MOST_EVENTS = 256;
const LONG_MS = 10;
/** Largest growth of a turn's events over the turn before, since nobody knows how long the next one takes. */
const MOST_GROWTH = 8;
/** Time expected of a modulator that has not been measured, so that nobody waits behind several of them. */
const UNKNOWN_MS = 10;

/** One modulator's share of its host's time. */
export class Share implements Account {
  readonly sharer: Sharer;
  isWaiting = false;
  usedMs = 0;
  stretch = 0;
  /** Turns sent to the host and not finished. */
  turns = 0;
  /** Time expected of its next turn, from the recent ones, with most weight on the longest. */
  expectedMs = UNKNOWN_MS;
  /** Events per turn where several runs wait. */
  mostEvents = 1;
  /** Events of the last turn that had any; 0 before the first. */
  #events = 0;

  constructor(sharer: Sharer) {
    this.sharer = sharer;
  }

  /** Time expected of a turn with so many events. */
  expectedFor(events: number): number {
    const more = this.#events === 0 ? 1 : events / this.#events;
    return more <= 1 ? this.expectedMs : Math.min(Math.max(LONG_MS, this.expectedMs), more * this.expectedMs);
  }

  /** Called when the modulator is removed: its last turn may take longer than any before. */
  ends(): void {
    this.turns = 0;
    this.expectedMs = Math.max(this.expectedMs, UNKNOWN_MS);
  }

  /** A turn has ended. @param events number of the turn's events */
  turned(cpuMs: number, events: number): void {
    this.turns = Math.max(0, this.turns - 1);
    this.expectedMs = this.#events > 0 ? Math.max(cpuMs, 0.75 * this.expectedMs) : cpuMs;
    if (events === 0) return;
    this.#events = events;
    if (cpuMs > LONG_MS) this.mostEvents = Math.max(1, Math.min(this.mostEvents, events) >> 1);
    else if (this.mostEvents < MOST_EVENTS) {
      const growth = cpuMs > 0 ? Math.min(MOST_GROWTH, LONG_MS / cpuMs) : MOST_GROWTH;
      this.mostEvents = Math.min(MOST_EVENTS, Math.max(this.mostEvents, Math.ceil(events * growth)));
    }
  }
}

/**
 * Divides a host's time, first among sharers, then among the modulators of each, by measured processor time: of those that wait, the one that has
 * used least comes next. All counts start again once the host has been idle.
 */
export class Shares {
  readonly #sharers = new Map<string, Sharer>();
  /** Least time used by a waiting sharer when the newest one arrived. */
  #floorMs = 0;
  /** Number of sharers without modulators. */
  #absent = 0;
  #stretch = 1;

  /** @param sharer names who it counts for */
  join(sharer: string): Share {
    const isKnown = this.#sharers.has(sharer);
    const known = this.#sharers.get(sharer) ?? {
      usedMs: 0,
      stretch: 0,
      modulators: 0,
      waiting: 0,
      floorMs: 0,
    };
    // Deleted first, so that the map's order is that of the newest arrivals.
    this.#sharers.delete(sharer);
    this.#sharers.set(sharer, known);
    if (known.modulators++ === 0 && isKnown) this.#absent--;
    return new Share(known);
  }

  leave(share: Share): void {
    this.rests(share);
    if (--share.sharer.modulators > 0) return;
    this.#absent++;
    this.#forgetAbsent(MOST_ABSENT);
  }

  /** Something waits for this modulator from now on. It gets no credit for the time when nothing did. */
  waits(share: Share): void {
    if (share.isWaiting) return;
    share.isWaiting = true;
    const { sharer } = share;
    this.#renew(sharer);
    this.#renew(share);
    if (sharer.waiting++ === 0) sharer.usedMs = Math.max(sharer.usedMs, this.#floorMs);
    share.usedMs = Math.max(share.usedMs, sharer.floorMs);
  }

  /** Called when nothing waits for this modulator any more. */
  rests(share: Share): void {
    if (!share.isWaiting) return;
    share.isWaiting = false;
    share.sharer.waiting--;
  }

  /**
   * The next one of these waiting modulators: the one that will have used least at the end of its turn, so that short turns do not wait for
   * long ones.
   *
   * @param mostTurns most unfinished turns of the next one
   */
  next<T extends { readonly share: Share }>(waiting: Iterable<T>, mostTurns: number): T | undefined {
    const firsts = new Map<Sharer, T>();
    let leastMs = Number.POSITIVE_INFINITY;
    for (const one of waiting) {
      const { sharer, turns } = one.share;
      leastMs = Math.min(leastMs, sharer.usedMs);
      if (turns >= mostTurns) continue;
      const first = firsts.get(sharer);
      if (first === undefined || endOf(one.share, one.share) < endOf(first.share, first.share))
        firsts.set(sharer, one);
    }
    this.#floorMs = leastMs;
    let next: T | undefined;
    for (const [sharer, first] of firsts)
      if (next === undefined || endOf(sharer, first.share) < endOf(next.share.sharer, next.share))
        next = first;
    if (next !== undefined)
      next.share.sharer.floorMs = Math.max(next.share.sharer.floorMs, next.share.usedMs);
    return next;
  }

  /** Counts time that a modulator used. */
  charge(share: Share, ms: number): void {
    const { sharer } = share;
    this.#renew(sharer);
    this.#renew(share);
    sharer.usedMs += ms;
    share.usedMs += ms;
  }

  /** The host is idle. */
  idle(): void {
    this.#stretch++;
    this.#floorMs = 0;
    this.#forgetAbsent(0);
  }

  #renew(account: Account | Sharer): void {
    if (account.stretch === this.#stretch) return;
    account.stretch = this.#stretch;
    account.usedMs = 0;
    if ("floorMs" in account) account.floorMs = 0;
  }

  #forgetAbsent(most: number): void {
    for (const [name, { modulators }] of this.#sharers) {
      if (this.#absent <= most) return;
      if (modulators > 0) continue;
      this.#sharers.delete(name);
      this.#absent--;
    }
  }
}

/** Time that the account will have used when this one's next turn has ended. */
function endOf({ usedMs }: Account, { expectedMs }: Share): number {
  return usedMs + expectedMs;
}
