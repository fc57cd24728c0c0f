import { CHANNELS, GridData, Model, readWinds, Simulation, Status, Steering } from "@jecho/atmosphere";
import { connect, type Session, type View, viewFilter } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";

const SPEED = 5;
const WORLD: View = { firstLayer: 0, lastLayer: 99, south: -90, north: 90, west: 0, east: 360, stride: 1 };

interface Rig {
  session(): Session;
  /** The simulation's own. */
  readonly simulation: Session;
  readonly model: Model;
  [Symbol.asyncDispose](): Promise<void>;
}

async function startRig(speed = SPEED): Promise<Rig> {
  const gateway = await createGateway();
  const sessions: Session[] = [];
  const session = (): Session => {
    const made = connect(gateway.address, { name: `session ${sessions.length}` });
    sessions.push(made);
    return made;
  };
  const producing = session();
  const model = new Model({ winds: await readWinds() });
  const simulation = new Simulation({ model, session: producing, speed });
  await simulation.start();
  return {
    session,
    simulation: producing,
    model,
    async [Symbol.asyncDispose]() {
      simulation.close();
      await Promise.all(sessions.map(each => each.close()));
      await gateway.close();
    },
  };
}

/** The values of a view, cell by cell, as a consumer would pick them out of a whole layer. */
function pick(whole: GridData, view: View): number[] {
  const values: number[] = [];
  const width = (((view.east - view.west) % 360) + 360) % 360;
  for (let row = 0; row < whole.rows; row++) {
    const latitude = whole.latFirst + row * whole.latStep;
    if (latitude - 1.25 > view.north || latitude + 1.25 < view.south) continue;
    const columns: { east: number; value: number }[] = [];
    for (let column = 0; column < whole.columns; column++) {
      const east = (((whole.lonFirst + column * whole.lonStep - view.west) % 360) + 360) % 360;
      const fromWest = east > 180 + width / 2 ? east - 360 : east;
      if (fromWest < -1.25 || fromWest > width + 1.25) continue;
      columns.push({ east: fromWest, value: whole.values[row * whole.columns + column] as number });
    }
    values.push(...columns.sort((a, b) => a.east - b.east).map(({ value }) => value));
  }
  return values;
}

test("a view of one layer over a quarter of the globe costs at most 1 % of the whole field's bytes, and has the same numbers", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const view: View = { ...WORLD, firstLayer: 20, lastLayer: 20, south: 1, north: 89, west: -80, east: 98 };
  const whole = new Map<number, GridData>();
  const seen = new Map<number, GridData>();
  let bytesPerStep = 0;
  let layers = 0;
  await session.channel(CHANNELS.status, Status).subscribe(status => {
    ({ bytesPerStep, layers } = status);
  });
  const all = await rig
    .session()
    .channel(CHANNELS.ozone, GridData)
    .subscribe(event => {
      if (event.layer === 20) whole.set(event.step, event);
    });
  const consumer = await session
    .channel(CHANNELS.ozone, GridData)
    .subscribe(event => seen.set(event.step, event), viewFilter(view));
  await expect.poll(() => [...seen.keys()].filter(step => whole.has(step)).length).toBeGreaterThanOrEqual(4);
  for (const [step, event] of seen) {
    const reference = whole.get(step);
    if (reference === undefined) continue;
    expect([...event.values]).toEqual(pick(reference, view));
    expect(event.rows * event.columns).toBe(event.values.length);
  }
  expect(seen.values().next().value?.values.length).toBeGreaterThan(2500);
  expect(bytesPerStep).toBeGreaterThan(1_500_000);
  const perStep = consumer.stats.bytes / consumer.stats.events;
  expect(perStep / bytesPerStep, "share of the whole field").toBeLessThanOrEqual(0.01);
  const wholePerStep = (layers * all.stats.bytes) / all.stats.events;
  expect(wholePerStep / perStep).toBeGreaterThan(50);
});

test("a changed view takes effect within one step", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const view = session.share<View>({ ...WORLD, firstLayer: 5, lastLayer: 5 });
  // By the time in the model.
  const layers = new Map<number, number[]>();
  await session.channel(CHANNELS.ozone, GridData).subscribe(({ time, layer }) => {
    layers.set(time, [...(layers.get(time) ?? []), layer]);
  }, viewFilter(view));
  await expect.poll(() => layers.size).toBeGreaterThan(1);
  // What the simulation's process has of the view is told to each of its producers.
  const beside = await rig.simulation.channel(CHANNELS.ozone, GridData).produce();
  view.update({ firstLayer: 30, lastLayer: 31 });
  await expect.poll(() => beside.demand.derived[0]?.objects["view"]).toMatchObject({ firstLayer: 30 });
  const known = rig.model.time;
  const later = (): [number, number[]][] => [...layers].filter(([time]) => time > known);
  await expect.poll(() => later().length).toBeGreaterThan(3);
  // The newest step may still be coming in.
  for (const [time, of] of later().slice(0, -1)) expect(of, `${time} after ${known}`).toEqual([30, 31]);
  for (const [time, of] of layers) if (time <= known) expect([[5], [30, 31]]).toContainEqual(of);
});

