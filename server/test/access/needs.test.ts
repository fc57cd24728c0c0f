import { readFile } from "node:fs/promises";
import { createGateway, createToken, createTokenKeys, RIGHTS } from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { FROM, type Outgoing, WHEN_FULL } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import { RawClient } from "../raw-client.ts";

const { signing, checking } = await createTokenKeys();
const read = (path: string): Promise<string> =>
  readFile(new URL(`../../../${path}`, import.meta.url), "utf8");

const request = 1;
const modulator = { source: "", parameters: "", key: "", objects: [], capabilities: [], compares: false };
const from = { epoch: 0, seq: 1n, at: 1, speed: 0 };
const object = { name: "o", object: "view", version: 1, state: "{}", lazy: false };
const consumer = { kind: "OpenConsumer", request, channel: "a/b" } as const;

/** Everything that takes a right, and the right. */
const NEEDS: readonly [what: string, frame: Outgoing, right: string][] = [
  ["a producer", { kind: "OpenProducer", request, channel: "a/b" }, "publish:a/b"],
  [
    "a producer of a derived channel",
    { kind: "OpenProducer", request, channel: "a/b#hot" },
    "publish:a/b#hot",
  ],
  ["a consumer", consumer, "subscribe:a/b"],
  ["a consumer of a derived channel", { ...consumer, channel: "a/b#hot" }, "subscribe:a/b#hot"],
  ["a modulator", { ...consumer, modulator }, "modulate:a/b"],
  [
    "a modulator that compares itself with others",
    { ...consumer, modulator: { ...modulator, compares: true } },
    "modulate:a/b",
  ],
  ["a modulator behind another", { ...consumer, channel: "a/b#hot", modulator }, "modulate:a/b#hot"],
  [
    "a modulator that steers",
    { ...consumer, modulator: { ...modulator, source: 'static needs = ["controls.speed"]' } },
    "control:a/b",
  ],
  [
    "a modulator with capabilities",
    { ...consumer, modulator: { ...modulator, capabilities: ["secret"] } },
    "control:a/b",
  ],
  [
    "a modulator that brings or reads a shared object",
    { ...consumer, modulator: { ...modulator, objects: [object] } },
    "share:view",
  ],
  ["a name", { ...consumer, modulator, as: "hot" }, "name:a/b#hot"],
  ["a name for what has one", { ...consumer, channel: "a/b#hot", modulator, as: "cold" }, "name:a/b#cold"],
  ["the newest events", { ...consumer, from: { ...from, from: FROM.last } }, "history:a/b"],
  ["a place in the past", { ...consumer, from: { ...from, from: FROM.seq } }, "history:a/b"],
  ["a time in the past", { ...consumer, from: { ...from, from: FROM.time } }, "history:a/b"],
  ["blocking", { ...consumer, queue: { whenFull: WHEN_FULL.block, limitBytes: 0 } }, "block:a/b"],
  ["what feeds another's modulator", { ...consumer, feed: { process: 1, channel: 1 } }, "subscribe:a/b"],
  [
    "what feeds another's modulator, under the name of what that makes",
    { ...consumer, channel: "a/b#hot", feed: { process: 1, channel: 1 } },
    "subscribe:a/b",
  ],
  ["a shared object", { kind: "OpenObject", request, object: "view" }, "share:view"],
  [
    "a new shared object",
    { kind: "OpenObject", request, object: "view", version: 1, state: "{}" },
    "share:view",
  ],
  ["the types of a channel", { kind: "WantTypes", request, channel: "a/b" }, "subscribe:a/b"],
  ["looking at channels", { kind: "WantOverview", request, pattern: "a/b" }, "inspect:a/b"],
  ["ending others' connections", { kind: "Kick", request, subject: "bob" }, "kick:bob"],
];

/** All rights to these things but one. */
function allBut(right: string): string[] {
  const things = ["a/b", "a/b#hot", "a/b#cold", "view", "bob"];
  const all = RIGHTS.flatMap(name => things.map(thing => `${name}:${thing}`));
  // That to a channel is one to what is derived from it.
  return all.filter(one => one !== right && !right.startsWith(`${one}#`));
}

