import { connect, type Modulator } from "@jecho/client";
import { expect, type Page } from "@playwright/test";
import { startCutter } from "../src/cutter.ts";
import { Tick, test } from "./library-page.ts";

type Event = typeof Tick.event;

/** Anybody's: no producer has seen its source, so it runs behind a wall. */
const multiples = (of: number): Modulator => ({
  source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator {
  seen = 0;
  enqueue({ n }) {
    this.seen++;
    if (n % this.parameters === 0) super.enqueue({ n, note: "of " + this.seen });
  }
}`,
  parameters: of,
});

/** A page that raises events. */
interface Producing {
  /** Raises events with these numbers, one after the other. */
  raise(from: number, count: number): Promise<void>;
  /** Resolves to how many consumers have handled it. */
  raiseSync(n: number): Promise<number>;
  /** Consumers of the channel itself elsewhere. */
  consumers(): number;
}

declare global {
  var producing: Producing;
}

/** Deadlines that no busy machine makes a modulator miss: a page cannot tell whether a call had the processor. */
const PATIENT = { limits: { callMs: 5000, installMs: 5000 } };

async function produce(
  page: Page,
  place: "here" | "worker" | "shared",
  channel: string,
  modulators: object = PATIENT,
): Promise<void> {
  await page.evaluate(
    async ({ place, channel, modulators }) => {
      const { connect, type } = globalThis.jecho;
      const Tick = type("Tick", { n: "uint32", note: "string" });
      const session = connect(location.host, { place, modulators });
      const producer = await session.channel(channel, Tick).produce();
      globalThis.producing = {
        async raise(from, count) {
          for (let n = from; n < from + count; n++) producer.publish({ n, note: "" });
          await session.flush();
        },
        raiseSync: n => producer.publishSync({ n, note: "" }),
        consumers: () => producer.demand.consumers,
      };
    },
    { place, channel, modulators },
  );
}

for (const place of ["here", "worker", "shared"] as const) {
  test(`${place}: a page that produces runs a modulator that a consumer elsewhere brings`, async ({
    open,
    session,
  }) => {
    const page = await open();
    await produce(page, place, `${place}/page`);
    const channel = session.channel(`${place}/page`, Tick);
    const seen: Event[] = [];
    const consumer = await channel.subscribe(({ n, note }) => void seen.push({ n, note }), {
      modulator: multiples(3),
    });
    expect(consumer.placements).toMatchObject([{ at: "producer", code: undefined, why: "" }]);
    await page.evaluate(() => globalThis.producing.raise(0, 3000));
    await expect.poll(() => seen.length).toBe(1000);
    expect(seen).toEqual(Array.from({ length: 1000 }, (_, i) => ({ n: 3 * i, note: `of ${3 * i + 1}` })));
    expect(await page.evaluate(() => globalThis.producing.raiseSync(6))).toBe(1);
    expect(await page.evaluate(() => globalThis.producing.raiseSync(7))).toBe(0);
    expect(await page.evaluate(() => globalThis.producing.consumers())).toBe(0);
  });

  test(`${place}: one that does not end is removed from the page, and neither the page nor another notices`, async ({
    open,
    session,
  }) => {
    const page = await open();
    await produce(page, place, `${place}/hostile`, {});
    const channel = session.channel(`${place}/hostile`, Tick);
    const seen: number[] = [];
    await channel.subscribe(({ n }) => void seen.push(n), { modulator: multiples(1) });
    const lost = await channel.subscribe(() => {}, {
      // Its status tells.
      onError() {},
      modulator: {
        source: `import { FifoModulator } from "jecho:moe";
export default class extends FifoModulator { enqueue({ n }) { while (n === 5) /^(a+)+$/.test("a".repeat(40) + "b"); } }`,
      },
    });
    await page.evaluate(() => globalThis.producing.raise(0, 10));
    await expect.poll(() => lost.status.state).toBe("refused");
    expect(lost.status.error).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
    await page.evaluate(() => globalThis.producing.raise(10, 10));
    await expect.poll(() => seen).toEqual(Array.from({ length: 20 }, (_, n) => n));
    await expect(
      channel.subscribe(() => {}, { modulator: { source: "export default class {" } }),
    ).rejects.toMatchObject({ code: "MODULATOR_INVALID", message: expect.stringContaining("line 1") });
  });
}

test("MOE-24: shared: when the page that a host runs in is closed, it goes on in another, and who brought a modulator is told", async ({
  open,
  session,
}) => {
  // The first one attached is the first one asked.
  const hosting = await open();
  await hosting.evaluate(() => globalThis.jecho.connect(location.host, { place: "shared" }).ready());
  const producing = await open();
  await produce(producing, "shared", "shared/two");
  const seen: Event[] = [];
  const restarts: string[] = [];
  const consumer = await session
    .channel("shared/two", Tick)
    .subscribe(({ n, note }) => void seen.push({ n, note }), { modulator: multiples(3) });
  consumer.onRestart(({ message }) => restarts.push(message));
  expect(consumer.placements).toMatchObject([{ at: "producer" }]);
  await expect.poll(() => [hosting.workers().length, producing.workers().length]).toEqual([1, 0]);
  await producing.evaluate(() => globalThis.producing.raise(0, 9));
  await expect.poll(() => seen.at(-1)).toEqual({ n: 6, note: "of 7" });
  await hosting.close({ runBeforeUnload: false });
  await expect
    .poll(() => restarts)
    .toEqual([expect.stringContaining("the page that lent its worker is gone")]);
  await expect.poll(() => producing.workers().length).toBe(1);
  // The modulator began anew.
  await producing.evaluate(() => globalThis.producing.raise(9, 9));
  await expect.poll(() => seen.slice(3).map(({ note }) => note)).toEqual(["of 1", "of 4", "of 7"]);
  expect(consumer.status.state).toBe("live");
  expect(consumer.placements).toMatchObject([{ at: "producer" }]);
});

test("MOE-24: shared: a page that may start no workers is passed over; where there is no other, modulators run with the consumer, who is told", async ({
  open,
  session,
}) => {
  const page = await open();
  await page.evaluate(() => Object.defineProperty(globalThis, "Worker", { value: undefined }));
  await produce(page, "shared", "shared/none");
  const seen: Event[] = [];
  const channel = session.channel("shared/none", Tick);
  const consumer = await channel.subscribe(({ n, note }) => void seen.push({ n, note }), {
    modulator: multiples(3),
  });
  expect(consumer.placements).toMatchObject([
    {
      at: "consumer",
      code: "MODULATORS_NOT_SERVED",
      why: expect.stringContaining("no worker can be started"),
    },
  ]);
  // Tried anew for each modulator, and each time given up.
  const second = await channel.subscribe(() => {}, { modulator: multiples(7) });
  expect(second.placements).toMatchObject([{ at: "consumer", code: "MODULATORS_NOT_SERVED" }]);
  await page.evaluate(() => globalThis.producing.raise(0, 300));
  await expect.poll(() => seen.length).toBe(100);
  expect(seen[1]).toEqual({ n: 3, note: "of 4" });
  const other = await open();
  await other.evaluate(() => globalThis.jecho.connect(location.host, { place: "shared" }).ready());
  const further = await channel.subscribe(() => {}, { modulator: multiples(5) });
  expect(further.placements).toMatchObject([{ at: "producer" }]);
  await expect.poll(() => other.workers().length).toBe(1);
});

test("a page whose worker may compile no WebAssembly runs none, and says so", async ({ open, session }) => {
  const page = await open();
  await page.route("**/worker*", async route => {
    const response = await route.fetch();
    const headers = { ...response.headers(), "content-security-policy": "default-src 'self'" };
    await route.fulfill({ response, headers });
  });
  await produce(page, "here", "strict/page");
  const consumer = await session
    .channel("strict/page", Tick)
    .subscribe(() => {}, { modulator: multiples(3) });
  expect(consumer.placements).toMatchObject([
    { at: "consumer", code: "MODULATORS_NOT_SERVED", why: expect.stringContaining("QuickJS does not load") },
  ]);
  expect(await page.evaluate(() => globalThis.producing.raiseSync(3))).toBe(1);
});

for (const place of ["here", "worker", "shared"] as const)
  test(`${place}: a page makes for itself what nobody else modulates for it`, async ({ open, gateway }) => {
    await using refusing = connect(gateway.address, { place: "here", modulators: { most: 0 } });
    const producer = await refusing.channel(`${place}/view`, Tick).produce();
    const page = await open();
    const placements = await page.evaluate(
      async ({ place, source, parameters, modulators }) => {
        const { connect, type } = globalThis.jecho;
        const Tick = type("Tick", { n: "uint32", note: "string" });
        const consumer = await connect(location.host, { place, modulators })
          .channel(`${place}/view`, Tick)
          .subscribe(
            ({ n, note }) => {
              document.title = `${n} ${note}`;
            },
            { modulator: { source, parameters } },
          );
        return consumer.placements;
      },
      { place, source: multiples(2).source, parameters: 2, modulators: PATIENT },
    );
    expect(placements).toMatchObject([{ at: "consumer", code: "MODULATORS_NOT_SERVED" }]);
    expect(await producer.publishSync({ n: 1, note: "" })).toBe(0);
    expect(await producer.publishSync({ n: 2, note: "" })).toBe(1);
    await expect(page).toHaveTitle("2 of 2");
  });

test("a page that begins to produce while its gateway, and with it its own server, is away does so when that is back", async ({
  page,
  session,
  gateway,
}) => {
  await using way = await startCutter(gateway.address);
  const got: number[] = [];
  await session.channel("later", Tick).subscribe(({ n }) => void got.push(n));
  await page.goto(way.url);
  await page.waitForFunction(() => globalThis.jecho !== undefined);
  const begins = page.evaluate(async () => {
    const { connect, type } = globalThis.jecho;
    const session = connect(location.host, { place: "here", backoff: { firstMs: 20, mostMs: 100 } });
    await session.ready();
    await new Promise<void>(resolve =>
      session.onStatus(({ state }) => state === "reconnecting" && resolve()),
    );
    const producing = session.channel("later", type("Tick", { n: "uint32", note: "string" })).produce();
    return producing.then(async producer => {
      producer.publish({ n: 7, note: "" });
      await session.flush();
    });
  });
  await expect.poll(() => gateway.stats().connections).toBe(2);
  way.part();
  await expect.poll(() => gateway.stats().connections).toBe(1);
  way.join();
  await begins;
  await expect.poll(() => got).toEqual([7]);
});
