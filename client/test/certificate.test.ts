import { writeFile } from "node:fs/promises";
import { connect as connectTls } from "node:tls";
import { connect, modulatorFrom } from "@jecho/client";
import { startModulating } from "@jecho/client/modulating";
import { selfSigned, tlsFiles } from "@jecho/e2e/self-signed";
import { createGateway, type Gateway, lineLog } from "@jecho/server";
import { afterEach, describe, expect, test, vi } from "vitest";

afterEach(() => vi.unstubAllEnvs());

/** @returns the name in the certificate that a client is shown which asks for this one */
function shown({ port }: Gateway, servername: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: "127.0.0.1", servername, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().subject.CN as string);
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

/** What these certificates say nobody can check: clients that would refuse them are told not to. */
const trustAll = (): void => void vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");

describe.for(["uWebSockets.js", "ws"] as const)("served by %s", server => {
  test("a gateway with a certificate is reached by https and wss alone", async () => {
    trustAll();
    const { tls } = await tlsFiles(selfSigned("first"));
    await using gateway = await createGateway({ server, tls });
    expect(gateway.url).toBe(`https://${gateway.address}`);
    expect(await shown(gateway, "localhost")).toBe("first");
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    await expect(fetch(`http://${gateway.address}/healthz`)).rejects.toThrow();
    const heard = Promise.withResolvers<string>();
    await using session = connect(gateway.url, { place: "here" });
    await session.channel("a").subscribe(bytes => heard.resolve(new TextDecoder().decode(bytes)));
    await using other = connect(gateway.url, { place: "here" });
    const producer = await other.channel("a").produce();
    await producer.publishSync(new TextEncoder().encode("hello"));
    expect(await heard.promise).toBe("hello");
  });

  test("a certificate that is exchanged in its files is shown to new connections, and the open ones go on", async () => {
    trustAll();
    const log: string[] = [];
    const { tls, put } = await tlsFiles(selfSigned("first"));
    await using gateway = await createGateway({ server, tls, log: lineLog(line => log.push(line)) });
    const before = connect(`https://localhost:${gateway.port}`, { place: "here" });
    const states: string[] = [];
    before.onStatus(({ state }) => states.push(state));
    const heard: string[] = [];
    await before.channel("a").subscribe(bytes => heard.push(new TextDecoder().decode(bytes)));
    await put(selfSigned("second"));
    for (const name of ["localhost", "viewer.example", "a.b.viewer.example"])
      await expect.poll(() => shown(gateway, name)).toBe("second");
    await using after = connect(`https://localhost:${gateway.port}`, { place: "here" });
    const producer = await after.channel("a").produce();
    await producer.publishSync(new TextEncoder().encode("hello"));
    expect(heard).toEqual(["hello"]);
    expect(states.filter(state => state !== "connecting")).toEqual(["live"]);
    // What cannot be used is not shown to anybody.
    await writeFile(tls.certFile, "nonsense");
    await expect.poll(() => log.join("\n")).toContain("no key and certificate");
    expect(await shown(gateway, "localhost")).toBe("second");
    await put(selfSigned("third"));
    await expect.poll(() => shown(gateway, "localhost")).toBe("third");
    await before.close();
  });
});

test("a program that checks certificates does not connect to a gateway whose own nobody vouches for", async () => {
  const { tls } = await tlsFiles(selfSigned("first"));
  await using gateway = await createGateway({ tls });
  await using session = connect(gateway.url, { place: "here" });
  await expect.poll(() => session.status.error?.code).toBe("CONNECTION_LOST");
  expect(gateway.stats().connections).toBe(0);
});

test("modulators run beside a gateway with a certificate, too", async () => {
  trustAll();
  const { tls } = await tlsFiles(selfSigned("viewer.example"));
  await using gateway = await createGateway({ tls, modulating: startModulating });
  await using session = connect(gateway.url, { place: "here", modulators: { most: 0 } });
  await session.channel("a").produce();
  await using other = connect(gateway.url, { place: "here" });
  const consumer = await other.channel("a").subscribe(() => {}, { modulator: modulatorFrom(() => true) });
  expect(consumer.placements).toMatchObject([{ at: "gateway" }]);
});

test("a gateway does not start with a key and a certificate that cannot be used", async () => {
  const [one, other] = [selfSigned("one"), selfSigned("other")];
  const { tls: mixed } = await tlsFiles({ key: one.key, cert: other.cert });
  await expect(createGateway({ tls: mixed })).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
  const missing = { ...mixed, keyFile: "/there/is/none" };
  await expect(createGateway({ tls: missing })).rejects.toMatchObject({ code: "ARGUMENT_INVALID" });
});
