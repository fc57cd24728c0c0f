import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createGateway,
  createToken,
  createTokenKeys,
  type Gateway,
  lineLog,
  type TokenClaims,
} from "@jecho/server";
import { ERRORS } from "@jecho/shared";
import { encodeControl, FROM, PROTOCOL } from "@jecho/shared/internal";
import { importJWK, SignJWT } from "jose";
import { expect, test } from "vitest";
import { encodedRun, RawClient } from "../raw-client.ts";

const { signing, checking } = await createTokenKeys();
const ALL = ["*:**"];

function tokenOf(claims: Partial<TokenClaims> = {}, keys = signing): Promise<string> {
  return createToken(keys, { subject: "ana", can: ALL, ...claims });
}

/** Greets with a token. @returns why the gateway ends that; undefined where it does not */
async function refusalOf(gateway: Gateway, token: string): Promise<string | undefined> {
  using client = await RawClient.connect(gateway, false);
  client.say({ kind: "Hello", protocol: PROTOCOL, token });
  const admitted = client.next("Admitted").then(
    () => undefined,
    () => client.closed,
  );
  const closed = await Promise.race([admitted, client.closed]);
  if (closed !== undefined) expect(closed.code).toBe(ERRORS.TOKEN_INVALID[0]);
  return closed?.reason;
}

test.for(["EdDSA", "ES256", "RS256", "HS256"] as const)(
  "RIGHT-1: a token that is signed with %s is taken by who has the key, and by nobody else",
  async algorithm => {
    const [keys, others] = [await createTokenKeys(algorithm), await createTokenKeys(algorithm)];
    await using gateway = await createGateway({ tokens: { keys: keys.checking } });
    expect(await refusalOf(gateway, await tokenOf({}, keys.signing))).toBeUndefined();
    expect(await refusalOf(gateway, await tokenOf({}, others.signing))).toContain(
      "the one key that it names",
    );
  },
);

test("RIGHT-1: without a token nobody gets in, and the gateway says whose the token is and how long it is good", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  expect(await refusalOf(gateway, "")).toBe("TOKEN_INVALID: this gateway wants a token");
  expect(await refusalOf(gateway, "nonsense")).toContain("the token is not taken");
  expect(await refusalOf(gateway, "x".repeat(20_000))).toContain("16384");
  using client = await RawClient.connect(gateway, await tokenOf({ seconds: 100 }));
  const { subject, forMs } = await client.next("Admitted");
  expect(subject).toBe("ana");
  expect(forMs).toBeGreaterThan(90_000);
  expect(forMs).toBeLessThan(104_000);
});

test("RIGHT-1, F16: what was forged is not taken: no algorithm, another one than the key's, other contents", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const [head = "", body = "", signature = ""] = (await tokenOf()).split(".");
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const { kid } = JSON.parse(Buffer.from(head, "base64url").toString()) as { kid: string };
  const claims = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
  expect(await refusalOf(gateway, `${encode({ alg: "none" })}.${body}.`)).toContain("not taken");
  expect(await refusalOf(gateway, `${encode({ alg: "none", kid })}.${body}.${signature}`)).toContain(
    "not taken",
  );
  expect(await refusalOf(gateway, `${head}.${encode({ ...claims, sub: "eve" })}.${signature}`)).toContain(
    "not taken",
  );
  // Key confusion: the public key, which is no secret, as one.
  const [known] = checking.keys;
  const secrets = [JSON.stringify(checking), JSON.stringify(known), String(known?.x)];
  for (const secret of secrets) {
    const forged = await new SignJWT({ can: ALL })
      .setProtectedHeader({ alg: "HS256", kid })
      .setSubject("eve")
      .setExpirationTime("1 h")
      .sign(new TextEncoder().encode(secret.padEnd(32)));
    expect(await refusalOf(gateway, forged)).toContain("the one key that it names");
  }
});

