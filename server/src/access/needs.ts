import { splitName } from "@jecho/shared";
import { type Control, FROM, mayControl, type OpenConsumer, WHEN_FULL } from "@jecho/shared/internal";
import type { Need } from "./rights.ts";

/** The part of a consumer that is used here. */
interface ConsumerOf {
  readonly manager: { readonly name: string };
}

const NOTHING: readonly Need[] = [];

/**
 * The rights that a client's frame takes. Frames that are not named here take none: they answer the gateway, or are about an endpoint, a copy or
 * a modulator that this connection has by a right. SECURITY.md gives the reason for each.
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
    // Only channels for which there is the right are shown.
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
  }
  if (as !== "") needs.push(["name", `${channel.split("#")[0]}#${as}`]);
  // A returning consumer's place is bounded by `beginningOf`.
  if (from !== undefined && from.from !== FROM.now && from.from !== FROM.resume)
    needs.push(["history", channel]);
  if (queue?.whenFull === WHEN_FULL.block) needs.push(["block", channel]);
  // A feed of modulators gets the channel's own events.
  if (feed !== undefined) needs.push(["subscribe", splitName(channel).base]);
  // The last ones, for there may be many: the audit log has no more than the first of all.
  for (const { object } of modulator?.objects ?? []) needs.push(["share", object]);
  return needs;
}
