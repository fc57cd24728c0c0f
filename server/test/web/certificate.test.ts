import { rename, writeFile } from "node:fs/promises";
import { selfSigned, tlsFiles } from "@jecho/e2e/self-signed";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Certificate } from "../../src/web/certificate.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Has the files looked at once, and waits until the next look has been set for. */
async function look(): Promise<void> {
  vi.advanceTimersToNextTimer();
  await expect.poll(() => vi.getTimerCount()).toBe(1);
}

test("a certificate that is exchanged before anybody follows it is noticed, and once", async () => {
  const [first, second] = [selfSigned("first"), selfSigned("second")];
  const { tls, put } = await tlsFiles(first);
  const log: string[] = [];
  const certificate = await Certificate.open(tls, line => log.push(line));
  expect(certificate.texts).toEqual(first);
  await put(second);
  const shown: unknown[] = [];
  const end = certificate.follow(({ texts }) => shown.push(texts));
  for (let i = 0; i < 3; i++) await look();
  expect(shown).toEqual([second]);
  expect(log).toEqual(["new connections are shown a new certificate"]);
  end();
  expect(vi.getTimerCount()).toBe(0);
});

test("files that stay unusable are complained of once, and again when they have been usable", async () => {
  const [first, second] = [selfSigned("first"), selfSigned("second")];
  const { tls, put } = await tlsFiles(first);
  const log: string[] = [];
  const certificate = await Certificate.open(tls, line => log.push(line));
  const shown: unknown[] = [];
  const end = certificate.follow(({ texts }) => shown.push(texts));
  const spoil = async (): Promise<void> => {
    await writeFile(`${tls.certFile}.new`, "nonsense");
    await rename(`${tls.certFile}.new`, tls.certFile);
    for (let i = 0; i < 3; i++) await look();
  };
  await spoil();
  expect(log).toEqual([expect.stringMatching(/no key and certificate .*; the former one goes on/)]);
  expect(certificate.texts).toEqual(first);
  await put(second);
  await look();
  await spoil();
  expect(log.map(line => line.split(" ", 1)[0])).toEqual([tls.keyFile, "new", tls.keyFile]);
  expect(shown).toEqual([second]);
  end();
});
