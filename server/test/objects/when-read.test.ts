import { type Control, type Modulator, parseMessage } from "@jecho/shared/internal";
import { expect, test } from "vitest";
import type { Connection, SendsPast } from "../../src/connections/connection.ts";
import { SharedObjects } from "../../src/objects/shared-objects.ts";

/** A process, how much waits in its socket, and what it was sent. */
function process() {
  const sent: Control[] = [];
  const state = { unreadBytes: 0 };
  const waiting = new Set<SendsPast>();
  const connection = {
    get bufferedBytes() {
      return state.unreadBytes;
    },
    checkKeeping() {},
    keep() {},
    send: (frame: Control) => void sent.push(frame),
    sendBytes(bytes: Uint8Array) {
      parseMessage(bytes.slice(), frame => sent.push(frame as Control));
      return true;
    },
    replaying: (one: SendsPast, is: boolean) => void (is ? waiting.add(one) : waiting.delete(one)),
    drained(): void {
      for (const one of [...waiting]) one.pump();
    },
  } as unknown as Connection;
  return {
    connection,
    state,
    /** What it was sent since the last call: the kinds of the frames, and their versions or writes. */
    news: () =>
      sent
        .splice(0)
        .map(frame => [frame.kind, "version" in frame ? frame.version : "write" in frame && frame.write]),
  };
}

const OPENS = {
  kind: "OpenObject",
  request: 1,
  object: "o",
  term: 0,
  terms: [],
  version: 0,
  state: "",
  lazy: false,
} as const;

function rig() {
  const objects = new SharedObjects(10);
  const [master, other] = [process(), process()];
  objects.open(master.connection, 1, { ...OPENS, version: 1, state: "{}" });
  objects.open(other.connection, 2, OPENS);
  for (const one of [master, other]) one.news();
  return {
    objects,
    master,
    other,
    update(version: number): void {
      const update = { object: "o", version, state: `{"n":${version}}`, derived: 0 };
      objects.update(master.connection, { kind: "ObjectUpdate", ...update }, new Uint8Array(0));
    },
  };
}

test("OBJ-12: a copy whose process does not read is told nothing newer, and the newest once it has read", () => {
  const { other, update } = rig();
  other.state.unreadBytes = 2 << 20;
  for (let version = 2; version < 100; version++) update(version);
  other.connection.drained();
  expect(other.news()).toEqual([]);
  other.state.unreadBytes = 0;
  other.connection.drained();
  expect(other.news()).toEqual([["CopyUpdate", 99]]);
  other.connection.drained();
  update(100);
  expect(other.news()).toEqual([["CopyUpdate", 100]]);
});

test("OBJ-12: a process with modulators that does not read is told the newest version once it has read", () => {
  const { objects, update } = rig();
  const runs = process();
  const modulator = { objects: [{ name: "o", object: "o", lazy: false }] } as unknown as Modulator;
  objects.use({
    channel: { number: 1 },
    modulator,
    connections: () => [runs.connection],
    isLazy: () => false,
  });
  runs.state.unreadBytes = 2 << 20;
  for (let version = 2; version < 100; version++) update(version);
  expect(runs.news()).toEqual([]);
  runs.state.unreadBytes = 0;
  runs.connection.drained();
  expect(runs.news()).toEqual([["ObjectUpdate", 99]]);
});

test("OBJ-12: writes wait, merged, for a master that does not read", () => {
  const { objects, master, other } = rig();
  master.state.unreadBytes = 2 << 20;
  for (let write = 1; write < 100; write++)
    objects.write(other.connection, {
      kind: "ObjectWrite",
      copy: 2,
      write,
      patch: `{"n":${write}}`,
      writer: 0,
      by: "",
    });
  expect(master.news()).toEqual([]);
  master.state.unreadBytes = 0;
  master.connection.drained();
  expect(master.news()).toEqual([["ObjectWrite", 99]]);
});
