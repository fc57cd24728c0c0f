// Installing a modulator with 400 bytes of state, and changing such a state, against a synchronous event of that size.
// One process produces and another one consumes.
import { setTimeout as delay } from "node:timers/promises";
import { type Consumer, connect, type Producer, type SharedObject, type } from "@jecho/client";
import { serve } from "../worker.ts";

export interface Measurement {
  /** How often it is done, one time right after the other. */
  readonly acts: number;
  /** Before the first nothing happens for so long. */
  readonly restMs: number;
}

export interface Side {
  readonly port: number;
  /** Does the producer have the modulator's source itself? */
  readonly local: boolean;
}

const BYTES = 400;
/** Bytes that JSON and the name of the only field add. */
const JSON_BYTES = 11;
const source = `import { FifoModulator } from "jecho:moe";
export default class Selected extends FifoModulator {
  enqueue(event) { if (this.wanted.text.length > 0) super.enqueue(event); }
  get wanted() { return this.objects.wanted ?? this.parameters; }
}`;

const Level = type("Level", { level: "float64", filler: "uint8[]" });
/** A filter that is compiled. */
const levels = `import { FifoModulator } from "jecho:moe";
export default class Levels extends FifoModulator {
  enqueue(event) { if (event.level >= this.parameters.from && event.level < this.parameters.to) super.enqueue(event); }
}`;

type Wanted = { readonly text: string };

let producer: Producer<Uint8Array>;
let consumer: Consumer<Uint8Array>;
let levelled: Consumer<typeof Level.event>;
let shared: SharedObject<Wanted>;
let count = 0;
/** Told when the producer has seen an update. */
let seen = (_atUs: number): void => {};

/** Never the same as one before. */
function wanted(): Wanted {
  return { text: `${++count}`.padEnd(BYTES - JSON_BYTES, ".") };
}

/** Time of a clock that all processes of the machine have, in microseconds. */
function nowUs(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

async function timed({ acts, restMs }: Measurement, act: () => Promise<number>): Promise<number[]> {
  if (restMs > 0) await delay(restMs);
  const times: number[] = [];
  for (let i = 0; i < acts; i++) {
    const start = nowUs();
    times.push((await act()) - start);
  }
  return times;
}

const CHANNEL = "moe/modulated";

serve({
  async produce(side: Side) {
    const modulators = side.local ? { trusted: [source] } : {};
    const session = connect(`127.0.0.1:${side.port}`, { modulators });
    producer = await session.channel(`${CHANNEL}/plain`).produce();
    const answers = await session.channel(`${CHANNEL}/seen`).produce();
    const modulated = await session.channel(CHANNEL).produce();
    await session.channel(`${CHANNEL}/levels`, Level).produce();
    let last = "";
    modulated.onDemand(({ derived }) => {
      const atUs = nowUs();
      for (const { objects } of derived) {
        const text = (objects["wanted"] as Wanted | undefined)?.text ?? last;
        if (text === last) continue;
        last = text;
        const answer = new Float64Array([atUs]);
        answers.publish(new Uint8Array(answer.buffer));
      }
    });
  },
  async consume({ port }: Side) {
    const session = connect(`127.0.0.1:${port}`);
    await session.channel(`${CHANNEL}/plain`).subscribe(() => {});
    await session.channel(`${CHANNEL}/seen`).subscribe(event => {
      seen(new DataView(event.buffer, event.byteOffset).getFloat64(0, true));
    });
    shared = session.share(wanted());
    // It also keeps the host, as other consumers would.
    await session
      .channel(CHANNEL)
      .subscribe(() => {}, { modulator: { source, parameters: wanted(), objects: { wanted: shared } } });
    consumer = await session.channel(CHANNEL).subscribe(() => {});
    levelled = await session.channel(`${CHANNEL}/levels`, Level).subscribe(() => {});
  },
  /** Microseconds, at the producer: until the consumer has handled an event. */
  sync(measurement: Measurement): Promise<number[]> {
    return timed(measurement, async () => {
      await producer.publishSync(new Uint8Array(BYTES));
      return nowUs();
    });
  },
  /** At the consumer: until its modulator is in force. */
  install(measurement: Measurement): Promise<number[]> {
    return timed(measurement, async () => {
      await consumer.reset({ modulator: { source, parameters: wanted() } });
      return nowUs();
    });
  },
  /** The same of a filter that is compiled. @param isNew whether its text was never seen before, and not only its parameters */
  installLevels({ isNew, ...measurement }: Measurement & { isNew: boolean }): Promise<number[]> {
    return timed(measurement, async () => {
      const from = ++count;
      const text = isNew ? `${levels}// ${from}\n` : levels;
      await levelled.reset({ modulator: { source: text, parameters: { from, to: from + 1 } } });
      const at = nowUs();
      const [{ tier } = { tier: undefined }] = levelled.placements;
      if (tier !== "compiled") throw new Error(`it is ${tier}, not compiled`);
      return at;
    });
  },
  /** At the consumer: until the producer's application knows, which says when that was. */
  update(measurement: Measurement): Promise<number[]> {
    return timed(measurement, () => {
      const known = new Promise<number>(resolve => {
        seen = resolve;
      });
      shared.update(wanted());
      return known;
    });
  },
});
