import { type ConcentratorPlace, connect } from "@jecho/client";
import { createGateway, lineLog } from "@jecho/server";
import { expect, type Page } from "@playwright/test";
import { startCutter } from "../src/cutter.ts";
import { selfSigned, tlsFiles } from "../src/self-signed.ts";
import { killSharedWorkers } from "../src/shared-workers.ts";
import { alone, DIST, HEARTBEAT_MS, openTab, Tick, test } from "./library-page.ts";

test("the gateway's pages are isolated, so that they may share memory with their workers", async ({
  open,
}) => {
  const page = await open();
  expect(await page.evaluate(() => globalThis.crossOriginIsolated)).toBe(true);
});

for (const place of ["here", "worker"] as const)
  test(`${place}: a page that came by https connects by that to where it came from`, async ({
    browser,
    gateway: _built,
  }) => {
    const { tls } = await tlsFiles(selfSigned("localhost"));
    await using gateway = await createGateway({ staticFolder: DIST, tls });
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    await page.goto(`https://localhost:${gateway.port}/`);
    await page.waitForFunction(() => globalThis.jecho !== undefined);
    const state = await page.evaluate(async place => {
      const session = globalThis.jecho.connect(location.host, { place });
      await session.ready();
      return session.status.state;
    }, place);
    expect(state).toBe("live");
    await page.context().close();
  });

for (const place of ["here", "worker", "shared"] as const) {
  test(`${place}: a page that the gateway refuses for its origin is told so, and what allows it`, async ({
    context,
    gateway: _built,
  }) => {
    const lines: string[] = [];
    await using gateway = await createGateway({ log: lineLog(line => lines.push(line)) });
    // Its pages may connect to others than itself.
    await using pages = await createGateway({ staticFolder: DIST, contentPolicy: "worker-src *" });
    const page = await openTab(context, pages);
    const told = await page.evaluate(
      async ({ place, address }) => {
        const session = globalThis.jecho.connect(address, { place });
        return session.ready().catch(({ code, message }) => ({ code, message }));
      },
      { place, address: gateway.address },
    );
    const line = `pages of "${pages.url}" may not connect: that is not the gateway's own origin (--origin "${pages.url}")`;
    expect(told).toEqual({ code: "ORIGIN_REFUSED", message: line });
    expect(lines).toEqual([line]);
  });

  test(`${place}: events go both ways, in order, synchronous ones among them, on a thousand channels`, async ({
    open,
    session,
    gateway,
  }) => {
    await alone(gateway);
    const page = await open();
    const up: number[] = [];
    await session.channel(`${place}/up`, Tick).subscribe(({ n }) => void up.push(n));
    const down = await session.channel(`${place}/down`, Tick).produce();
    const names = Array.from({ length: 1000 }, (_, i) => `${place}/many/${i}`);
    const many = new Set<string>();
    await Promise.all(
      names.map(name => session.channel(name, Tick).subscribe(({ note }) => void many.add(note))),
    );
    const done = page.evaluate(
      async ({ place, names }) => {
        const { connect, type } = globalThis.jecho;
        const Tick = type("Tick", { n: "uint32", note: "string" });
        const session = connect(location.host, { place });
        const got: number[] = [];
        const all = new Promise<void>(resolve => {
          void session.channel(`${place}/down`, Tick).subscribe(({ n }) => {
            if (got.push(n) === 2000) resolve();
          });
        });
        const producer = await session.channel(`${place}/up`, Tick).produce();
        let handled = 0;
        for (let n = 0; n < 5000; n++) {
          if (n % 500 === 499) handled += await producer.publishSync({ n, note: "" });
          else producer.publish({ n, note: "x".repeat(n % 300) });
        }
        const producers = await Promise.all(names.map(name => session.channel(name, Tick).produce()));
        for (const [i, one] of producers.entries()) one.publish({ n: i, note: names[i] as string });
        await all;
        await session.flush();
        return { got, handled };
      },
      { place, names },
    );
    await expect.poll(() => down.demand.total).toBe(1);
    for (let n = 0; n < 2000; n++) down.publish({ n, note: "" });
    const { got, handled } = await done;
    expect(handled).toBe(10);
    expect(up).toEqual(Array.from({ length: 5000 }, (_, n) => n));
    expect(got).toEqual(Array.from({ length: 2000 }, (_, n) => n));
    await expect.poll(() => many.size).toBe(1000);
    expect(gateway.stats().connections).toBe(2);
    await page.close();
    await expect.poll(() => gateway.stats().connections).toBe(1);
  });

  test(`${place}: a queue that drops the oldest counts what it dropped, and keeps the newest`, async ({
    open,
    session,
  }) => {
    const page = await open();
    const seen: number[] = [];
    await session.channel(`${place}/flood`, Tick).subscribe(({ n }) => void seen.push(n));
    const { events, dropped } = await page.evaluate(async place => {
      const { connect, type } = globalThis.jecho;
      const Tick = type("Tick", { n: "uint32", note: "string" });
      const session = connect(location.host, { place });
      const queue = { bytes: 1 << 14, whenFull: "drop-oldest" } as const;
      const producer = await session.channel(`${place}/flood`, Tick).produce({ queue });
      const note = "x".repeat(200);
      for (let n = 1; n <= 20_000; n++) producer.publish({ n, note });
      await session.flush();
      return producer.stats;
    }, place);
    expect(events).toBe(20_000);
    // In the page's own thread the queue is emptied there and then, as long as the socket takes more.
    if (place !== "here") expect(dropped).toBeGreaterThan(0);
    await expect.poll(() => seen.length).toBe(events - dropped);
    expect(seen.at(-1)).toBe(20_000);
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  });
}

