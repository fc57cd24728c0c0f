import { setTimeout as delay } from "node:timers/promises";
import { add, CATEGORIES, emptyVerdicts, type Verdict, type Verdicts } from "./checker.ts";
import { FAULT_NAMES, FAULTS, type FaultName, OF_CLUSTERS, OF_NATS, whyNot } from "./faults.ts";
import { Random } from "./random.ts";
import { type Outcome, World } from "./world.ts";

export interface ChaosOptions {
  /** How often something goes wrong. */
  readonly faults: number;
  readonly seed: number;
  /** Number of gateways: 1 by default. */
  readonly gateways?: number;
  /** Whether they are joined by NATS. */
  readonly byNats?: boolean;
  /** Whether clients go on at the other gateways where theirs ends: by default in about half of the worlds. */
  readonly roams?: boolean;
  /** Whether all producers run modulators themselves: one leaves that to others otherwise. */
  readonly allModulate?: boolean;
  /** Kinds of faults: all by default. */
  readonly kinds?: readonly FaultName[];
  /** Faults at once, at most: 3 by default. */
  readonly atOnce?: number;
  /** How long nothing comes before what is still owed is taken to be lost; a minute by default. */
  readonly patienceMs?: number;
  /** Is told what happens. */
  readonly log?: (line: string) => void;
}

/** Result of all faults of one kind. What came of several at once is counted for each of their kinds. */
interface KindResult {
  times: number;
  readonly verdicts: Verdicts;
  /** Consumers that were told to have ended. */
  ended: number;
}

export interface ChaosResult {
  readonly verdicts: Verdicts;
  readonly ended: number;
  /** Last changes of a shared object that some process lacked. */
  readonly unsteered: number;
  readonly kinds: ReadonlyMap<FaultName, KindResult>;
  /** Notes on what went wrong where, for whoever looks for the reason. */
  readonly notes: readonly string[];
  /** Faults that could not be done, and worlds that came to no end. */
  readonly failures: readonly string[];
  /** Kinds that cannot be done on this machine, and why. */
  readonly skipped: readonly string[];
}

/** After so many faults everything begins anew, under other conditions. */
const WORLD_FAULTS = 30;
const BETWEEN_MS = [50, 1200] as const;

/** Keeps TypeScript without its types: taking them out anew is two thirds of a process' start. */
const STRIPPED = `--import=${new URL("../../../scripts/stripped.mjs", import.meta.url)}`;

