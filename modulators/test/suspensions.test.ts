import { fifo } from "@jecho/modulators";
import { expect, test } from "vitest";
import { modulator, Rig, USUAL } from "./rig.ts";

/** A rig whose clock is set by hand. */
function rigAt(clock: { now: number }): Rig {
  return new Rig({ limits: USUAL, clock: { now: () => clock.now, after: () => () => {} } });
}

/** A modulator that ends its host with the first event, in a text of its own. */
const ending = (text: string) => modulator(`/* ${text} */ enqueue() { let x = 3n; for (;;) x *= x; }`);

async function ends(rig: Rig, text: string, by: string): Promise<void> {
  const derived = await rig.install(ending(text), { by });
  rig.step();
  await rig.settled();
  expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
}

const suspended = (message: string) => ({ code: "MODULATOR_SUSPENDED", message });

test("MOE-11: a text that has ended its host is refused for a while, twice as long each time, and others go on", async () => {
  const clock = { now: 1e6 };
  await using rig = rigAt(clock);
  const good = await rig.install(fifo().modulator);
  await ends(rig, "a", "");
  const again = (): Promise<number> => rig.install(ending("a"));
  await expect(again()).rejects.toMatchObject(
    suspended("this modulator has ended the host of all modulators once: try again in 5 s"),
  );
  await ends(rig, "b", "");
  clock.now += 5000;
  await ends(rig, "a", "");
  clock.now += 5000;
  await expect(again()).rejects.toMatchObject(
    suspended(expect.stringContaining("2 times: try again in 5 s")),
  );
  clock.now += 5000 + 600_001;
  await ends(rig, "a", "");
  await expect(again()).rejects.toMatchObject(suspended(expect.stringContaining("once: try again in 5 s")));
  expect(rig.received(good)).toHaveLength(4 * 3);
  expect(rig.host.stats.restarts).toBe(4);
});

test("MOE-11: of a subject whose modulators have ended two hosts all are refused, in whatever text, and nobody else's", async () => {
  const clock = { now: 1e6 };
  await using rig = rigAt(clock);
  await ends(rig, "a", "eve");
  await rig.install(fifo().modulator, { by: "eve" });
  await ends(rig, "b", "eve");
  await expect(rig.install(modulator("/* c */"), { by: "eve" })).rejects.toMatchObject(
    suspended("modulators of eve have ended the host of all modulators 2 times: try again in 5 s"),
  );
  await rig.install(modulator("/* c */"), { by: "ana" });
  clock.now += 5000;
  await ends(rig, "d", "eve");
  clock.now += 5000;
  await expect(rig.install(modulator("/* c */"), { by: "eve" })).rejects.toMatchObject(
    suspended(expect.stringContaining("3 times: try again in 5 s")),
  );
});

test("MOE-11, row 37: a text that times out again and again is refused for a while, and its host lives on", async () => {
  const clock = { now: 1e6 };
  await using rig = rigAt(clock);
  const good = await rig.install(fifo().modulator);
  const looping = modulator("enqueue() { for (;;); }");
  for (let times = 1; times <= 3; times++) {
    const derived = await rig.install(looping);
    rig.step();
    await rig.settled();
    expect(rig.removed.get(derived)).toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  }
  await expect(rig.install(looping)).rejects.toMatchObject(
    suspended("this modulator has timed out 3 times: try again in 5 s"),
  );
  clock.now += 5000;
  await rig.install(looping);
  expect(rig.received(good)).toHaveLength(3 * 3);
  expect(rig.host.stats.restarts).toBe(0);
});

test("MOE-11, row 37: a subject whose installations loop without end, each in a text of its own, is refused more of them", async () => {
  await using rig = rigAt({ now: 1e6 });
  const install = (text: string, by: string) =>
    rig.install(modulator(`/* ${text} */ constructor() { super(); for (;;); }`), { by });
  for (let i = 1; i <= 8; i++)
    await expect(install(String(i), "eve")).rejects.toMatchObject({ code: "MODULATOR_TIMED_OUT" });
  await expect(install("9", "eve")).rejects.toMatchObject(
    suspended("modulators of eve have timed out 8 times: try again in 5 s"),
  );
  await rig.install(modulator("/* 9 */"), { by: "ana" });
});

test("MOE-11: who is not to blame for a host's end is not suspended", async () => {
  await using rig = new Rig({ limits: USUAL });
  const good = await rig.install(fifo().modulator, { by: "ana" });
  for (let kills = 0; kills < 4; kills++) {
    process.kill(rig.host.stats.pid as number, "SIGKILL");
    rig.step();
    await rig.settled();
  }
  rig.host.remove(good);
  await rig.install(fifo().modulator, { by: "ana" });
});