test("CHAN-10: a page, which may ask at no other address, takes the names of its own machine for one", async ({
  open,
  session,
  gateway,
}) => {
  const page = await open();
  const producer = await session.channel("names", Tick).produce();
  const { port, identity } = gateway;
  const codes = await page.evaluate(
    async ([port, identity]) => {
      // Nobody waits for an answer that does not come.
      const own = globalThis.jecho.connect(location.host, { connectTimeoutMs: 600_000 });
      const open = (server: string): Promise<string> =>
        own
          .channel(`jecho://${server}/names`)
          .subscribe(() => {})
          .then(
            () => "open",
            ({ code }) => code,
          );
      return Promise.all([`localhost:${port}`, `127.0.0.1:${port}`, identity].map(open));
    },
    [port, identity] as const,
  );
  expect(codes).toEqual(["open", "open", "open"]);
  await expect.poll(() => producer.demand.total).toBe(3);
});

test("shared: two tabs have one connection, and what one opened goes with it", async ({
  open,
  session,
  gateway,
}) => {
  await alone(gateway);
  const producer = await session.channel("tabs", Tick).produce();
  const tabs = [await open(), await open()] as const;
  const listen = (tab: Page): Promise<void> =>
    tab.evaluate(async () => {
      const { connect, type } = globalThis.jecho;
      const Tick = type("Tick", { n: "uint32", note: "string" });
      const session = connect(location.host, { place: "shared" });
      await session.channel("tabs", Tick).subscribe(({ n }) => {
        document.title = String(n);
      });
    });
  await listen(tabs[0]);
  await listen(tabs[1]);
  await expect.poll(() => producer.demand.total).toBe(2);
  expect(gateway.stats().connections).toBe(2);
  expect(await producer.publishSync({ n: 1, note: "" })).toBe(2);
  for (const tab of tabs) await expect(tab).toHaveTitle("1");
  // A tab that is gone says nothing.
  await tabs[0].close({ runBeforeUnload: false });
  await expect.poll(() => producer.demand.total).toBe(1);
  expect(await producer.publishSync({ n: 2, note: "" })).toBe(1);
  await expect(tabs[1]).toHaveTitle("2");
  expect(gateway.stats().connections).toBe(2);
  // A third finds the connection, and the types that events are written with.
  const third = await open();
  await listen(third);
  await expect.poll(() => producer.demand.total).toBe(2);
  expect(await producer.publishSync({ n: 3, note: "" })).toBe(2);
  await expect(third).toHaveTitle("3");
  expect(gateway.stats().connections).toBe(2);
});

