import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { connect } from "@jecho/client";
import { startCutter } from "@jecho/e2e/cutter";
import { Dice } from "@jecho/e2e/dice";
import { expect, inject, test } from "vitest";
import { EVEN, PATIENT, startRig, Tick, whenState } from "./rig.ts";

const QUICK = { backoff: { firstMs: 10, mostMs: 50 }, modulators: PATIENT };
const ROUNDS = 24;
const BATCH = 20;

test("WIRE-9: with checksums bits that flip anywhere on the way, to and from either side, change and cost no event", async () => {
  await using rig = await startRig({ checksums: true, heartbeatMs: 200 });
  await using wayThere = await startCutter(rig.gateway.address);
  await using wayBack = await startCutter(rig.gateway.address);
  await using producing = connect(wayThere.address, { ...QUICK, name: "producing", place: inject("place") });
  await using consuming = connect(wayBack.address, { ...QUICK, name: "consuming", place: inject("place") });
  let broken = 0;
  for (const session of [producing, consuming])
    session.onStatus(({ state }) => void (state === "reconnecting" && broken++));
  const producer = await producing.channel("a", Tick).produce({ history: { events: 10_000 } });
  const [all, evens]: [string[], string[]] = [[], []];
  const channel = consuming.channel("a", Tick);
  const plain = await channel.subscribe(({ n, note }) => void all.push(`${n} ${note}`));
  const modulated = await channel.subscribe(({ n, note }) => void evens.push(`${n} ${note}`), {
    modulator: EVEN,
  });
  const dice = new Dice(5);
  const expected: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const way = dice.coin ? wayThere : wayBack;
    way.flip(dice.coin ? "to" : "from", dice.below(1000) / 1000);
    for (let i = 0; i < BATCH; i++) {
      const n = expected.length;
      const note = `the ${n}th of many`;
      producer.publish({ n, note });
      expected.push(`${n} ${note}`);
    }
    await expect.poll(() => [all.length, evens.length]).toEqual([expected.length, expected.length / 2]);
    for (const session of [producing, consuming]) {
      if (session.status.state !== "live") await whenState(session, "live");
      await session.flush();
    }
  }
  expect(all).toEqual(expected);
  expect(evens).toEqual(expected.filter((_, n) => n % 2 === 0));
  expect([plain.stats.missed, modulated.stats.missed]).toEqual([0, 0]);
  // Nearly each flip was found: a few hit the frames of WebSocket itself.
  expect(broken).toBeGreaterThan(ROUNDS / 2);
});

test("WIRE-9: a client that offers no checksums is told which subprotocol the gateway speaks", async () => {
  await using rig = await startRig({ checksums: true });
  const socket = request(`http://${rig.gateway.address}/`, {
    headers: {
      connection: "upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      "sec-websocket-protocol": "jecho.1",
    },
  }).end();
  const [response] = (await once(socket, "response")) as [IncomingMessage];
  expect([response.statusCode, await text(response)]).toEqual([
    400,
    expect.stringContaining("jecho.1.crc32"),
  ]);
});
