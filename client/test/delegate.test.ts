import type { Modulator, Value } from "@jecho/client";
import { expect, test } from "vitest";
import { Inbox, startRig, Tick } from "./rig.ts";

/** Says what it finds at the path of its need, for each event. */
function saying(needs: string[], expression: string): Modulator {
  return {
    source: `import { FifoModulator } from "jecho:moe";
export default class Says extends FifoModulator {
  static needs = ${JSON.stringify(needs)};
  enqueue({ n }) { super.enqueue({ n, note: String(${expression}) }); }
}`,
  };
}

test("MOE-14: a view is as it was when the event was raised, batch by batch", async () => {
  await using rig = await startRig();
  let temperature = 0;
  let reads = 0;
  const delegate = {
    context: {
      temperature: () => {
        reads++;
        return temperature;
      },
    },
  };
  const producer = await rig.session().channel("test/context", Tick).produce({ delegate });
  const got = new Inbox<string>();
  await rig
    .session()
    .channel("test/context", Tick)
    .subscribe(({ note }) => got.put(note), {
      modulator: saying(["context.temperature"], "n + ' at ' + this.moe.context.temperature"),
    });
  // Once when the producer opened, and again when it heard that somebody needs it.
  await expect.poll(() => reads).toBe(2);
  for (let n = 1; n <= 5; n++) {
    temperature = 280 + n;
    await producer.publishSync({ n, note: "" });
  }
  expect(await got.take(5)).toEqual(["1 at 281", "2 at 282", "3 at 283", "4 at 284", "5 at 285"]);
});

test("a view is read only while a modulator needs it", async () => {
  await using rig = await startRig();
  let reads = 0;
  const delegate = { context: { count: () => ++reads } };
  const producer = await rig.session().channel("test/reads", Tick).produce({ delegate });
  const channel = rig.session().channel("test/reads", Tick);
  await channel.subscribe(() => {});
  for (let n = 0; n < 3; n++) await producer.publishSync({ n, note: "" });
  expect(reads).toBe(1);
  const got = new Inbox<string>();
  const reader = await channel.subscribe(({ note }) => got.put(note), {
    modulator: saying(["context.count"], "this.moe.context.count"),
  });
  await expect.poll(() => reads).toBe(2);
  const atInstallation = reads;
  for (let n = 0; n < 3; n++) await producer.publishSync({ n, note: "" });
  expect(reads).toBe(atInstallation + 3);
  expect(await got.take(3)).toEqual([1, 2, 3].map(n => String(atInstallation + n)));
  await reader.close();
  await expect.poll(() => producer.demand.derived.length).toBe(0);
  // That nobody needs it any more is told in the same turn: it is known by the time that an event comes back.
  await producer.publishSync({ n: 8, note: "" });
  const afterwards = reads;
  await producer.publishSync({ n: 9, note: "" });
  expect(reads).toBe(afterwards);
});

test("MOE-10, MOE-15: a control takes the capability that the producer asks for, and steers it", async () => {
  await using rig = await startRig();
  const calls = new Inbox<readonly Value[]>();
  const lines = new Inbox<string>();
  const delegate = {
    controls: { warm: (...values: Value[]) => calls.put(values) },
    log: lines.put,
    requires: { controls: "steer" },
  };
  const producer = await rig.session().channel("test/controls", Tick).produce({ delegate });
  const channel = rig.session().channel("test/controls", Tick);
  const modulator = saying(
    ["controls.warm", "log"],
    "(this.moe.controls.warm(n, 'degrees'), this.moe.log('warmed ' + n))",
  );
  await expect(channel.subscribe(() => {}, { modulator })).rejects.toMatchObject({
    code: "SERVICE_NOT_GRANTED",
  });
  const granted = await channel.subscribe(() => {}, { modulator, capabilities: ["steer"] });
  // One that is there already is not for who lacks the capability.
  await expect(channel.subscribe(() => {}, { modulator })).rejects.toMatchObject({
    code: "SERVICE_NOT_GRANTED",
  });
  producer.publish({ n: 1, note: "" });
  producer.publish({ n: 2, note: "" });
  expect(await calls.take(2)).toEqual([
    [1, "degrees"],
    [2, "degrees"],
  ]);
  expect(await lines.take(2)).toEqual(["warmed 1", "warmed 2"]);
  await expect(granted.reset({ modulator })).rejects.toMatchObject({ code: "SERVICE_NOT_GRANTED" });
  expect(granted.status.state).toBe("live");
});

test.each([[true], [false]])(
  "MOE-12: what a modulator calls when its last consumer has gone reaches the producer: trusted %s",
  async isTrusted => {
    await using rig = await startRig();
    const source = `import { FifoModulator } from "jecho:moe";
    export default class extends FifoModulator {
      static needs = ["controls.wanted"];
      installed() { this.moe.controls.wanted(true); }
      removed() { this.moe.controls.wanted(false); }
    }`;
    const told: boolean[] = [];
    const delegate = { controls: { wanted: (is: boolean) => told.push(is) } };
    const modulators = { trusted: isTrusted ? [source] : [] };
    await rig.session({ modulators }).channel("test/removed", Tick).produce({ delegate });
    const consumer = await rig
      .session()
      .channel("test/removed", Tick)
      .subscribe(() => {}, { modulator: { source } });
    await expect.poll(() => told).toEqual([true]);
    await consumer.close();
    await expect.poll(() => told).toEqual([true, false]);
  },
);

test("a delegate that fails harms nobody, and its owner is told", async () => {
  await using rig = await startRig();
  const errors = new Inbox<string>();
  const session = rig.session({ onError: ({ code, message }) => errors.put(`${code} ${message}`) });
  const delegate = {
    context: {
      broken: (): number => {
        throw new Error("no thermometer");
      },
    },
    controls: {
      fail: () => {
        throw new Error("no heater");
      },
    },
  };
  const producer = await session.channel("test/failing", Tick).produce({ delegate });
  const got = new Inbox<string>();
  await rig
    .session()
    .channel("test/failing", Tick)
    .subscribe(({ note }) => got.put(note), {
      modulator: saying(
        ["context.broken", "controls.fail"],
        "(this.moe.controls.fail(), this.moe.context.broken)",
      ),
    });
  await producer.publishSync({ n: 1, note: "" });
  expect(await got.take(1)).toEqual(["undefined"]);
  await expect.poll(() => errors.all).toContain("DELEGATE_FAILED controls.fail: no heater");
  expect(errors.all).toContain("DELEGATE_FAILED context.broken: no thermometer");
});

test("what cannot be offered is refused at once", async () => {
  await using rig = await startRig();
  const channel = rig.session().channel("test/refused", Tick);
  await expect(channel.produce({ delegate: { services: { round: Math.round } } })).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
  });
});
