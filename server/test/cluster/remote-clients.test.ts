import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGateway, createToken, createTokenKeys } from "@jecho/server";
import { ERRORS, JechoError } from "@jecho/shared";
import type { SharedState } from "@jecho/shared/internal";
import { expect, onTestFinished, test } from "vitest";
import type { Subject } from "../../src/access/subject.ts";
import { Members } from "../../src/cluster/members.ts";
import type { GatewayClusterOptions } from "../../src/cluster/open-interconnect.ts";
import type { RemoteClient } from "../../src/cluster/remote-client.ts";
import { RemoteClients, type RemoteHost } from "../../src/cluster/remote-clients.ts";
import { json, readTrunk, sendTrunk, TO_EDGE, TO_HOME } from "../../src/cluster/trunk.ts";
import { RawClient } from "../raw-client.ts";
import { listed } from "./joined.ts";

const OPTIONS = { limitBytes: 1 << 20, requestTimeoutMs: 60_000 };
const broughtTo = (object: string, version: number, state: string): SharedState => ({
  name: object,
  object,
  version,
  state,
  lazy: false,
});
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1);

/** An address of keys: its first answer has none that anybody uses, and the second one, which waits to be told, the others. */
class SlowKeys {
  readonly #asked: ServerResponse[] = [];
  readonly #server = createServer((_, response) => {
    if (this.#asked.push(response) === 1) response.end(JSON.stringify(this.#former));
  });
  readonly #former: object;

  constructor(former: object) {
    this.#former = former;
    onTestFinished(() => void this.#server.close());
  }

  async address(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  get isAskedAgain(): boolean {
    return this.#asked.length > 1;
  }

  answer(keys: object): void {
    this.#asked[1]?.end(JSON.stringify(keys));
  }
}

test("CON-6, CLU-1: what a client sends to a home that still checks its token waits, in order, and has a bound", async () => {
  const [former, newer] = [await createTokenKeys(), await createTokenKeys()];
  const slow = new SlowKeys(former.checking);
  const [one, other] = (await listed(2)) as [GatewayClusterOptions, GatewayClusterOptions];
  await using edge = await createGateway({ ...OPTIONS, cluster: one, tokens: { keys: newer.checking } });
  const keys = await slow.address();
  await using home = await createGateway({ ...OPTIONS, cluster: other, tokens: { keys } });
  await expect.poll(() => [edge, home].map(gateway => gateway.stats().gateways)).toEqual([2, 2]);
  const members = new Members(0, () => {});
  members.came(1);
  const object = upTo(100)
    .map(i => `object ${i}`)
    .find(id => !members.isHomeOf(id)) as string;
  const token = await createToken(newer.signing, { subject: "ana", can: ["share:**"] });
  const ask = async (): Promise<RawClient> => {
    const client = await RawClient.connect(edge, token);
    client.say({ kind: "OpenObject", request: 1, object, version: 1, state: "{}" });
    client.say({ kind: "ObjectUpdate", object, version: 2, state: '{"a":1}' });
    return client;
  };
  // Keys are read again for a token that names another one, but not at once.
  while (!slow.isAskedAgain) {
    using early = await ask();
    await Promise.race([early.closed, expect.poll(() => slow.isAskedAgain).toBe(true)]);
  }
  using few = await ask();
  using many = await ask();
  const state = JSON.stringify("x".repeat(OPTIONS.limitBytes - 1000));
  for (const i of upTo(30)) many.say({ kind: "ObjectUpdate", object, version: i + 2, state });
  expect(await many.closed).toMatchObject({ code: ERRORS.OVERLOADED[0] });
  slow.answer(newer.checking);
  const opened = await few.next("CopyUpdate");
  expect(opened).toMatchObject({ version: 1 });
  await few.isAlive();
});

test("CLU-1, RIGHT-4: an object's home takes what is brought when it has checked the token itself, of who may share it, and up to a bound", () => {
  const came: RemoteClient[] = [];
  const taken: SharedState[][] = [];
  const told: number[] = [];
  const carrier = {
    waitingBytes: 0,
    send: (parts: readonly Uint8Array[]) => void told.push(readTrunk(Buffer.concat(parts)).kind),
    end: () => {},
  };
  const host: Partial<RemoteHost> = {
    limits: { requestTimeoutMs: 1000, connectionQueueBytes: 0, waitingTotal: undefined as never },
    opened: client => void came.push(client),
    brings: (_, states) => void taken.push([...states]),
    left: () => {},
  };
  const clients = new RemoteClients(carrier, host as RemoteHost);
  const say = (kind: number, client: number, what: object): void => {
    const to = { ...carrier, send: (parts: readonly Uint8Array[]) => clients.message(Buffer.concat(parts)) };
    sendTrunk(to, kind, client, json(what));
  };
  for (const client of [1, 2]) say(TO_HOME.enters, client, { address: "7f000001", token: "", handover: "" });
  say(TO_HOME.brings, 1, [broughtTo("a", 1, "{}")]);
  say(TO_HOME.brings, 1, [broughtTo("b", 1, "{}")]);
  expect(taken).toEqual([]);
  const [first] = came;
  const check = (_: string, object: string): void => {
    if (object !== "a") throw new JechoError("RIGHT_MISSING", `lacks the right share:${object}`);
  };
  if (first !== undefined) first.subject = { check } as unknown as Subject;
  first?.greeted();
  expect(taken).toEqual([[broughtTo("a", 1, "{}")]]);
  expect(told).toEqual([TO_EDGE.send]);
  for (let i = 0; i < 17; i++) say(TO_HOME.brings, 2, [broughtTo("a", 1, "x".repeat(1 << 20))]);
  expect(told.at(-1)).toBe(TO_EDGE.ends);
});
