// A viewer without a screen: looks at the field as the recorded session did, by eager handlers or by handlers of its own.
import { setTimeout as delay } from "node:timers/promises";
import { CHANNELS, GridData } from "@jecho/atmosphere";
import {
  type Consumer,
  connect,
  diff,
  type EagerHandler,
  type Session,
  type SharedObject,
  type View,
  viewFilter,
} from "@jecho/client";
import { readViewingSession, type ViewingChange } from "../viewing-session.ts";
import { serve } from "../worker.ts";

export interface OpenViewer {
  readonly port: number;
  readonly isEager: boolean;
  /** Whether its modulators are texts that the producer does not know. */
  readonly isStranger?: boolean;
}

const { changes } = readViewingSession();
const opening = changes.filter(change => "opens" in change && change.atMs === 0);

let session: Session;
let apply: (change: ViewingChange) => Promise<void> | void;
let events = 0;
/** Something is made of what came, as much with eager handlers as without. */
let seen = 0;

function look({ values }: GridData): void {
  events++;
  seen += values.length + (values[0] ?? 0);
}

/** Each view has its own shared view and its own pair of modulator and demodulator, as on the page. */
async function openEager(isStranger: boolean): Promise<typeof apply> {
  const views = new Map<number, { shared: SharedObject<View>; consumer: Consumer<GridData> }>();
  const channel = session.channel(CHANNELS.ozone, GridData);
  const pairOf = (shared: SharedObject<View>, threshold?: number): EagerHandler => {
    const pair =
      threshold === undefined
        ? viewFilter(shared, { packed: true })
        : (diff(shared, threshold) as EagerHandler);
    const { modulator } = pair;
    if (!isStranger || modulator === undefined) return pair;
    return { ...pair, modulator: { ...modulator, source: `${modulator.source}\n// Another one.` } };
  };
  return async change => {
    const known = views.get(change.view);
    if ("changes" in change) return known?.shared.update(change.changes);
    if (known === undefined) {
      const shared = session.share(change.opens);
      const consumer = await channel.subscribe(look, pairOf(shared, change.threshold));
      views.set(change.view, { shared, consumer });
    } else {
      known.shared.update(change.opens);
      await known.consumer.reset(pairOf(known.shared, change.threshold));
    }
  };
}

/**
 * The whole field comes once, and each view takes its part of it here: the layers that it shows and, in alarm mode, what has changed. The
 * window costs nothing, because who has the whole layer can draw from it.
 */
async function openWhole(): Promise<typeof apply> {
  const views = new Map<
    number,
    { view: View; threshold: number | undefined; sent: Map<number, Float32Array> }
  >();
  await session.channel(CHANNELS.ozone, GridData).subscribe(event => {
    for (const { view, threshold, sent } of views.values()) {
      if (event.layer < view.firstLayer || event.layer > view.lastLayer) continue;
      if (threshold === undefined) look(event);
      else if (hasChanged(event, threshold, sent)) look(event);
    }
  });
  return change => {
    const known = views.get(change.view);
    if ("opens" in change)
      views.set(change.view, { view: change.opens, threshold: change.threshold, sent: new Map() });
    else if (known !== undefined) known.view = { ...known.view, ...change.changes };
  };
}

function hasChanged(
  { layer, values }: GridData,
  threshold: number,
  sent: Map<number, Float32Array>,
): boolean {
  const before = sent.get(layer);
  if (before === undefined) {
    sent.set(layer, values.slice());
    return true;
  }
  let changed = 0;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (Math.abs(value - (before[i] as number)) <= threshold) continue;
    before[i] = value;
    changed++;
  }
  return changed > 0;
}

serve({
  async open({ port, isEager, isStranger = false }: OpenViewer) {
    session = connect(`127.0.0.1:${port}`);
    apply = isEager ? await openEager(isStranger) : await openWhole();
    for (const change of opening) await apply(change);
  },
  /** Does what was recorded, so many times as fast. Answers when the last change is in force. */
  async replay(speed: number) {
    const start = performance.now();
    for (const change of changes.slice(opening.length)) {
      await delay(Math.max(0, start + change.atMs / speed - performance.now()));
      await apply(change);
    }
  },
  close: () => session.close(),
  /** Events that views were handed so far. */
  count: () => ({ events, seen }),
});
