import { encodeEvent, type } from "@jecho/shared";
import { OUTBOX_HEAD } from "../sandbox.ts";
import { encodeValues } from "../values.ts";
import * as world from "./bridge.ts";

const BLOCK_BYTES = 64 << 10;

/**
 * Runs a modulator's whole life once, with typed and opaque events, in a world that is thrown away: the engine compiles code when it
 * first runs, and later worlds of the same engine reuse it.
 */
export function rehearse(): number {
  const Some = type("Some", {
    number: "float64",
    text: "string",
    numbers: "float32[]",
    list: [{ n: "uint32" }],
  });
  const some = { number: 1, text: "a", numbers: new Float32Array(1), list: [{ n: 1 }] };
  perform(Some.schema, encodeEvent(Some, some), some);
  perform(new Uint8Array(0), new Uint8Array(8), new Uint8Array(8));
  return 0;
}

/** @param made an event that the modulator makes beside its input */
function perform(schema: Uint8Array, event: Uint8Array, made: object): void {
  class Rehearsed extends world.FifoModulator {
    static needs = ["clock", "log", "context.some"];

    override enqueue(event: object): void {
      if (this.objects["some"] === undefined) return;
      super.enqueue(event);
      super.enqueue(world.urgent(made));
      (this.moe["log"] as (line: string) => void)("a line");
    }
  }
  const inbox = new Uint8Array(BLOCK_BYTES);
  world.attach(inbox.buffer, new ArrayBuffer(OUTBOX_HEAD + BLOCK_BYTES));
  inbox.set(schema);
  must(world.load({ default: Rehearsed }, schema.byteLength, "+clock,+log,+context.some", 4));
  const view = encodeValues([{ name: "context.some", values: [1] }]);
  inbox.set(view);
  must(world.context("context.some", view.byteLength));
  must(world.start('{"a":[1]}', JSON.stringify([["some", 1, '{"a":[1]}']]), 0, 0, 1));
  must(world.update("some", 2, '{"a":[2]}'));
  must(world.behind("[1]"));
  new Uint32Array(inbox.buffer).set([8, 8 + event.byteLength]);
  inbox.set(event, 8);
  must(world.run(8 + event.byteLength, 1, true, 0, schema.byteLength === 0 ? 0 : 1));
  must(world.period(true, 0));
  must(world.calls());
  must(world.remove());
}

function must(result: number | string): void {
  if (typeof result === "string") throw new Error(result);
}