test("RIGHT-1, F16: issuer, audience, times and form are looked at", async () => {
  const tokens = { keys: checking, issuer: "us", audience: "gateway", clockSkewMs: 0 };
  await using gateway = await createGateway({ tokens });
  const good = { issuer: "us", audience: "gateway" };
  expect(await refusalOf(gateway, await tokenOf(good))).toBeUndefined();
  expect(await refusalOf(gateway, await tokenOf({ ...good, issuer: "them" }))).toContain('"iss"');
  expect(await refusalOf(gateway, await tokenOf({ ...good, audience: "another" }))).toContain('"aud"');
  expect(await refusalOf(gateway, await tokenOf({ audience: "gateway" }))).toContain('"iss"');
  expect(await refusalOf(gateway, await tokenOf({ ...good, seconds: -1 }))).toContain('"exp"');
  expect(await refusalOf(gateway, await tokenOf({ ...good, subject: "" }))).toContain("its subject (sub)");
  expect(await refusalOf(gateway, await tokenOf({ ...good, subject: "a\nb" }))).toContain(
    "its subject (sub)",
  );
  const sign = async (claims: Record<string, unknown>): Promise<string> => {
    const { kid, alg = "", ...key } = signing.keys[0] ?? {};
    const token = new SignJWT(claims).setProtectedHeader({ alg, ...(kid !== undefined && { kid }) });
    return token.sign(await importJWK(key, alg));
  };
  const whole = { sub: "ana", exp: Date.now() / 1000 + 100, iss: "us", aud: "gateway" };
  expect(await refusalOf(gateway, await sign({ ...whole, can: ALL }))).toBeUndefined();
  expect(await refusalOf(gateway, await sign({ ...whole, can: "*:**" }))).toContain("its rights (can)");
  expect(await refusalOf(gateway, await sign({ ...whole, can: ["fly:**"] }))).toContain(
    '"fly:**" is no right',
  );
  expect(await refusalOf(gateway, await sign({ ...whole, nbf: whole.exp }))).toContain('"nbf"');
  const { exp: _, ...endless } = whole;
  expect(await refusalOf(gateway, await sign(endless))).toContain('"exp"');
});

test("RIGHT-1: keys that are exchanged in their file, or at their address, count without a new start", async () => {
  const [first, second] = [await createTokenKeys("ES256"), await createTokenKeys("ES256")];
  const file = join(await mkdtemp(join(tmpdir(), "jecho-")), "keys.pub");
  await writeFile(file, JSON.stringify(first.checking));
  let shown = first.checking;
  const site = createServer((_, response) => response.end(JSON.stringify(shown)));
  await new Promise<void>(resolve => site.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(site.address() as AddressInfo).port}/keys`;
  try {
    await using fromFile = await createGateway({ tokens: { keys: file } });
    await using fromSite = await createGateway({ tokens: { keys: address } });
    const old = await tokenOf({}, first.signing);
    for (const gateway of [fromFile, fromSite]) expect(await refusalOf(gateway, old)).toBeUndefined();
    await writeFile(file, JSON.stringify(second.checking));
    shown = second.checking;
    const anew = await tokenOf({}, second.signing);
    for (const gateway of [fromFile, fromSite]) {
      await expect.poll(() => refusalOf(gateway, anew)).toBeUndefined();
      expect(await refusalOf(gateway, old)).toContain("the one key that it names");
    }
  } finally {
    site.close();
  }
});

test("RIGHT-1, row 57: keys without end are read no further, and those that were read before go on", async () => {
  let isEndless = false;
  let isCut = false;
  const site = createServer((_, response) => {
    if (!isEndless) return void response.end(JSON.stringify(checking));
    response.once("close", () => {
      isCut = true;
    });
    const more = (): void => {
      while (!response.closed && response.write(" ".repeat(1 << 16)));
    };
    response.on("drain", more);
    more();
  });
  await new Promise<void>(resolve => site.listen(0, "127.0.0.1", resolve));
  const keys = `http://127.0.0.1:${(site.address() as AddressInfo).port}/keys`;
  try {
    await using gateway = await createGateway({ tokens: { keys } });
    isEndless = true;
    await expect(createGateway({ tokens: { keys } })).rejects.toThrow(/more than 1048576 characters/);
    await expect.poll(() => isCut).toBe(true);
    expect(await refusalOf(gateway, await tokenOf())).toBeUndefined();
  } finally {
    site.closeAllConnections();
    site.close();
  }
});

