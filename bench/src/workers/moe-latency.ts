// Installing a modulator with 400 bytes of state, and changing such a state, against a synchronous event of that size.
import { setTimeout as delay } from "node:timers/promises";
import { type Consumer, connect, type Producer, type SharedObject } from "@jecho/client";
import { serve } from "../worker.ts";

const ACTS = ["sync", "install", "update"] as const;
export type Act = (typeof ACTS)[number];
/** Microseconds for each time. */
export type Latencies = Readonly<Record<Act, number[]>>;

export interface Measurement {
  /** How often each act is done. */
  readonly acts: number;
  /** Before each act nothing happens for so long, and then comes another act; 0 for one act in a row after the other. */
  readonly restMs: number;
}

const BYTES = 400;
/** What JSON and the name of the only field add. */
const JSON_BYTES = 11;
const SOURCE = `import { FifoModulator } from "jecho:moe";
export default class Selected extends FifoModulator {
  enqueue(event) { if (this.wanted.text.length > 0) super.enqueue(event); }
  get wanted() { return this.objects.wanted ?? this.parameters; }
}`;

type Wanted = { readonly text: string };

let producer: Producer<Uint8Array>;
let modulated: Producer<Uint8Array>;
let consumer: Consumer<Uint8Array>;
let shared: SharedObject<Wanted>;
let count = 0;

/** Never the same as one before. */
function wanted(): Wanted {
  return { text: `${++count}`.padEnd(BYTES - JSON_BYTES, ".") };
}

const DO: Readonly<Record<Act, () => Promise<unknown>>> = {
  sync: () => producer.publishSync(new Uint8Array(BYTES)),
  install: () => consumer.reset({ modulator: { source: SOURCE, parameters: wanted() } }),
  /** Until the producer's application knows. */
  update() {
    const next = wanted();
    const known = new Promise<void>(resolve => {
      const stop = modulated.onDemand(({ derived }) => {
        const isThere = derived.some(
          ({ objects }) => (objects["wanted"] as unknown as Wanted | undefined)?.text === next.text,
        );
        if (!isThere) return;
        stop();
        resolve();
      });
    });
    shared.update(next);
    return known;
  },
};

serve({
  /** @param local does the producer have the modulator's source itself? */
  async open({ port, local }: { port: number; local: boolean }) {
    const modulators = local ? { trusted: [SOURCE] } : {};
    const [here, there] = [connect(`127.0.0.1:${port}`), connect(`127.0.0.1:${port}`, { modulators })];
    const channel = `moe/${local ? "local" : "hosted"}`;
    producer = await there.channel(`${channel}/plain`).produce();
    modulated = await there.channel(channel).produce();
    await here.channel(`${channel}/plain`).subscribe(() => {});
    shared = here.share(wanted());
    // It also keeps the host, as other consumers would.
    await here
      .channel(channel)
      .subscribe(() => {}, { modulator: { source: SOURCE, objects: { wanted: shared } } });
    consumer = await here.channel(channel).subscribe(() => {});
  },
  async measure({ acts, restMs }: Measurement): Promise<Latencies> {
    const times: Record<Act, number[]> = { sync: [], install: [], update: [] };
    const take = async (act: Act): Promise<void> => {
      if (restMs > 0) await delay(restMs);
      const start = performance.now();
      await DO[act]();
      times[act].push(1000 * (performance.now() - start));
    };
    if (restMs > 0) for (let i = 0; i < acts; i++) for (const act of ACTS) await take(act);
    else for (const act of ACTS) for (let i = 0; i < acts; i++) await take(act);
    return times;
  },
});