test("shared: tabs whose SharedWorker died are told, and a new session gets a new one", async ({
  browser,
  open,
  session,
  gateway,
}) => {
  await alone(gateway);
  const producer = await session.channel("died", Tick).produce();
  const tabs = [await open(), await open()];
  const listen = (tab: Page): Promise<void> =>
    tab.evaluate(async () => {
      const { connect, type } = globalThis.jecho;
      const Tick = type("Tick", { n: "uint32", note: "string" });
      const session = connect(location.host, { place: "shared" });
      session.onStatus(({ state, error }) => {
        if (state === "refused") document.title = `${error?.code} ${error?.retry}`;
      });
      await session.channel("died", Tick).subscribe(({ n }) => {
        document.title = String(n);
      });
    });
  for (const tab of tabs) await listen(tab);
  await expect.poll(() => producer.demand.total).toBe(2);
  await killSharedWorkers(browser);
  for (const tab of tabs) await expect(tab).toHaveTitle("CONNECTION_LOST true");
  await expect.poll(() => producer.demand.total).toBe(0);
  for (const tab of tabs) await listen(tab);
  await expect.poll(() => producer.demand.total).toBe(2);
  expect(gateway.stats().connections).toBe(2);
  expect(await producer.publishSync({ n: 1, note: "" })).toBe(2);
  for (const tab of tabs) await expect(tab).toHaveTitle("1");
});

test("SLOW-4: shared: what comes for a frozen page waits at the gateway, by its consumer's own policy", async ({
  open,
  session,
}) => {
  const page = await open();
  const [frozen, awake] = await Promise.all(
    ["frozen", "awake"].map(name => session.channel(name, Tick).produce()),
  );
  await page.evaluate(async () => {
    const { connect, type } = globalThis.jecho;
    const Tick = type("Tick", { n: "uint32", note: "string" });
    const session = connect(location.host, { place: "shared" });
    const seen: number[] = [];
    const queue = { whenFull: "latest" } as const;
    const see = ({ n }: { n: number }): void => {
      document.title = String(seen.push(n) && seen);
    };
    await session.channel("frozen", Tick).subscribe(see, { queue });
    // As the browser tells it: no page of Playwright's is ever frozen.
    document.dispatchEvent(new Event("freeze"));
    await session.channel("awake", Tick).subscribe(() => {});
  });
  await expect.poll(() => awake?.demand.total).toBe(1);
  for (let n = 1; n <= 100; n++) frozen?.publish({ n, note: "" });
  // By the same way, behind them.
  expect(await awake?.publishSync({ n: 0, note: "" })).toBe(1);
  expect(await page.title()).not.toContain("1");
  await page.evaluate(() => void document.dispatchEvent(new Event("resume")));
  await expect(page).toHaveTitle("100");
});