test.for(NEEDS)("RIGHT-4: %s takes the right to that", async ([, frame, right]) => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const answer = async (can: readonly string[]): Promise<object> => {
    using client = await RawClient.connect(gateway, await createToken(signing, { subject: "ana", can }));
    client.say(frame);
    await client.isAlive();
    return client.frames.find(({ kind }) => kind === "Refused") ?? {};
  };
  expect(await answer(allBut(right))).toMatchObject({
    request,
    code: ERRORS.RIGHT_MISSING[0],
    message: `ana lacks the right ${right}`,
  });
  expect(gateway.stats()).toMatchObject({ channels: 0, derivedChannels: 0 });
  const other = await answer(["*:**"]);
  expect(other).not.toMatchObject({ code: ERRORS.RIGHT_MISSING[0] });
});

test("RIGHT-4: to say where a producer's source has ended takes the right to publish", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const token = await createToken(signing, { subject: "ana", can: allBut("publish:a/b") });
  using client = await RawClient.connect(gateway, token);
  client.say({ kind: "Departed", channel: "a/b", source: 7n, raised: 3n });
  expect(await client.next("Fault")).toMatchObject({ message: "ana lacks the right publish:a/b" });
});

test("RIGHT-4: a handover takes the right to it for each channel that the session has consumers of", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const can = ["subscribe:**", "handover:a"];
  using client = await RawClient.connect(gateway, await createToken(signing, { subject: "ana", can }));
  const open = async (channel: string): Promise<void> => {
    client.say({ ...consumer, channel });
    await client.next("ConsumerOpened");
  };
  await open("a");
  client.say({ kind: "AskHandover", request });
  await client.next("HandoverToken");
  await open("b");
  client.say({ kind: "AskHandover", request });
  expect(await client.next("Refused")).toMatchObject({ message: "ana lacks the right handover:b" });
});

test("SECURITY.md says of each frame that a client may send which rights it takes", async () => {
  const [, union = ""] = /union Control \{([^}]*)\}/.exec(await read("shared/schema/frame.fbs")) ?? [];
  const kinds = ["Events", "Ack", "Processed", ...union.split(/[,\s]+/).filter(kind => kind !== "")];
  const rows = [
    ...(await read("SECURITY.md")).matchAll(/^\| ((?:`\w+`(?:, )?)+)[^|]*\| ([^|]*) \|/gm),
  ].filter(([, , right = ""]) => /^(none|`\w+`)/.test(right));
  const told = new Map<string, Set<string>>();
  for (const [, names = "", needed = ""] of rows)
    for (const [, name = ""] of names.matchAll(/`(\w+)`/g)) {
      const rights = [...needed.matchAll(/`(\w+)`/g)].map(([, right = ""]) => right);
      told.set(name, new Set([...(told.get(name) ?? []), ...rights]));
    }
  const needed = new Map([
    ["AskHandover", new Set(["handover"])],
    ["Departed", new Set(["publish"])],
  ]);
  for (const [, { kind }, right] of NEEDS)
    needed.set(kind, (needed.get(kind) ?? new Set()).add(right.split(":")[0] as string));
  for (const kind of told.keys()) expect(kinds, kind).toContain(kind);
  for (const [kind, rights] of told) expect(rights, kind).toEqual(needed.get(kind) ?? new Set());
  for (const kind of needed.keys()) expect([...told.keys()]).toContain(kind);
  // What is not in the table ends the connection.
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const token = await createToken(signing, { subject: "ana", can: ["*:**"] });
  const others = kinds.filter(kind => !told.has(kind) && kind !== "Processed");
  expect(others.length).toBeGreaterThan(20);
  for (const kind of others) {
    using client = await RawClient.connect(gateway, token);
    client.say({ kind } as Outgoing);
    expect((await client.closed).code, kind).toBe(ERRORS.FRAME_UNEXPECTED[0]);
  }
});