test.for<[what: string, keys: string | { keys: object[] }]>([
  ["none at all", { keys: [] }],
  ["no set of keys", "package.json"],
  ["a file that is not there", "nowhere.json"],
  ["a private key", { keys: [...signing.keys] }],
  ["a short secret", { keys: [{ kty: "oct", k: "c2hvcnQ" }] }],
  ["a kind of key that is not used", { keys: [{ kty: "EC", crv: "P-384" }] }],
  ["a key that is for something else", { keys: [{ ...checking.keys[0], alg: "HS256" }] }],
  ["an address of another machine without https", "http://keys.example/keys"],
])("RIGHT-1: a gateway does not start with %s for keys", async ([, keys]) => {
  await expect(createGateway({ tokens: { keys } })).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
});

test("RIGHT-1: while a token is being looked at, nothing else may come", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const hello = encodeControl({ kind: "Hello", protocol: PROTOCOL, token: await tokenOf() });
  for (const next of [hello, encodeControl({ kind: "Ping", time: 1 })]) {
    using client = await RawClient.connect(gateway, false);
    client.send(hello);
    client.send(next);
    expect((await client.closed).code).toBe(ERRORS.FRAME_UNEXPECTED[0]);
  }
});

test("RIGHT-2: a newer token of the same subject is taken over the open connection, another one's is not", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  using client = await RawClient.connect(gateway, await tokenOf({ seconds: 100 }));
  await client.next("Admitted");
  client.say({ kind: "Token", token: await tokenOf({ seconds: 1000 }) });
  expect((await client.next("Admitted")).forMs).toBeGreaterThan(900_000);
  client.say({ kind: "Token", token: await tokenOf({ subject: "bob" }) });
  expect(await client.next("Fault")).toMatchObject({ code: ERRORS.TOKEN_INVALID[0] });
  client.say({ kind: "Token", token: "nonsense" });
  expect(await client.next("Fault")).toMatchObject({ code: ERRORS.TOKEN_INVALID[0] });
  await client.isAlive();
});

test("RIGHT-2: a token that lacks what the former one allowed ends the connection, one that allows more does not", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const [few, many] = [["subscribe:a"], ["publish:a", "subscribe:a"]];
  using client = await RawClient.connect(gateway, await tokenOf({ can: few }));
  await client.next("Admitted");
  client.say({ kind: "OpenProducer", request: 1, channel: "a" });
  expect((await client.next("Refused")).message).toBe("ana lacks the right publish:a");
  client.say({ kind: "Token", token: await tokenOf({ can: many }) });
  await client.next("Admitted");
  client.say({ kind: "OpenProducer", request: 2, channel: "a" });
  await client.next("ProducerOpened");
  client.say({ kind: "Token", token: await tokenOf({ can: few }) });
  expect((await client.closed).code).toBe(ERRORS.RIGHTS_CHANGED[0]);
  expect(gateway.stats()).toMatchObject({ connections: 0, channels: 0 });
});

test("RIGHT-2, F17: a connection whose token has become too old is ended within 5 s", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking, clockSkewMs: 0 } });
  using client = await RawClient.connect(gateway, await tokenOf({ seconds: 2 }));
  const { forMs } = await client.next("Admitted");
  const began = performance.now();
  expect((await client.closed).code).toBe(ERRORS.TOKEN_EXPIRED[0]);
  expect(performance.now() - began).toBeLessThan(forMs + 5000);
  expect(performance.now() - began).toBeGreaterThan(forMs - 100);
});

