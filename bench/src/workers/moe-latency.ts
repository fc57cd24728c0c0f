// Installing a modulator with 400 bytes of state, and changing them, against a synchronous event of that size.
import { type Consumer, connect, type Producer, type SharedObject } from "@jecho/client";
import { summarise } from "../statistics.ts";
import { serve } from "../worker.ts";

/** Microseconds. */
export interface Latencies {
  readonly sync: number;
  readonly install: number;
  readonly update: number;
}

const BYTES = 400;
/** Synchronous events in a row, of which the later half counts. */
const SYNCS = 20;
const SOURCE = `import { FifoModulator } from "jecho:moe";
export default class Selected extends FifoModulator {
  enqueue(event) { if (this.objects.wanted.text.length > 0) super.enqueue(event); }
}`;

interface Wanted {
  text: string;
}

let producer: Producer<Uint8Array>;
let modulated: Producer<Uint8Array>;
let consumer: Consumer<Uint8Array>;
let wanted: SharedObject<Wanted>;
let count = 0;

function text(): string {
  return `${++count}`.padEnd(BYTES - 12, ".");
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return 1000 * (performance.now() - start);
}

serve({
  async open(port: number) {
    const [here, there] = [connect(`127.0.0.1:${port}`), connect(`127.0.0.1:${port}`)];
    producer = await there.channel("moe/plain").produce();
    modulated = await there.channel("moe/modulated").produce();
    await here.channel("moe/plain").subscribe(() => {});
    wanted = here.share<Wanted>({ text: text() });
    // Keeps the host, as other consumers would.
    await here
      .channel("moe/modulated")
      .subscribe(() => {}, { modulator: { source: SOURCE, objects: { wanted } } });
    consumer = await here.channel("moe/modulated").subscribe(() => {});
  },
  async measure(): Promise<Latencies> {
    // Nobody installs twice in a millisecond: the host has come to rest when the next installation comes.
    const syncs: number[] = [];
    for (let i = 0; i < SYNCS; i++)
      syncs.push(await timed(() => producer.publishSync(new Uint8Array(BYTES))));
    const sync = summarise(syncs.slice(SYNCS / 2)).median;
    // Never the same as one before, so that it has to be installed.
    const install = await timed(() =>
      consumer.reset({ modulator: { source: SOURCE, key: text(), objects: { wanted } } }),
    );
    const update = await timed(() => {
      const next = text();
      const known = new Promise<void>(resolve => {
        const stop = modulated.onDemand(({ derived }) => {
          const is = derived.some(
            ({ objects }) => (objects["wanted"] as unknown as Wanted | undefined)?.text === next,
          );
          if (!is) return;
          stop();
          resolve();
        });
      });
      wanted.update({ text: next });
      return known;
    });
    return { sync, install, update };
  },
});
