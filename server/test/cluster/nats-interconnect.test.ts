import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { startCutter } from "@jecho/e2e/cutter";
import { TestNats, whyNoNats } from "@jecho/e2e/nats";
import { selfSigned, tlsFiles } from "@jecho/e2e/self-signed";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { describe, expect, onTestFinished, test } from "vitest";
import { Joined } from "./joined.ts";

/** Longer than a lease lives. */
const STOPPED_MS = 3500;

const withoutNats = await whyNoNats();

async function startNats(config?: string): Promise<TestNats> {
  const nats = await TestNats.start(config);
  onTestFinished(() => nats.stop());
  return nats;
}

function open(nats: TestNats, more: object = {}): Promise<Joined> {
  return Joined.open({ nats: { servers: [nats.address], ...more } });
}

/** A connection of the test's own. */
async function look(nats: TestNats): Promise<NatsConnection> {
  const connection = await connect({ servers: nats.address });
  onTestFinished(() => connection.close());
  return connection;
}

describe.skipIf(withoutNats)("by NATS", () => {
  test("CLU-6: members with another prefix are another cluster's", async () => {
    const nats = await startNats();
    const [one, other] = [await open(nats), await open(nats)];
    const [third, fourth] = [await open(nats, { prefix: "b" }), await open(nats, { prefix: "b" })];
    await one.wayTo(other);
    await third.wayTo(fourth);
    for (const joined of [one, other, third, fourth]) expect(joined.members.size).toBe(1);
    expect(one.interconnect.identity).not.toBe(third.interconnect.identity);
  });

  test("CLU-6: a gateway knows all members once it has started", async () => {
    const nats = await startNats();
    for (let others = 0; others < 8; others++) expect((await open(nats)).members.size).toBe(others);
  });

  test("CLU-6: a gateway that is a member again knows by then who has come and gone meanwhile", async () => {
    const nats = await startNats();
    await using cutter = await startCutter(nats.address);
    const [one, gone] = [await open(nats, { servers: [cutter.address] }), await open(nats)];
    await one.wayTo(gone);
    cutter.part();
    await expect.poll(() => one.history).toEqual(["parted"]);
    await gone.interconnect.stop();
    const come = await open(nats);
    cutter.join();
    while (!one.interconnect.isMember) await setImmediate();
    expect([...one.members]).toEqual([come.self]);
  });

  test("CLU-8: a gateway that was stopped for longer than its lease knows at once that it is no member", async () => {
    const nats = await startNats();
    const one = await open(nats);
    expect(one.interconnect.isMember).toBe(true);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STOPPED_MS);
    expect(one.interconnect.isMember).toBe(false);
    // Nobody has taken over from it.
    await expect.poll(() => one.history).toEqual(["parted", "rejoined"]);
    expect(one.interconnect.isMember).toBe(true);
  });

  test("CLU-8: a gateway whose lease others have ended hears that they have taken over", async () => {
    const nats = await startNats();
    const one = await open(nats);
    const bucket = await new Kvm(await look(nats)).open("jecho");
    await bucket.delete(String(one.self));
    await expect.poll(() => one.history).toEqual(["parted", "replaced"]);
    expect(one.interconnect.isMember).toBe(true);
  });

  test("CLU-8: a member that does not renew its lease is none any more", async () => {
    const nats = await startNats();
    const [one, other] = [await open(nats), await open(nats)];
    const bucket = await new Kvm(await look(nats)).open("jecho");
    const dead = [...Array(3).keys()].find(index => index !== one.self && index !== other.self) as number;
    await bucket.put(String(dead), JSON.stringify({ version: 2, id: "dead", host: "elsewhere" }));
    for (const { members } of [one, other]) await expect.poll(() => members.has(dead)).toBe(true);
    for (const { members } of [one, other]) await expect.poll(() => members.has(dead)).toBe(false);
    expect((await bucket.get(String(dead)))?.operation).toBe("DEL");
    expect([one.history, other.history]).toEqual([[], []]);
  });

  test("CLU-8: a gateway whose index is another's by now ends", async () => {
    const nats = await startNats();
    const one = await open(nats);
    const bucket = await new Kvm(await look(nats)).open("jecho");
    await bucket.put(String(one.self), JSON.stringify({ version: 2, id: "another", host: "elsewhere" }));
    await expect.poll(() => one.history).toEqual(["parted", "expelled"]);
    expect(one.interconnect.isMember).toBe(false);
  });

  test("CLU-8: where NATS has lost the list of members, and has begun another, they end", async () => {
    const nats = await startNats();
    const one = await open(nats);
    const streams = await look(nats);
    await streams.request("$JS.API.STREAM.DELETE.KV_jecho");
    await expect.poll(() => one.history).toEqual(["parted", "expelled"]);
  });

  test("CLU-9: while NATS is away nobody is a member, nor has left; when it is back all go on", async () => {
    const nats = await startNats();
    const all = [await open(nats), await open(nats)] as const;
    const [one, other] = all;
    const { near, far } = await one.wayTo(other);
    await nats.kill();
    await expect.poll(() => near.hasEnded && far.hasEnded).toBe(true);
    expect(all.map(({ interconnect }) => interconnect.isMember)).toEqual([false, false]);
    await nats.restart();
    const again = await one.wayTo(other);
    again.near.carrier.send([Uint8Array.of(1)]);
    await expect.poll(() => again.far.messages.length).toBe(1);
    expect(all.map(({ members }) => members.size)).toEqual([1, 1]);
    for (const { history } of all) expect(history).toHaveLength(2);
  });

  test("CLU-9: a NATS server that answers nothing any more is as one that is away", async () => {
    const nats = await startNats();
    const one = await open(nats);
    nats.signal("SIGSTOP");
    await expect.poll(() => one.history).toEqual(["parted"]);
    nats.signal("SIGCONT");
    await expect.poll(() => one.interconnect.isMember).toBe(true);
  });

  test("CLU-7: what comes twice by NATS ends the carrier, and is handed on once", async () => {
    const nats = await startNats();
    const [one, other] = [await open(nats), await open(nats)];
    const { near, far } = await one.wayTo(other);
    const spy = await look(nats);
    const again = spy.subscribe("jecho.way.>", {
      max: 1,
      callback: (_, { subject, data }) => spy.publish(subject, data),
    });
    await spy.flush();
    near.carrier.send([Uint8Array.of(5)]);
    await again.closed;
    await expect.poll(() => near.hasEnded && far.hasEnded).toBe(true);
    expect(far.messages).toEqual([Uint8Array.of(5)]);
    await one.wayTo(other);
  });

  test("CLU-6: to a NATS server with TLS they go by its certificate alone", async () => {
    const files = await tlsFiles(selfSigned("localhost"));
    const { certFile, keyFile } = files.tls;
    const nats = await startNats(
      await fileWith(`tls { cert_file: "${certFile}", key_file: "${keyFile}" }\n`),
    );
    const servers = [`tls://localhost:${nats.address.split(":")[1]}`];
    const [one, other] = [
      await open(nats, { servers, caFile: certFile }),
      await open(nats, { servers, caFile: certFile }),
    ];
    await one.wayTo(other);
    await expect(open(nats, { servers })).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
  });

  test.each([
    ["a user and a password", 'user: sim, password: "s3:cret"', "sim:s3:cret"],
    [
      "an nkey",
      "users: [{ nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 }]",
      "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY",
    ],
  ])(
    "CLU-6: a NATS server that wants %s gets it from a file, and lets in nobody else",
    async (_, rule, credentials) => {
      const nats = await startNats(await fileWith(`authorization { ${rule} }\n`));
      const credentialsFile = await fileWith(`${credentials}\n`);
      const [one, other] = [await open(nats, { credentialsFile }), await open(nats, { credentialsFile })];
      await one.wayTo(other);
      await expect(open(nats)).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
    },
  );
});

async function fileWith(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "file"), text);
  return join(folder, "file");
}
