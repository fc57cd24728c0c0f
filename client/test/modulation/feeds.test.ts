import type { Provenance } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { expect, test } from "vitest";
import type { ConsumerEndpoint } from "../../src/concentrator/endpoints/endpoint.ts";
import type { SynchronousEvents } from "../../src/concentrator/incoming/synchronous.ts";
import type { TrackedSource } from "../../src/concentrator/incoming/tracking.ts";
import { Feeds } from "../../src/modulation/feeds.ts";
import { installOf, modulationIn } from "./modulation-in.ts";

const SOURCE = `import { FifoModulator } from "jecho:moe"; export default class extends FifoModulator {}`;
const none = (): void => {};

test("PROV-2: a position that a feed is told accounts for its own stretch, and for nothing before that", async () => {
  const seen: Provenance[] = [];
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [SOURCE] }, events), {
    onSeen: (_, of) => seen.push(of),
  });
  const entries: ConsumerEndpoint[] = [];
  const feeds = new Feeds(
    modulation,
    {} as SynchronousEvents,
    { changed: none },
    {
      open: entry => entries.push(entry),
      close: none,
      isConsumed: () => true,
      dropped: none,
      met: none,
      begin: none,
    },
  );
  modulation.install(installOf({ source: SOURCE }), undefined);
  await expect.poll(() => [...modulation.installed].length).toBe(1);
  void feeds.open("3@a", "a", { process: 3, channel: 1 }, false, []).catch(none);
  const feed = entries[0] as ConsumerEndpoint;
  const source = { id: 7n, urgent: false, name: "7" } as TrackedSource;
  const origin = { id: 8n, urgent: false, name: "8" } as TrackedSource;
  const at = { producer: 4, raised: 15, after: 10, through: 12, agoMs: 0 };
  feeds.placed(feed, { ...at, of: { source, origin } }, 0);
  feeds.placed(feed, { ...at, of: { source: origin, origin: undefined } }, 0);
  expect(seen.map(({ source, after, through }) => [source, after, through])).toEqual([
    [origin, 10, 12],
    [origin, 15, 15],
  ]);
  feeds.close("3@a");
  await modulation.close();
});