test("nothing is published that nobody looks at", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const viewers: number[] = [];
  const status = await session.channel(CHANNELS.status, Status).subscribe(event => {
    viewers.push(event.viewers);
  });
  await expect.poll(() => viewers.length).toBeGreaterThan(2);
  // Whatever reaches this process came with the status alone.
  expect(status.stats.bytes).toBeLessThan(status.stats.events * 400);
  expect(new Set(viewers)).toEqual(new Set([0]));
});

test("who comes late has the simulation's status at once, however slow it is", async () => {
  // The next step is a quarter of an hour away: what comes is what is kept, or was told because somebody came.
  await using rig = await startRig(0.001);
  const statuses: Status[] = [];
  const early: Status[] = [];
  const watch = (into: Status[]): Promise<unknown> =>
    rig
      .session()
      .channel(CHANNELS.status, Status)
      .subscribe(status => void into.push(status), { from: "last" });
  await watch(early);
  await expect.poll(() => early.at(-1)?.step).toBe(1);
  await watch(statuses);
  await expect.poll(() => statuses.length).toBeGreaterThan(0);
  expect(statuses[0]?.step).toBe(1);
});

test("what was sent for a view is kept for a replay, and nothing else is", async () => {
  await using rig = await startRig();
  const session = rig.session();
  const view: View = { ...WORLD, firstLayer: 20, lastLayer: 20 };
  const live: number[] = [];
  const began = new Date();
  const pair = viewFilter(view);
  await session.channel(CHANNELS.ozone, GridData).subscribe(({ step }) => void live.push(step), pair);
  await expect.poll(() => live.length).toBeGreaterThan(5);
  const again: number[] = [];
  const replay = await session
    .channel(CHANNELS.ozone, GridData)
    .subscribe(({ step }) => void again.push(step), { ...pair, from: began });
  await expect.poll(() => again.at(-1) ?? 0).toBeGreaterThan(live[5] as number);
  expect(again.slice(0, 6)).toEqual(live.slice(0, 6));
  expect(replay.stats.missed).toBe(0);
  const whole: number[] = [];
  await rig
    .session()
    .channel(CHANNELS.ozone, GridData)
    .subscribe(({ step }) => void whole.push(step), { from: began });
  await expect.poll(() => whole.length).toBeGreaterThan(0);
  // Nobody looked at the whole field before.
  expect(whole[0]).toBeGreaterThan(live[5] as number);
});

test("what one viewer steers all see, and a bad command is refused at the one who sent it", async () => {
  await using rig = await startRig();
  const statuses: Status[] = [];
  await rig
    .session()
    .channel(CHANNELS.status, Status)
    .subscribe(status => void statuses.push(status));
  const steering = await rig.session().channel(CHANNELS.steering, Steering).produce();
  const steer = (command: Partial<Steering>): Promise<number> => {
    return steering.publishSync({
      command: "",
      value: 0,
      latitude: 0,
      longitude: 0,
      layer: 0,
      amount: 0,
      ...command,
    });
  };
  expect(await steer({ command: "month", value: 6 })).toBe(1);
  await expect.poll(() => statuses.at(-1)?.notice).toBe("it is July");
  expect(statuses.at(-1)?.month).toBeCloseTo(6, 0);
  await steer({ command: "source", latitude: 50, longitude: -10, layer: 25, amount: 20 });
  await expect.poll(() => statuses.at(-1)?.sources.length).toBe(1);
  expect(statuses.at(-1)?.sources[0]).toMatchObject({
    id: 1,
    latitude: 50,
    longitude: -10,
    layer: 25,
    by: "",
  });
  expect(statuses.at(-1)?.notice).toMatch(/^source 1 of 20 ppmv\/day at 50\.0° N, 10\.0° W, \S+ hPa$/);
  await steer({ command: "remove", value: 1 });
  await expect.poll(() => statuses.at(-1)?.sources.length).toBe(0);
  await steer({ command: "pause" });
  await expect.poll(() => statuses.at(-1)?.paused).toBe(true);
  for (const [command, why] of [
    [{ command: "speed", value: 1e9 }, /speed is 0.1/],
    [{ command: "month", value: Number.NaN }, /month must be/],
    [{ command: "source", latitude: 95, layer: 1, amount: 1 }, /latitude/],
    [{ command: "remove", value: 1 }, /no source 1/],
    [{ command: "explode" }, /"explode" is no/],
  ] as const) {
    await expect(steer(command)).rejects.toMatchObject({
      code: "HANDLER_FAILED",
      message: expect.stringMatching(why),
    });
    await expect.poll(() => statuses.at(-1)?.notice).toMatch(why);
  }
});
