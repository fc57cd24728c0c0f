import { readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CHANNELS,
  Model,
  readWinds,
  Simulation,
  type SimulationState,
  Status,
  Steering,
} from "@jecho/atmosphere";
import { connect } from "@jecho/client";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { Checkpoint } from "../src/checkpoint.ts";

const winds = await readWinds();
const file = (): string => join(tmpdir(), `atmosphere-${crypto.randomUUID()}`);

function stateOf(step: number): SimulationState {
  const model = new Model({ winds, resolution: 10 });
  model.addSource({ latitude: 20, longitude: 10, layer: 25, amount: 30 });
  return { step, speed: 5, paused: true, model: model.state, by: [[1, "ana"]] };
}

test("what was saved last is read again, and nothing is left beside it", async () => {
  const path = file();
  const checkpoint = new Checkpoint(path);
  expect(await checkpoint.read()).toBeUndefined();
  for (let step = 1; step < 5; step++) void checkpoint.save(stateOf(step));
  await checkpoint.save(stateOf(5));
  expect(await new Checkpoint(path).read()).toEqual(stateOf(5));
  expect(await readdir(tmpdir())).not.toContain(`${path}.new`);
  await rm(path);
});

test("what is no checkpoint is refused by its name", async () => {
  const path = file();
  await writeFile(path, "something else");
  await expect(new Checkpoint(path).read()).rejects.toThrow(path);
  await rm(path);
});

test("a simulation goes on from what another one had come to, and says where it began", async () => {
  await using gateway = await createGateway();
  await using session = connect(gateway.address);
  const statuses: Status[] = [];
  await session.channel(CHANNELS.status, Status).subscribe(status => void statuses.push(status));
  const kept: SimulationState[] = [];
  const onCheckpoint = (state: SimulationState): void => void kept.push(state);
  const first = new Simulation({
    model: new Model({ winds, resolution: 10 }),
    session,
    speed: 5,
    onCheckpoint,
  });
  await first.start();
  const steering = await session.channel(CHANNELS.steering, Steering).produce();
  const none = { value: 0, latitude: 20, longitude: 10, layer: 25, amount: 30 };
  await steering.publishSync({ ...none, command: "source" });
  // A command is kept with the step that follows it, long before the next time is due.
  await expect.poll(() => kept.at(-1)?.model.sources.length).toBe(1);
  const from = kept.at(-1) as SimulationState;
  first.close();

  const second = new Simulation({ model: new Model({ winds, resolution: 10 }), session, from });
  await second.start();
  await expect.poll(() => statuses.at(-1)?.firstStep).toBe(from.step);
  await expect.poll(() => statuses.at(-1)?.step ?? 0).toBeGreaterThan(from.step);
  expect(statuses.at(-1)?.speed).toBe(5);
  expect(statuses.at(-1)?.sources).toMatchObject([{ id: 1, layer: 25 }]);
  second.close();
});
