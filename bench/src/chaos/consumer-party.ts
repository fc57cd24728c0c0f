import { once } from "node:events";
import type { EventPlace } from "@jecho/client";
import { HAS_CLOCK } from "../clock.ts";
import { Worker } from "../processes.ts";
import type { Connect, State, Steered, Subscribe, Subscribed, Taken } from "../workers/chaos-consumer.ts";
import { Account, type Judgement, type Source } from "./checker.ts";
import { Cutter } from "./cutter.ts";
import { type Channel, isKept, type MeaningName, meaningOf, SEEN_NUMBERS } from "./event.ts";
import type { Random } from "./random.ts";
import { USUAL, type Way } from "./way.ts";

/** So long a process that has handed its consumers over has to say that they ended. */
const ENDING_MS = 5000;

/** A consumer that is to be there at any time. */
interface Seat {
  readonly index: number;
  readonly channel: Channel;
  readonly meaning: MeaningName;
  account: Account;
  state: State | undefined;
  /** Whether it is being subscribed. */
  isOpening: boolean;
}

export interface ConsumerPartyOptions {
  /** Point at which they begin in the past of channels that have one; now, where it is undefined. */
  readonly from?: number;
  /** Ports of the other gateways that they go on at. */
  readonly others?: readonly number[];
  /** Default: as users get it who say nothing. */
  readonly way?: Way;
}

/** Consumers with one connection, over all the processes that they live in. */
export class ConsumerParty {
  readonly name: string;
  readonly cutter: Cutter;
  /** Errors with single events, and those that ended consumers, and how often. */
  readonly errors = new Map<string, number>();
  /** Consumers that were told to have ended. */
  ended = 0;
  readonly #seats: Seat[];
  readonly #closed: Judgement[] = [];
  readonly #port: number;
  #worker: Worker | undefined;
  #taking: Promise<boolean> | undefined;

  readonly #from: number | undefined;
  readonly #others: readonly number[];
  readonly #way: Way;

