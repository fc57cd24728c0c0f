import { Dice } from "@jecho/e2e/dice";
import { createGateway } from "@jecho/server";
import { expect, test } from "vitest";
import { ConsumerModel, type How } from "./consumer-model.ts";

/** How long new seeds are tried; `CONSUMER_MODEL_SECONDS=600 npx vitest run server/test/consumer-model.test.ts` for longer. */
const SECONDS = Number(process.env["CONSUMER_MODEL_SECONDS"] ?? 3);
const STEPS = 60;
const MOST_CLIENTS = 5;
const MOST_CONSUMERS = 12;
const KEYS = ["x", "y", "z"];
const PATIENT = { installTimeoutMs: 1e6, requestTimeoutMs: 1e6 };

/** Some one thing happens. */
async function step(model: ConsumerModel, dice: Dice): Promise<string> {
  const { clients, reads } = model;
  const client = dice.of(clients);
  const read = dice.of(reads);
  const asked = dice.of(reads.filter(({ installed }) => installed?.is === "asked"));
  const open = dice.of(
    reads.flatMap(one =>
      one.consumers.filter(({ is }) => is === "open").map(consumer => ({ one, consumer })),
    ),
  );
  const action = dice.of([
    "connect",
    "open",
    "open",
    "open",
    "close",
    "answer",
    "answer",
    "end",
    "fail",
    "hand",
  ]);
  switch (action) {
    case "connect":
      if (clients.length < MOST_CLIENTS) await model.connect();
      break;
    case "open": {
      const how = dice.of<How>(["fresh", "fresh", "back", "slowly"]) ?? "fresh";
      if (client !== undefined && read !== undefined && read.consumers.length < MOST_CONSUMERS)
        model.open(client, read, how);
      break;
    }
    case "close":
      if (open !== undefined) model.close(open.one, open.consumer);
      break;
    case "answer":
      if (asked !== undefined) model.answer(asked, dice.below(3) > 0);
      break;
    case "end":
      if (client !== undefined && dice.below(2) === 0) await model.end(client, dice.below(3) > 0);
      break;
    case "fail":
      if (read !== undefined && dice.below(3) === 0) model.fail(read);
      break;
    case "hand":
      if (client !== undefined && clients.length < MOST_CLIENTS && dice.below(3) === 0)
        await model.handOver(client);
      break;
    default:
  }
  return action ?? "";
}

test("HIST-4: a replay however slow keeps no timer busy", async () => {
  const warnings: string[] = [];
  const warned = ({ name }: Error): unknown => warnings.push(name);
  process.on("warning", warned);
  try {
    await using gateway = await createGateway();
    const model = await ConsumerModel.start(gateway, [], true);
    await model.connect();
    for (const read of model.reads) for (const client of model.clients) model.open(client, read, "slowly");
    await model.check();
    await model.empty();
  } finally {
    process.off("warning", warned);
  }
  expect(warnings).not.toContain("TimeoutOverflowWarning");
});

async function play(seed: number, keeps: boolean): Promise<void> {
  // Nobody's time is over while the test runs.
  await using gateway = await createGateway({ ...PATIENT, resumeWindowMs: 1e6, handoverMs: 1e6 });
  const model = await ConsumerModel.start(gateway, KEYS, keeps);
  const dice = new Dice(seed);
  const done: string[] = [];
  try {
    await model.connect();
    for (let i = 0; i < STEPS; i++) {
      done.push(await step(model, dice));
      await model.check();
    }
  } catch (error) {
    throw new Error(`seed ${seed}, ${keeps}, after ${done.join(" ")}`, { cause: error });
  } finally {
    await model.empty();
  }
}

test("CHAN-6, DEL-7, MOE-6: whatever becomes of consumers, producers are told how many there are, and nothing is kept for nobody", async () => {
  const until = performance.now() + 1000 * SECONDS;
  for (let seed = 1; seed <= 4 || performance.now() < until; seed++) await play(seed, seed % 2 === 0);
});

test("MOE-6, DEL-7: when all have gone for good, and nobody came back in time, the gateway keeps nothing of them", async () => {
  const limit = 20;
  await using gateway = await createGateway({
    ...PATIENT,
    resumeWindowMs: 20,
    modulatorsPerConnection: limit,
  });
  const model = await ConsumerModel.start(gateway, KEYS, false);
  const dice = new Dice(1);
  await model.connect();
  // What comes of each is not foreseen here, for times are over in between.
  for (let i = 0; i < 3 * STEPS; i++) await step(model, dice);
  await model.connect();
  const last = model.clients.at(-1);
  const [read] = model.reads.slice(1);
  if (last === undefined || read === undefined) throw new Error("there is nobody");
  for (let i = 0; i <= limit; i++) model.open(last, read, "fresh");
  const refused = await last.raw.next("Refused");
  expect(refused.request).toBe(last.nextRequest - 1);
  await model.empty();
  await expect
    .poll(() => gateway.stats())
    .toEqual({
      connections: 0,
      channels: 0,
      derivedChannels: 0,
      historyBytes: 0,
      historyWaitingBytes: 0,
      blocking: 0,
      gateways: 1,
      queueBytes: 0,
    });
});
