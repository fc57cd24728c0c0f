import { splitName } from "@jecho/shared";
import { type Control, FROM, mayControl, type OpenConsumer, WHEN_FULL } from "@jecho/shared/internal";
import type { Need } from "./rights.ts";

/** A consumer, as far as it matters here. */
interface ConsumerOf {
  readonly manager: { readonly name: string };
}

const NOTHING: readonly Need[] = [];

/**
 * The rights that a frame of a client takes. Those that are not named here take none: they answer what the gateway asked, or are about an endpoint, a copy or
 * a modulator that this connection has by a right. SECURITY.md says of each frame why.
 *
 * @param consumers of the connection
 */
export function needsOf(frame: Control, consumers: Iterable<ConsumerOf>): readonly Need[] {
  switch (frame.kind) {
    case "OpenProducer":
    case "Departed":
      return [["publish", frame.channel]];
    case "OpenConsumer":
      return needsOfConsumer(frame);
    case "OpenObject":
      return [["share", frame.object]];
    case "WantTypes":
      return [["subscribe", frame.channel]];
    case "AskHandover":
      return Array.from(consumers, ({ manager }): Need => ["handover", manager.name]);
    // Of the channels that match it those are shown which there is the right for.
    case "WantOverview":
      return [["inspect", frame.pattern]];
    case "Kick":
      return [["kick", frame.subject]];
    default:
      return NOTHING;
  }
}

function needsOfConsumer({ channel, modulator, from, queue, as, feed }: OpenConsumer): Need[] {
  const needs: Need[] = [["subscribe", channel]];
  if (modulator !== undefined) {
    needs.push(["modulate", channel]);
    if (modulator.capabilities.length > 0 || mayControl(modulator.source)) needs.push(["control", channel]);
    for (const { object } of modulator.objects) needs.push(["share", object]);
  }
  if (as !== "") needs.push(["name", `${channel.split("#")[0]}#${as}`]);
  // Where one that comes back goes on, `beginningOf` bounds.
  if (from !== undefined && from.from !== FROM.now && from.from !== FROM.resume)
    needs.push(["history", channel]);
  if (queue?.whenFull === WHEN_FULL.block) needs.push(["block", channel]);
  // What modulators are fed with are the channel's own events.
  if (feed !== undefined) needs.push(["subscribe", splitName(channel).base]);
  return needs;
}