  private constructor(
    name: string,
    cutter: Cutter,
    wanted: readonly (readonly [Channel, MeaningName])[],
    { from, others = [], way = USUAL }: ConsumerPartyOptions,
  ) {
    this.name = name;
    this.#from = from;
    this.#others = others;
    this.#way = way;
    this.cutter = cutter;
    this.#port = cutter.port;
    this.#seats = wanted.map(([channel, meaning], index) => ({
      index,
      channel,
      meaning,
      account: this.#account(channel, meaning),
      state: undefined,
      isOpening: false,
    }));
  }

  /** @param port the gateway's */
  static async create(
    name: string,
    port: number,
    wanted: readonly (readonly [Channel, MeaningName])[],
    options: ConsumerPartyOptions = {},
  ): Promise<ConsumerParty> {
    return new ConsumerParty(name, await Cutter.start(port), wanted, options);
  }

  get worker(): Worker {
    if (this.#worker === undefined) throw new Error(`the consumers ${this.name} have not been started`);
    return this.#worker;
  }

  get isRunning(): boolean {
    return this.#worker !== undefined && !this.#worker.ended;
  }

  /** Starts a process with all of the consumers; those whose place is known go on behind it. */
  async start(): Promise<void> {
    this.#worker = new Worker("chaos-consumer", [], HAS_CLOCK);
    await this.worker.call("connect", this.#at);
    const open = (seats: readonly Seat[]): Promise<unknown> =>
      Promise.all(seats.map(seat => this.#open(seat, this.#fromOf(seat))));
    // What modulators make has its name once they are there.
    const isBehind = ({ meaning }: Seat): boolean => meaningOf(meaning).of !== undefined;
    await open(this.#seats.filter(seat => !isBehind(seat)));
    await open(this.#seats.filter(isBehind));
    await this.steer();
  }

  /** Changes its fields of the shared object from now on. Who only reads the past steers nothing. */
  async steer(): Promise<void> {
    if (this.#from === undefined) await this.worker.call("steer");
  }

  /** Changes nothing more. */
  rest(): Promise<Steered> {
    return this.worker.call("rest");
  }

  /** Takes what came since the last time. @returns whether anything came */
  async take(): Promise<boolean> {
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  /** Subscribes those anew that were told to have ended. */
  async renew(): Promise<void> {
    await Promise.all(
      this.#seats
        .filter(({ state, isOpening }) => !isOpening && state?.state === "refused")
        .map(seat => {
          this.ended++;
          this.#count(seat.state?.code);
          return this.#open(seat, undefined);
        }),
    );
  }

  /** All of them have said that they are live. */
  get areLive(): boolean {
    return this.#seats.every(({ state, isOpening }) => !isOpening && state?.state === "live");
  }

  /** Whether the gateway may have no connection to them now: it is cut, or was ended because they did not keep up. */
  get mayBeAway(): boolean {
    return this.cutter.refuses || this.#way.slow === "disconnect";
  }

  /** How they are doing that are not live. */
  get away(): string[] {
    return this.#seats
      .filter(({ state, isOpening }) => isOpening || state?.state !== "live")
      .map(({ account, state }) => `${account.name}: ${state?.state ?? "opening"}`);
  }

  /** Events that they neither saw nor were told of. */
  owed(sources: readonly Source[]): number {
    return this.#seats.reduce(
      (sum, { account, channel }) => sum + account.owed(this.#of(channel, sources)),
      0,
    );
  }

  /** Consumers that are owed events, and how many; and where the modulator of each runs, as that was told. */
  owing(sources: readonly Source[]): string[] {
    return this.#seats
      .map(({ account, channel, state }) => ({
        name: account.name,
        owed: account.owed(this.#of(channel, sources)),
        places: state?.places ?? "",
      }))
      .filter(({ owed }) => owed > 0)
      .map(({ name, owed, places }) => `${name}: ${owed}${places === "" ? "" : `; at ${places}`}`);
  }

  /** They ask for a past that nobody promised to keep. */
  forgive(): void {
    for (const { account } of this.#seats) account.lacks(Number.POSITIVE_INFINITY);
  }

  /** Judgements since the last time, as `Account.close` gives them. */
  close(sources: readonly Source[], isFileWhole: boolean, mayReturnLate: boolean): Judgement[] {
    const closed = this.#seats.map(({ account, channel }) =>
      account.close(this.#of(channel, sources), isFileWhole, mayReturnLate),
    );
    return [...this.#closed.splice(0), ...closed];
  }

  /** Closes one of them and subscribes anew in the same session, behind its place. */
  async reopen(random: Random): Promise<void> {
    const seat = random.pick(this.#seats);
    await this.worker.call("close", seat.index);
    await this.#takeAll();
    await this.#open(seat, this.#fromOf(seat));
  }

  /** One of the filters is exchanged for another that lets the same events through. */
  async change(random: Random): Promise<void> {
    const filters = this.#seats.filter(({ meaning }) => meaning === "fourth" || meaning === "served");
    if (filters.length === 0) return;
    const { index, meaning, account } = random.pick(filters);
    account.changes();
    await this.worker.call("change", { index, meaning });
  }

  /** Ends the process and starts another one, which goes on where that was. */
  async kill(): Promise<void> {
    await this.#takeAll();
    const gone = once(this.worker.child, "exit");
    this.worker.child.kill("SIGKILL");
    await gone;
    await this.start();
  }

  /**
   * Hands all of them over to another process.
   *
   * @param meanwhile is called when that has a token, and before it uses it
   */
  async handOver(meanwhile: () => unknown): Promise<void> {
    const first = this.worker;
    const second = new Worker("chaos-consumer", [], HAS_CLOCK);
    try {
      const token = await first.call<string>("handover");
      meanwhile();
      await second.call("takeOver", { ...this.#at, token });
      await second.call("steer");
      // Events that the first one was handed before it gave up may still be on their way to its application; its end comes behind them.
      const until = performance.now() + ENDING_MS;
      do await this.#takeAll();
      while (!this.#haveEnded && performance.now() < until);
      this.#worker = second;
    } catch (error) {
      this.#count(`handover: ${codeOf(error)}`);
      await second.stop();
      await this.#takeAll().catch(() => {});
      // The first one may have been told that it has handed them over.
      if (!this.#haveEnded) return;
      await first.stop();
      return this.start();
    }
    await first.stop();
  }

  get #at(): Connect {
    return { port: this.#port, others: this.#others, way: this.#way };
  }

  /** Whether the process was told that its consumers are there no more. */
  get #haveEnded(): boolean {
    return this.#seats.some(({ state }) => state?.state === "refused" || state?.state === "closed");
  }

  /** Sets their clock so far ahead of the machine's. */
  setClock(ms: number): Promise<void> {
    return this.worker.call("setClock", ms);
  }

  async stop(): Promise<void> {
    await this.#worker?.stop();
    this.cutter.close();
  }

  /** Sources of a channel that are to be seen: the past has none of what was published into derived channels. */
  #of(channel: Channel, sources: readonly Source[]): Source[] {
    const isOfPast = this.#from !== undefined;
    return sources.filter(source => source.channel === channel && !(isOfPast && source.isDirect));
  }

  #account(channel: Channel, meaning: MeaningName): Account {
    const isSlow = this.#way.slow !== undefined;
    return new Account(`${this.name} ${channel} ${meaning}`, channel, meaningOf(meaning), isSlow);
  }

  /** Place where it begins, or goes on, in the next process: on a channel without history with what is raised from then on. */
  #fromOf({ channel, state }: Seat): EventPlace | number | undefined {
    return isKept(channel) ? (state?.place ?? this.#from) : undefined;
  }

  async #open(seat: Seat, from: EventPlace | number | undefined): Promise<void> {
    seat.isOpening = true;
    if (from === undefined && seat.state !== undefined) {
      // Nothing is waited for any more: nobody knows whether what it was told to miss behind the newest event that it saw would have come.
      this.#closed.push(seat.account.close([], true, true));
      seat.account = this.#account(seat.channel, seat.meaning);
    } else seat.account.moved();
    const { index, channel, meaning } = seat;
    try {
      if (typeof from === "number") seat.account.subscribed(Number.NEGATIVE_INFINITY);
      const asked: Subscribe = { index, channel, meaning, from };
      const { atMs, missing } = await this.worker.call<Subscribed>("subscribe", asked);
      if (from === undefined) seat.account.subscribed(atMs);
      if (typeof from === "number") seat.account.lacks(missing);
      const place = typeof from === "number" ? undefined : from;
      seat.state = { state: "live", place, code: undefined, places: "" };
    } catch (error) {
      seat.state = { state: "refused", place: undefined, code: codeOf(error), places: "" };
    } finally {
      seat.isOpening = false;
    }
  }

  /** Takes what has come until now: one that is under way may have been answered before. */
  async #takeAll(): Promise<void> {
    await this.#taking?.catch(() => {});
    await this.take();
  }

  async #take(): Promise<boolean> {
    const { seen, states, errors } = await this.worker.call<Taken>("take");
    for (let at = 0; at < seen.length; at += SEEN_NUMBERS)
      this.#seats[seen[at] as number]?.account.take(seen, at);
    for (const [code, times] of errors) this.#count(code, times);
    for (const seat of this.#seats) {
      const state = states[seat.index];
      if (state !== undefined && !seat.isOpening)
        seat.state = { ...state, place: state.place ?? seat.state?.place };
    }
    return seen.length > 0;
  }

  #count(what: string | undefined, times = 1): void {
    const key = what ?? "?";
    this.errors.set(key, (this.errors.get(key) ?? 0) + times);
  }
}

/** Code of what went wrong in a worker, or the first line of its message. */
function codeOf(error: unknown): string {
  const { message } = error as Error;
  return /\b[A-Z]+(_[A-Z]+)+\b/.exec(message)?.[0] ?? (message.split("\n")[0] as string);
}