test("SLOW-4: shared: nothing is kept for a frozen page beside one that is not: it comes back behind its place", async ({
  open,
  session,
}) => {
  const producer = await session
    .channel("beside", Tick)
    .produce({ history: { latest: true, onDemand: true } });
  const [frozen, awake] = [await open(), await open()];
  for (const page of [frozen, awake])
    await page.evaluate(async () => {
      const { connect, type } = globalThis.jecho;
      const Tick = type("Tick", { n: "uint32", note: "string" });
      const session = connect(location.host, { place: "shared" });
      const queue = { whenFull: "latest" } as const;
      const seen: number[] = [];
      let missed = 0;
      const tell = (): void => {
        document.title = `${seen} missed ${missed}`;
      };
      const see = ({ n }: { n: number }): void => {
        seen.push(n);
        tell();
      };
      const onMissed = ({ events }: { events: number }): void => {
        missed += events;
      };
      await session.channel("beside", Tick).subscribe(see, { queue, onMissed });
    });
  await expect.poll(() => producer.demand.total).toBe(2);
  producer.publish({ n: 1, note: "" });
  for (const page of [frozen, awake]) await expect(page).toHaveTitle("1 missed 0");
  // As the browser tells it: no page of Playwright's is ever frozen.
  await frozen.evaluate(() => void document.dispatchEvent(new Event("freeze")));
  await expect.poll(() => producer.demand.total).toBe(1);
  for (let n = 2; n <= 100; n++) expect(await producer.publishSync({ n, note: "" })).toBe(1);
  await expect(frozen).toHaveTitle("1 missed 0");
  await frozen.evaluate(() => void document.dispatchEvent(new Event("resume")));
  await expect(frozen).toHaveTitle("1,100 missed 98");
  expect(await producer.publishSync({ n: 101, note: "" })).toBe(2);
  await expect(frozen).toHaveTitle("1,100,101 missed 98");
  await expect(awake).toHaveTitle(/,99,100,101 missed 0$/);
});

test("where there is no SharedWorker, each tab has a worker; where there is none either, its own thread", async ({
  context,
  gateway,
  session,
}) => {
  await alone(gateway);
  const producer = await session.channel("fallback", Tick).produce();
  const without = async (names: readonly ("SharedWorker" | "Worker")[]): Promise<void> => {
    const page = await openTab(context, gateway);
    await page.evaluate(async names => {
      for (const name of names) Object.defineProperty(globalThis, name, { value: undefined });
      const { connect, type } = globalThis.jecho;
      const Tick = type("Tick", { n: "uint32", note: "string" });
      await connect(location.host)
        .channel("fallback", Tick)
        .subscribe(() => {});
    }, names);
  };
  await without(["SharedWorker"]);
  await without(["SharedWorker"]);
  await without(["SharedWorker", "Worker"]);
  await expect.poll(() => producer.demand.total).toBe(3);
  expect(gateway.stats().connections).toBe(4);
  expect(await producer.publishSync({ n: 1, note: "" })).toBe(3);
});

for (const place of ["worker", "shared"] as const) {
  test(`${place}: a page that computes without yielding keeps its connection`, async ({ open, session }) => {
    const page = await open();
    const arrivals: number[] = [];
    await session.channel(`${place}/busy`, Tick).subscribe(() => void arrivals.push(performance.now()));
    const computing = page.evaluate(
      async ({ place, busyMs }: { place: ConcentratorPlace; busyMs: number }) => {
        const { connect, type } = globalThis.jecho;
        const Tick = type("Tick", { n: "uint32", note: "string" });
        const session = connect(location.host, { place });
        await session.ready();
        const states: string[] = [session.status.state];
        session.onStatus(({ state }) => states.push(state));
        const producer = await session.channel(`${place}/busy`, Tick).produce();
        const start = performance.now();
        let events = 0;
        while (performance.now() - start < busyMs)
          if (performance.now() - start > 100 * events) producer.publish({ n: events++, note: "" });
        // What the session was told meanwhile is heard only now.
        await session.flush();
        return { states, events };
      },
      { place, busyMs: 6 * HEARTBEAT_MS },
    );
    const { states, events } = await computing;
    expect(states).toEqual(["live"]);
    await expect.poll(() => arrivals.length).toBe(events);
    // Over shared memory they went out as they were raised; without it, all at the end.
    const spreadMs = (arrivals.at(-1) as number) - (arrivals[0] as number);
    if (place === "worker") expect(spreadMs).toBeGreaterThan(HEARTBEAT_MS);
  });
}