test("RIGHT-2: an operator ends a subject's connections, whose tokens count no more; those of others go on", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const token = await tokenOf();
  using one = await RawClient.connect(gateway, token);
  using two = await RawClient.connect(gateway, token);
  using bob = await RawClient.connect(gateway, await tokenOf({ subject: "bob", can: ["kick:ana"] }));
  one.say({ kind: "OpenConsumer", request: 1, channel: "a" });
  await one.next("ConsumerOpened");
  bob.say({ kind: "Kick", request: 7, subject: "bob" });
  expect(await bob.next("Refused")).toMatchObject({ request: 7, code: ERRORS.RIGHT_MISSING[0] });
  bob.say({ kind: "Kick", request: 8, subject: "ana" });
  expect(await bob.next("Kicked")).toMatchObject({ request: 8, connections: 2 });
  for (const { closed } of [one, two]) expect((await closed).code).toBe(ERRORS.KICKED[0]);
  // Nothing waits for the return of what it had.
  expect(gateway.stats()).toMatchObject({ connections: 1, channels: 0 });
  expect(await refusalOf(gateway, token)).toContain("refused the tokens");
  await bob.isAlive();
  // One that is made later is another matter: times in tokens are whole seconds.
  await expect.poll(async () => refusalOf(gateway, await tokenOf())).toBeUndefined();
});

test("CON-8: names that an operator kicks are such as subjects have, and count for him", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking }, keptBytes: 4 << 10 });
  using eve = await RawClient.connect(gateway, await tokenOf({ subject: "eve" }));
  const kick = async (subject: string): Promise<number> => {
    eve.say({ kind: "Kick", request: 1, subject });
    const answer = await eve.next("Kicked", "Refused");
    return answer.kind === "Kicked" ? 0 : answer.code;
  };
  for (const name of ["a\nb", "x".repeat(257)]) expect(await kick(name)).toBe(ERRORS.ARGUMENT_INVALID[0]);
  for (const name of ["1", "2", "3", "1", "4", "4"]) expect(await kick(name)).toBe(0);
  expect(await kick("5")).toBe(ERRORS.OVERLOADED[0]);
  expect(await kick("3")).toBe(0);
});

test("RIGHT-1: without keys everybody may do anything, and is nobody", async () => {
  await using gateway = await createGateway();
  using client = await RawClient.connect(gateway, await tokenOf({ can: [] }));
  client.say({ kind: "OpenProducer", request: 1, channel: "a" });
  await client.next("ProducerOpened");
  expect(client.frames.some(({ kind }) => kind === "Admitted")).toBe(false);
});

test("RIGHT-8: nobody raises events under another's name", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  using eve = await RawClient.connect(gateway, await tokenOf({ subject: "eve" }));
  using consumer = await RawClient.connect(gateway, await tokenOf());
  consumer.say({ kind: "OpenConsumer", request: 1, channel: "a" });
  await consumer.next("ConsumerOpened");
  eve.say({ kind: "OpenProducer", request: 1, channel: "a" });
  const { channel, producer } = await eve.next("ProducerOpened");
  eve.say({ kind: "Position", channel, producer, source: 7n, by: "ana" });
  expect(await consumer.next("Position")).toMatchObject({ producer, source: 7n, by: "eve" });
});

