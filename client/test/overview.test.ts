import { connect, modulatorFrom, type } from "@jecho/client";
import { createGateway, createToken, createTokenKeys } from "@jecho/server";
import { expect, test } from "vitest";

const Reading = type("Reading", { n: "uint32" });

test("RIGHT-11: an overview shows channels with what is derived of them, and what modulators use", async () => {
  await using gateway = await createGateway();
  await using producing = connect(gateway.address);
  await using consuming = connect(gateway.address, { name: "apart" });
  const producer = await producing.channel("a/one", Reading).produce({ history: { events: 10 } });
  const other = await producing.channel("b", Reading).produce();
  const seen: number[] = [];
  const channel = consuming.channel("a/one", Reading);
  await channel.subscribe(() => {});
  await channel.subscribe(({ n }) => seen.push(n), {
    modulator: modulatorFrom(event => event.n > 7),
    as: "many",
  });
  for (let n = 1; n <= 10; n++) producer.publish({ n });
  await expect.poll(() => seen.length).toBe(3);
  const { of, ...counts } = await consuming.overview("a/**");
  expect(counts).toEqual({ connections: 2, channels: 2, matching: 1 });
  expect(of).toMatchObject([
    { name: "a/one", types: ["Reading"], producers: 1, consumers: 1, events: 10, dropped: 0, blocked: false },
  ]);
  const [{ bytes, historyBytes, derived } = { bytes: 0, historyBytes: 0, derived: [] }] = of;
  expect(bytes).toBeGreaterThan(10 * 8);
  expect(historyBytes).toBeGreaterThan(0);
  expect(derived).toMatchObject([
    {
      names: ["many"],
      behind: 0,
      by: "",
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      consumers: 1,
      events: 3,
    },
  ]);
  expect(derived[0]?.places).toMatchObject([
    { at: "producer", code: undefined, processes: 1, tier: "compiled", events: 10, dropped: 0, restarts: 0 },
  ]);
  expect(derived[0]?.places[0]?.producers).toHaveLength(1);
  expect((await consuming.overview()).of.map(({ name }) => name)).toEqual(["a/one", "b"]);
  await expect(consuming.overview("a//b")).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
  await other.close();
});

test("RIGHT-11: whoever asks is shown the channels alone that the right is for, and a longer pattern than that is refused", async () => {
  const { signing, checking } = await createTokenKeys();
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const as = async (subject: string, can: readonly string[]) =>
    connect(gateway.address, { token: await createToken(signing, { subject, can }) });
  await using owner = await as("sim", ["publish:**"]);
  for (const name of ["a/b", "a/c/d"]) await owner.channel(name).produce();
  await using operator = await as("ana", ["inspect:a/*", "subscribe:a/b", "modulate:a/b"]);
  expect((await operator.overview("a/*")).of.map(({ name }) => name)).toEqual(["a/b"]);
  // The star of a right stands for one segment, whatever stands there in a pattern.
  expect((await operator.overview("a/**")).of.map(({ name }) => name)).toEqual(["a/b"]);
  await expect(operator.overview()).rejects.toMatchObject({
    code: "RIGHT_MISSING",
    message: "ana lacks the right inspect:**",
  });
  const modulator = modulatorFrom(() => true);
  await operator.channel("a/b").subscribe(() => {}, { modulator });
  expect((await operator.overview("a/*")).of[0]?.derived).toMatchObject([{ by: "ana" }]);
});
