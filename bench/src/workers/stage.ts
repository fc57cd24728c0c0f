// One process of a pipeline: the source, a stage that consumes and produces, or the sink.
import { connect, type Producer } from "@jecho/client";
import { publishAcknowledged, publishFlatOut, publishInTurn } from "../window.ts";
import { serve } from "../worker.ts";

export interface OpenStage {
  readonly port: number;
  /** 0 is the source. */
  readonly index: number;
  /** Lengths of the pipelines that run through this process: each has channels of its own. */
  readonly lengths: readonly number[];
}

export interface RunPipeline {
  readonly length: number;
  readonly ms: number;
}

export interface RunFlatOut {
  readonly length: number;
  readonly events: number;
}

/** An event's one byte says whether its end is waited for, by everyone on its way. */
const ORDINARY = Uint8Array.of(0);
const AWAITED = Uint8Array.of(1);

const producers = new Map<number, Producer<Uint8Array>>();

const channelOf = (length: number, link: number): string => `pipeline/${length}/${link}`;

serve({
  async open({ port, index, lengths }: OpenStage) {
    // Whoever cannot pass an event on waits, and so do those before it.
    const queue = { whenFull: "block" } as const;
    const session = connect(`127.0.0.1:${port}`, { queue });
    for (const length of lengths) {
      if (index > length) continue;
      const producer =
        index === length ? undefined : await session.channel(channelOf(length, index)).produce();
      if (producer !== undefined) producers.set(length, producer);
      if (index === 0) continue;
      const pass = (event: Uint8Array): unknown => {
        // An awaited event is handled here when it is at the end.
        if (event[0] === 1) return producer?.publishSync(event, { timeoutMs: 60_000 });
        if (producer?.isReady === false) return producer.publishWhenReady(event);
        return void producer?.publish(event);
      };
      await session.channel(channelOf(length, index - 1)).subscribe(pass, { queue });
    }
  },
  async: ({ length, events }: RunFlatOut) => {
    const producer = producers.get(length) as Producer<Uint8Array>;
    return publishFlatOut(() => producer, ORDINARY, AWAITED, events);
  },
  acknowledged: ({ length, ms }: RunPipeline) => {
    const producer = producers.get(length) as Producer<Uint8Array>;
    return publishAcknowledged(() => producer, ORDINARY, AWAITED, ms);
  },
  sync: ({ length, ms }: RunPipeline) =>
    publishInTurn(producers.get(length) as Producer<Uint8Array>, AWAITED, ms),
});