/** Has things go wrong as the seed says, and checks what consumers see. It starts processes by the thousand. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const { NODE_OPTIONS = "" } = process.env;
  if (!NODE_OPTIONS.includes(STRIPPED)) process.env["NODE_OPTIONS"] = `${NODE_OPTIONS} ${STRIPPED}`;
  const run = new ChaosRun(options);
  await run.run();
  return run.result;
}

class ChaosRun {
  readonly #options: ChaosOptions;
  readonly #kindsToDo: readonly FaultName[];
  readonly #skipped: readonly string[];
  readonly #random: Random;
  readonly #verdicts = emptyVerdicts();
  readonly #kinds = new Map<FaultName, KindResult>();
  readonly #notes: string[] = [];
  readonly #failures: string[] = [];
  #ended = 0;
  #unsteered = 0;
  /** Each kind comes about as often as the others, in an order that nobody knows. */
  #bag: FaultName[] = [];

  constructor(options: ChaosOptions) {
    this.#options = options;
    const { byNats = false, gateways = 1 } = options;
    const kinds = (options.kinds ?? FAULT_NAMES).filter(
      kind => (byNats || !OF_NATS.has(kind)) && (gateways > 1 || !OF_CLUSTERS.has(kind)),
    );
    this.#kindsToDo = kinds.filter(kind => whyNot(kind) === undefined);
    this.#skipped = kinds.flatMap(kind => {
      const why = whyNot(kind);
      return why === undefined ? [] : [`${kind} cannot be done here: ${why}`];
    });
    this.#random = new Random(options.seed);
  }

  get result(): ChaosResult {
    return {
      verdicts: this.#verdicts,
      ended: this.#ended,
      unsteered: this.#unsteered,
      kinds: this.#kinds,
      notes: this.#notes,
      failures: this.#failures,
      skipped: this.#skipped,
    };
  }

  async run(): Promise<void> {
    for (let left = this.#options.faults; left > 0; left -= WORLD_FAULTS) {
      const random = this.#random.fork();
      const plan = this.#plan(Math.min(left, WORLD_FAULTS), random);
      while (plan.length > 0) {
        try {
          await this.#inWorld(plan, random);
        } catch (error) {
          // One that does not come into being does so time and again.
          plan.shift();
          this.#failures.push((error as Error).message);
          this.#say(`the world came to no end: ${(error as Error).stack}`);
        }
      }
    }
  }

  /** Plan of the faults, in groups of those that happen at once. */
  #plan(faults: number, random: Random): FaultName[][] {
    const plan: FaultName[][] = [];
    for (let left = faults; left > 0; ) {
      const group = Math.min(left, random.whole(1, this.#options.atOnce ?? 3));
      plan.push(Array.from({ length: group }, () => this.#next(random)));
      left -= group;
    }
    return plan;
  }

  #next(random: Random): FaultName {
    if (this.#bag.length === 0) this.#bag = [...this.#kindsToDo];
    const [kind] = this.#bag.splice(random.whole(0, this.#bag.length - 1), 1);
    return kind as FaultName;
  }

  /** Does what is planned, as long as everything comes to be as it was: what is broken for good is not to be blamed on the next fault. */
  async #inWorld(plan: FaultName[][], random: Random): Promise<void> {
    const { patienceMs = 60_000, gateways = 1, log } = this.#options;
    const { byNats = false, allModulate = false } = this.#options;
    const { roams = gateways > 1 && random.next() < 0.5 } = this.#options;
    const world = await World.start(random, {
      gateways,
      byNats,
      roams,
      allModulate,
      // A clock that is wrong by hours makes all tokens worthless.
      hasKeys: random.next() < 0.5 && !plan.flat().includes("clock-set"),
      patienceMs,
      hasOwnDisk: plan.flat().includes("disk-full"),
      hasChecksums: plan.flat().includes("bit-flipped-on-wire"),
      ...(log && { log }),
    });
    try {
      let isWhole = true;
      for (let group = plan.shift(); group !== undefined; group = isWhole ? plan.shift() : undefined) {
        this.#say(group.join(", "));
        await Promise.all(group.map(kind => this.#do(kind, world, random.fork())));
        const outcome = await world.settle();
        this.#judge(group, outcome);
        isWhole = outcome.isWhole;
        if (!isWhole)
          for (const { log } of world.gateways)
            for (const line of log.slice(-30)) this.#say(`gateway: ${line}`);
      }
    } catch (error) {
      for (const { log } of world.gateways) for (const line of log.slice(-20)) this.#say(`gateway: ${line}`);
      throw error;
    } finally {
      for (const { name, errors } of world.consumers)
        for (const [what, times] of errors) this.#say(`consumers ${name}: ${what} x ${times}`);
      await world.stop();
    }
  }

  async #do(kind: FaultName, world: World, random: Random): Promise<void> {
    await delay(random.between(...BETWEEN_MS));
    try {
      await FAULTS[kind](world, random);
    } catch (error) {
      this.#failures.push(`${kind}: ${(error as Error).message}`);
      this.#say(`${kind} could not be done: ${(error as Error).stack}`);
    }
  }

  #judge(group: readonly FaultName[], { verdicts, notes, ended, unsteered }: Outcome): void {
    addAll(this.#verdicts, verdicts);
    this.#ended += ended;
    this.#unsteered += unsteered;
    for (const kind of new Set(group)) {
      const known = this.#kinds.get(kind) ?? { times: 0, verdicts: emptyVerdicts(), ended: 0 };
      this.#kinds.set(kind, known);
      known.times += group.filter(one => one === kind).length;
      known.ended += ended;
      addAll(known.verdicts, verdicts);
    }
    for (const category of CATEGORIES) this.#say(`  ${category}: ${inWords(verdicts[category])}`);
    if (ended > 0) this.#say(`  ${ended} consumers ended`);
    for (const note of notes) this.#say(`    ${note}`);
    if (notes.length > 0) this.#notes.push(`${group.join(", ")}:`, ...notes.map(note => `  ${note}`));
  }

  #say(line: string): void {
    this.#options.log?.(line);
  }
}

function addAll(to: Verdicts, more: Verdicts): void {
  for (const category of CATEGORIES) add(to[category], more[category]);
}

function inWords({ events, ...verdict }: Verdict): string {
  const wrong = Object.entries(verdict).filter(([, value]) => value !== 0);
  return [`${events} events`, ...wrong.map(([key, value]) => `${key} ${value}`)].join(", ");
}
