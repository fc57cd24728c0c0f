import type { Provenance } from "@jecho/modulators/internal";
import { ModulatorEnvironment } from "@jecho/modulators/node";
import { JechoError } from "@jecho/shared";
import type { EventsFrame, Install, Instead } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import type { ConsumerEndpoint } from "../../src/concentrator/endpoints/endpoint.ts";
import type { SynchronousEvents } from "../../src/concentrator/incoming/synchronous.ts";
import type { TrackedSource } from "../../src/concentrator/incoming/tracked-source.ts";
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
  modulation.installer.install(installOf({ source: SOURCE }), undefined);
  await expect.poll(() => [...modulation.installed].length).toBe(1);
  void feeds.open("3@a", "a", { process: 3, channel: 1 }, false, [], false).catch(none);
  const feed = entries[0] as ConsumerEndpoint;
  const source = { id: 7n, urgent: false, name: "7" } as TrackedSource;
  const origin = { id: 8n, urgent: false, name: "8" } as TrackedSource;
  const at = { producer: 4, raised: 15, after: 10, through: 12, agoMs: 0 };
  feed.taker?.placed({ ...at, of: { source, origin } }, 0);
  feed.taker?.placed({ ...at, of: { source: origin, origin: undefined } }, 0);
  expect(seen.map(({ source, after, through }) => [source, after, through])).toEqual([
    [origin, 10, 12],
    [origin, 15, 15],
  ]);
  // CHAN-9: what another modulator here makes does not come over the wire, too.
  void feeds.open("3@a", "a", { process: 3, channel: 1 }, false, [], true).catch(none);
  feed.taker?.placed({ ...at, through: 20, of: { source, origin } }, 0);
  feed.taker?.placed({ ...at, raised: 25, of: { source: origin, origin: undefined } }, 0);
  expect(seen.slice(2).map(({ after, through }) => [after, through])).toEqual([[25, 25]]);
  feeds.close("3@a");
  await modulation.close();
});

test("PROV-2: modulators that outlive the refusal of their feed go on behind what they have had", async () => {
  const entries: ConsumerEndpoint[] = [];
  let feeds: Feeds | undefined;
  const modulation = modulationIn(events => new ModulatorEnvironment({ trusted: [SOURCE] }, events), {
    onFeed: async (name, { base, process, sources }, channel) =>
      feeds?.open(name, base, { process, channel }, false, sources, false),
    onUnfed: name => feeds?.close(name),
  });
  const events = { isConsumed: () => true, close: none, dropped: none, met: none, begin: none };
  feeds = new Feeds(
    modulation,
    {} as SynchronousEvents,
    { changed: none },
    { ...events, open: entry => entries.push(entry) },
  );
  // Two modulators with one input; both consumers have the output of five events.
  const sources = [{ source: 7n, urgent: false, raised: 5n, origin: 0n, through: 0n }];
  const first = installOf({ source: SOURCE, parameters: 1 });
  const second = installOf({ source: SOURCE, parameters: 2 });
  const both = [first, { ...second, derived: 3, request: 6 }].map(install => ({
    ...install,
    instead: { ...(install.instead as Instead), sources },
  }));
  for (const install of both) modulation.installer.install(install, undefined);
  await expect.poll(() => [...modulation.installed].length).toBe(2);
  const [feed] = entries as [ConsumerEndpoint];
  feeds.opened(feed, undefined);
  const usual = { id: 7n, urgent: false, name: "7 false" } as TrackedSource;
  feed.tracker.take(usual, { raised: 6, count: 10 } as EventsFrame);
  modulation.interrupted();
  feeds.interrupted();

  // The process that raises them is not back when the first one is asked for again; it is for the second.
  modulation.installer.install(both[0] as Install, undefined);
  await expect.poll(() => entries.length).toBe(2);
  feed.become({ is: "gone" });
  feeds.refused(feed, new JechoError("PRODUCER_GONE", "nobody feeds it"));
  await expect.poll(() => [...modulation.installed].length).toBe(1);
  modulation.installer.install(both[1] as Install, undefined);
  await expect.poll(() => entries.length).toBe(3);
  expect(entries[2]?.tracker.take(usual, { raised: 6, count: 12 } as EventsFrame).had).toBe(10);
  feeds.close("a");
  await modulation.close();
});
