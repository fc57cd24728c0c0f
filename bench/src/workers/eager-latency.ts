// What it takes to install an eager handler, and to change its parameters. Consumer and producer have a connection each, and one clock.

import { GridData } from "@jecho/atmosphere";
import {
  type Consumer,
  connect,
  type Demand,
  type Producer,
  type Session,
  type SharedObject,
  type View,
  viewFilter,
} from "@jecho/client";
import { serve } from "../worker.ts";

const CHANNEL = "eager/latency";
const VIEW: View = { firstLayer: 0, lastLayer: 0, south: -90, north: 90, west: -180, east: 180, stride: 1 };
const EVENT: GridData = {
  step: 1,
  layer: 0,
  time: 0,
  latFirst: 90,
  latStep: -90,
  rows: 3,
  lonFirst: 0,
  lonStep: 180,
  columns: 2,
  values: new Float32Array(6),
};

let producer: Producer<GridData>;
let plain: Producer<Uint8Array>;
let consumer: Consumer<GridData>;
let shared: SharedObject<View>;
let north = VIEW.north;

/** Resolves when the producer knows of a demand like that. */
function demanded(is: (demand: Demand) => boolean): Promise<void> {
  return new Promise(resolve => {
    const stop = producer.onDemand(demand => {
      if (!is(demand)) return;
      stop();
      resolve();
    });
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return 1000 * (performance.now() - start);
}

serve({
  async open(port: number) {
    const [here, there] = ["here", "there"].map(name => connect(`127.0.0.1:${port}`, { name })) as [
      Session,
      Session,
    ];
    producer = await there.channel(CHANNEL, GridData).produce();
    plain = await there.channel("eager/plain").produce();
    await here.channel("eager/plain").subscribe(() => {});
    shared = here.share(VIEW);
    consumer = await here.channel(CHANNEL, GridData).subscribe(() => {}, viewFilter(shared));
  },
  /** Microseconds: a null event and its acknowledgement; the same through a modulator; a change of its parameters; a new modulator. */
  async measure() {
    const sync = await timed(() => plain.publishSync(new Uint8Array(0)));
    const modulated = await timed(() => producer.publishSync(EVENT));
    north = north === 90 ? 80 : 90;
    const update = await timed(() => {
      const known = demanded(({ derived }) =>
        derived.some(({ objects }) => (objects["view"] as { north?: number } | undefined)?.north === north),
      );
      shared.update({ north });
      return known;
    });
    // Never the same as one before, so that it has to be installed.
    const install = await timed(() => consumer.reset(viewFilter({ ...VIEW, south: -90 + Math.random() })));
    await consumer.reset(viewFilter(shared));
    return { sync, modulated, update, install };
  },
});
