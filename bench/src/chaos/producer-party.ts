import { once } from "node:events";
import { HAS_CLOCK } from "../clock.ts";
import { childrenOf, Worker } from "../processes.ts";
import type { Account, StartProducer } from "../workers/chaos-producer.ts";
import type { Source } from "./checker.ts";
import { Cutter } from "./cutter.ts";
import { DIRECT, URGENT_LIFE } from "./event.ts";

export type ProducerOptions = Omit<StartProducer, "port" | "id" | "life">;

/** A producer, over all its lives: a process, and the way from it to the gateway. */
export class ProducerParty {
  readonly id: number;
  readonly options: ProducerOptions;
  readonly cutter: Cutter;
  #life = 0;
  #worker: Worker | undefined;
  #sources: Source[] = [];

  private constructor(id: number, options: ProducerOptions, cutter: Cutter) {
    this.id = id;
    this.options = options;
    this.cutter = cutter;
  }

  /** @param port the gateway's */
  static async create(id: number, port: number, options: ProducerOptions): Promise<ProducerParty> {
    return new ProducerParty(id, options, await Cutter.start(port));
  }

  /** Sources of what it raised in this life. */
  get sources(): readonly Source[] {
    return this.#sources;
  }

  get worker(): Worker {
    if (this.#worker === undefined) throw new Error(`producer ${this.id} has not been started`);
    return this.#worker;
  }

  get isRunning(): boolean {
    return this.#worker !== undefined && !this.#worker.ended;
  }

  /** The processes that run modulators for it. */
  get hosts(): number[] {
    return this.isRunning ? childrenOf(this.worker.pid) : [];
  }

  /** Begins its next life, and raises events. */
  async start(): Promise<void> {
    this.#life++;
    this.#sources = [];
    this.#worker = new Worker("chaos-producer", [], HAS_CLOCK);
    const started: StartProducer = {
      ...this.options,
      port: this.cutter.port,
      id: this.id,
      life: this.#life,
    };
    await this.#worker.call("start", started);
  }

  /** Raises nothing more, until `resume`. */
  async pause(): Promise<void> {
    this.#note(await this.worker.call<Account[]>("pause"), ({ raised }) => raised);
  }

  /** Raises so many events more on each channel, in one turn, each with so many bytes more than usual. All of them have to come. */
  async nudge(events: number, bytes = 0): Promise<void> {
    this.#note(await this.worker.call<Account[]>("nudge", { events, bytes }), ({ raised }) => raised);
  }

  flush(): Promise<void> {
    return this.worker.call("flush");
  }

  resume(): Promise<void> {
    return this.worker.call("resume");
  }

  /** Closes its producers, all of whose events have to come, and goes on with others in the same session. */
  async reopen(): Promise<void> {
    this.#note(await this.worker.call<Account[]>("reopen"), ({ confirmed }) => confirmed);
    const newest = Math.max(...this.#sources.map(({ life }) => life % URGENT_LIFE));
    for (const source of this.#sources) source.isOver = source.life % URGENT_LIFE < newest;
  }

  /** Ends this life. Only what it was told to be taken has to come. @returns what it raised */
  async kill(): Promise<readonly Source[]> {
    this.#note(await this.worker.call<Account[]>("last"), ({ confirmed }) => confirmed);
    await this.#end("SIGKILL");
    return this.#sources;
  }

  /** Raises so many events more and goes at once. @returns what it raised; all of that has to come */
  async goAfter(events: number, by: { flushes: boolean; closes: boolean }): Promise<readonly Source[]> {
    await this.pause();
    this.#note(await this.worker.call<Account[]>("brief", { events, ...by }), ({ raised }) => raised);
    if (by.closes) {
      const gone = once(this.worker.child, "exit");
      this.worker.call("exit").catch(() => {});
      await gone;
    } else await this.#end("SIGKILL");
    return this.#sources;
  }

  /** Sets its clock so far ahead of the machine's. */
  setClock(ms: number): Promise<void> {
    return this.worker.call("setClock", ms);
  }

  async stop(): Promise<void> {
    await this.#worker?.stop();
    this.cutter.close();
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return;
    const gone = once(this.worker.child, "exit");
    this.worker.child.kill(signal);
    await gone;
  }

  #note(accounts: readonly Account[], due: (account: Account) => number): void {
    for (const account of accounts) {
      const { channel, producer, life, marks } = account;
      const known = this.#sources.find(
        source => source.channel === channel && source.producer === producer && source.life === life,
      );
      if (known === undefined)
        this.#sources.push({
          producer,
          life,
          channel,
          isDirect: producer >= DIRECT,
          serves: this.options.serves,
          due: due(account),
          raised: account.raised,
          marks,
          isOver: false,
        });
      else {
        known.due = due(account);
        known.raised = account.raised;
        known.marks.push(...marks);
      }
    }
  }
}