for (const place of ["here", "shared"] as const)
  test(`${place}: a page that connects while its gateway, and with it its own server, is away is told so, and goes on when that is back`, async ({
    page,
    session,
    gateway,
  }) => {
    await using way = await startCutter(gateway.address);
    const producer = await session.channel(`${place}/later`, Tick).produce({ history: { events: 1 } });
    producer.publish({ n: 7, note: "" });
    await session.flush();
    await page.goto(way.url);
    await page.waitForFunction(() => globalThis.jecho !== undefined);
    way.part();
    const got = page.evaluate(async place => {
      const { connect, type } = globalThis.jecho;
      const session = connect(location.host, { place, backoff: { firstMs: 20, mostMs: 100 } });
      session.onStatus(({ state, error }) => {
        if (error !== undefined) document.title = `${state}: ${error.code}`;
      });
      const Tick = type("Tick", { n: "uint32", note: "string" });
      return new Promise<number>((resolve, reject) => {
        const channel = session.channel(`${place}/later`, Tick);
        channel.subscribe(({ n }) => resolve(n), { from: "last" }).catch(reject);
      });
    }, place);
    await expect(page).toHaveTitle("connecting: CONNECTION_LOST");
    way.join();
    expect(await got).toBe(7);
  });

test("here: a page connects to a gateway that puts checksums behind messages", async ({
  context,
  gateway: _built,
}) => {
  await using gateway = await createGateway({ staticFolder: DIST, checksums: true });
  const page = await openTab(context, gateway);
  const state = await page.evaluate(async () => {
    const session = globalThis.jecho.connect(location.host, { place: "here" });
    await session.ready(AbortSignal.timeout(20_000));
    return session.status.state;
  });
  expect(state).toBe("live");
});

for (const [does, titles] of [
  ["loads what makes its past, and misses nothing", ["15 to 30, missed 0", "20 to 40, missed 0"]],
  ["cannot load what makes its past, is told what it misses", ["5 to 10, missed 20", "10 to 40, missed 20"]],
] as const)
  test(`here: HIST-7: a page that was away until its modulator had left the producer, and ${does}`, async ({
    page,
    gateway: _built,
  }) => {
    await using gateway = await createGateway({ staticFolder: DIST, resumeWindowMs: 50 });
    await using way = await startCutter(gateway.address);
    await page.goto(way.url);
    await page.waitForFunction(() => globalThis.jecho !== undefined);
    const session = connect(gateway.address);
    const producer = await session.channel("a", Tick).produce({ history: { events: 1000 } });
    await page.evaluate(async () => {
      const { connect, type } = globalThis.jecho;
      const session = connect(location.host, { place: "here", backoff: { firstMs: 20, mostMs: 100 } });
      const Tick = type("Tick", { n: "uint32", note: "string" });
      const got: number[] = [];
      let missed = 0;
      const tell = (): void => {
        document.title = `${got.length} to ${got.at(-1)}, missed ${missed}`;
      };
      const source = `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue(event) { if (event.n % 2 === 0) super.enqueue(event); } }`;
      const take = ({ n }: { n: number }): void => {
        got.push(n);
        tell();
      };
      const onMissed = ({ events }: { events: number }): void => {
        missed += events;
        tell();
      };
      await session.channel("a", Tick).subscribe(take, { modulator: { source }, onMissed });
    });
    const raise = (first: number, last: number): void => {
      for (let n = first; n <= last; n++) producer.publish({ n, note: "" });
    };
    raise(1, 10);
    await expect(page).toHaveTitle("5 to 10, missed 0");
    if (titles[1].endsWith("20")) await page.route("**/*.js", route => route.abort());
    way.part();
    await expect.poll(() => producer.demand.derived.length).toBe(0);
    raise(11, 30);
    way.join();
    await expect(page).toHaveTitle(titles[0]);
    raise(31, 40);
    await expect(page).toHaveTitle(titles[1]);
    await session.close();
  });
