/** A count of time that begins anew whenever the host has had nothing to do. */
interface Account {
  usedMs: number;
  /** The busy stretch that this is of. */
  stretch: number;
}

/** A party to the time of one host: a subject, a connection, or a modulator by itself. */
interface Sharer extends Account {
  /** Numbers of the party's modulators, and of those with something waiting. */
  modulators: number;
  waiting: number;
  /** Time that its modulator had used which came last: one for which nothing waited begins there. */
  floorMs: number;
}

/** Parties that are remembered although none of their modulators is there: one that comes and goes keeps its count. */
const MOST_ABSENT = 1024;
/** The most events that a modulator takes at once where they wait for it, as long as its turns take no longer than this time. */
const MOST_EVENTS = 256;
const LONG_MS = 10;
/** Largest growth from one turn to the next: nobody knows how long the next one will take. */
const MOST_GROWTH = 8;
/** Time expected of a modulator that has not been measured: nobody is to wait behind several of these. */
const UNKNOWN_MS = 10;

/** One modulator's share of its host's time. */
export class Share implements Account {
  readonly sharer: Sharer;
  isWaiting = false;
  usedMs = 0;
  stretch = 0;
  /** Turns that the host has been sent for it and has not finished. */
  turns = 0;
  /** Time expected of its next turn: what turns took of late, the longest most of all. */
  expectedMs = UNKNOWN_MS;
  /** Events that it is given at once where several runs wait. */
  mostEvents = 1;
  /** Events of the last turn with any; 0 where none has been measured. */
  #events = 0;

  constructor(sharer: Sharer) {
    this.sharer = sharer;
  }

  /** Time expected of its next turn if that is given so many events. */
  expectedFor(events: number): number {
    const more = this.#events === 0 ? 1 : events / this.#events;
    return more <= 1 ? this.expectedMs : Math.min(Math.max(LONG_MS, this.expectedMs), more * this.expectedMs);
  }

  /** Called when the modulator is removed: its last turn may take longer than any before. */
  ends(): void {
    this.turns = 0;
    this.expectedMs = Math.max(this.expectedMs, UNKNOWN_MS);
  }

  /** A turn has ended. @param events that it was given; 0 for none */
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
 * Shares a host's time out: first among sharers, then among the modulators of each, by processor time really used. Of those who wait, the one
 * that has used least comes next. Nothing is held against anybody once the host has had nothing to do.
 */
export class Shares {
  readonly #sharers = new Map<string, Sharer>();
  /** The least that sharers had used for which something waited when somebody came last. */
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

  /** Something waits for this modulator from now on: what others have used while nothing did is not made up for. */
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
   * The one that comes next of these, for all of which something waits: that which will have used least by the end of its turn, so that nobody
   * waits for long turns who needs short ones.
   *
   * @param mostTurns of one that may come
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

  /** A modulator has used so much time. */
  charge(share: Share, ms: number): void {
    const { sharer } = share;
    this.#renew(sharer);
    this.#renew(share);
    sharer.usedMs += ms;
    share.usedMs += ms;
  }

  /** The host has nothing to do. */
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