test("RIGHT-8: nobody has another's events taken for known ones by naming that one's source", async () => {
  await using gateway = await createGateway({ tokens: { keys: checking } });
  const open = async (subject: string) => {
    const client = await RawClient.connect(gateway, await tokenOf({ subject }));
    client.send(encodeControl({ kind: "OpenProducer", request: 1, channel: "a" }));
    const { channel, producer } = await client.next("ProducerOpened");
    const raise = (raised: number): void => {
      client.send(
        encodeControl({ kind: "Position", channel, producer, source: 7n, raised: BigInt(raised - 1) }),
      );
      client.send(encodedRun({ channel, producer, raised }));
    };
    return Object.assign(client, { raise });
  };
  using consumer = await RawClient.connect(gateway, await tokenOf());
  consumer.send(encodeControl({ kind: "OpenConsumer", request: 1, channel: "a" }));
  await consumer.next("ConsumerOpened");
  for (const [i, isThere] of [true, false].entries()) {
    const ana = await open("ana");
    ana.raise(2 * i + 1);
    await consumer.next("Events");
    if (!isThere) await ana.cut();
    using eve = await open("eve");
    eve.raise(1000);
    expect((await eve.closed).code).toBe(ERRORS.FRAME_UNEXPECTED[0]);
    const again = isThere ? ana : await open("ana");
    again.raise(2 * i + 2);
    expect(await consumer.next("Events")).toMatchObject({ raised: 2 * i + 2 });
    again[Symbol.dispose]();
  }
});

test("RIGHT-8: over a restart past events say who raised them, and a source is nobody else's", async () => {
  const historyFile = join(await mkdtemp(join(tmpdir(), "jecho-")), "history");
  const options = { tokens: { keys: checking }, historyFile };
  const history = { events: 10, seconds: 0, latest: false, onDemand: false, durable: false };
  const produce = async (gateway: Gateway, subject: string): Promise<RawClient> => {
    const client = await RawClient.connect(gateway, await tokenOf({ subject }));
    client.say({ kind: "OpenProducer", request: 1, channel: "a", history });
    const { channel, producer } = await client.next("ProducerOpened");
    client.say({ kind: "Position", channel, producer, source: 7n });
    client.send(encodedRun({ channel, producer, raised: 1 }));
    return client;
  };
  const names = async (gateway: Gateway): Promise<unknown[]> => {
    using client = await RawClient.connect(gateway, await tokenOf());
    const from = { from: FROM.seq, epoch: 0, seq: 1n, at: 0, speed: 0 };
    client.say({ kind: "OpenConsumer", request: 1, channel: "a", from });
    await client.next("Replayed");
    return [...new Set(client.frames.flatMap(frame => (frame.kind === "Position" ? [frame.by] : [])))];
  };
  {
    await using gateway = await createGateway(options);
    using bob = await produce(gateway, "bob of York");
    await bob.isAlive();
    expect(await names(gateway)).toEqual(["bob of York"]);
  }
  await using gateway = await createGateway(options);
  expect(await names(gateway)).toEqual(["bob of York"]);
  using eve = await produce(gateway, "eve");
  expect((await eve.closed).code).toBe(ERRORS.FRAME_UNEXPECTED[0]);
  using bob = await produce(gateway, "bob of York");
  await bob.isAlive();
});

test("F18: no token stands in a line of the gateway's log, or in why a connection was ended", async () => {
  const lines: string[] = [];
  await using gateway = await createGateway({
    tokens: { keys: checking },
    log: lineLog(line => lines.push(line)),
  });
  const token = await tokenOf();
  const [head = "", body = "", signature = ""] = token.split(".");
  const said: (string | undefined)[] = [];
  for (const bad of [
    `${token}x`,
    `${head}.${body}`,
    `${body}.${head}.${signature}`,
    `${token}.${token}`,
    `Bearer ${token}`,
  ])
    said.push(await refusalOf(gateway, bad));
  using client = await RawClient.connect(gateway, token);
  client.send(encodeControl({ kind: "Token", token: `${token}x` }));
  said.push((await client.next("Fault")).message);
  expect(said.every(why => why?.includes("not taken"))).toBe(true);
  for (const part of [head, body, signature])
    for (const text of [...lines, ...said]) expect(text).not.toContain(part);
});
