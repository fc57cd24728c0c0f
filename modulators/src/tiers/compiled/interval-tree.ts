/** An interval with its bounds, which belong to it. */
export interface Interval {
  readonly least: number;
  readonly most: number;
}

/** Intervals, of which those around a point are found without a look at the others. */
export class IntervalTree<T extends Interval> {
  /** Intervals by their lower bound, as a balanced tree: the middle one of a part is its root. */
  #sorted: T[] = [];
  /** Their bounds, and the greatest upper bound of the part that each is the root of: side by side, for few of many are in a cache. */
  #least = new Float64Array(0);
  #most = new Float64Array(0);
  #reach = new Float64Array(0);
  /** Intervals that came since the tree was made. */
  readonly #loose = new Set<T>();
  /** Intervals of the tree that went since. */
  readonly #gone = new Set<T>();
  /** Looks at single intervals since the tree was made: when they have cost as much as a new tree does, it is made. */
  #looks = 0;

  get size(): number {
    return this.#sorted.length - this.#gone.size + this.#loose.size;
  }

  add(interval: T): void {
    if (!this.#gone.delete(interval)) this.#loose.add(interval);
  }

  delete(interval: T): void {
    if (!this.#loose.delete(interval)) this.#gone.add(interval);
  }

  /** Visits the intervals around a point, which is not NaN. */
  around(point: number, visit: (interval: T) => void): void {
    this.#looks += this.#loose.size + this.#gone.size;
    if (this.#looks > 4 * (this.#sorted.length + this.#loose.size)) this.#make();
    if (this.#loose.size > 0)
      for (const interval of this.#loose)
        if (interval.least <= point && point <= interval.most) visit(interval);
    this.#find(point, visit, 0, this.#sorted.length);
  }

  #find(point: number, visit: (interval: T) => void, first: number, end: number): void {
    for (let from = first; from < end; ) {
      const middle = (from + end) >> 1;
      if ((this.#reach[middle] as number) < point) return;
      this.#find(point, visit, from, middle);
      if ((this.#least[middle] as number) > point) return;
      if (point <= (this.#most[middle] as number)) {
        const interval = this.#sorted[middle] as T;
        if (!this.#gone.has(interval)) visit(interval);
      }
      from = middle + 1;
    }
  }

  #make(): void {
    this.#sorted = [...this.#sorted.filter(interval => !this.#gone.has(interval)), ...this.#loose];
    this.#sorted.sort((a, b) => (a.least < b.least ? -1 : a.least > b.least ? 1 : 0));
    this.#least = Float64Array.from(this.#sorted, ({ least }) => least);
    this.#most = Float64Array.from(this.#sorted, ({ most }) => most);
    this.#reach = new Float64Array(this.#sorted.length);
    this.#reachOf(0, this.#sorted.length);
    this.#loose.clear();
    this.#gone.clear();
    this.#looks = 0;
  }

  #reachOf(first: number, end: number): number {
    if (first >= end) return Number.NEGATIVE_INFINITY;
    const middle = (first + end) >> 1;
    const reach = Math.max(
      this.#most[middle] as number,
      this.#reachOf(first, middle),
      this.#reachOf(middle + 1, end),
    );
    this.#reach[middle] = reach;
    return reach;
  }
}
