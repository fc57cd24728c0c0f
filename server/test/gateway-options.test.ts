import { createGateway, createTokenKeys, type GatewayOptions } from "@jecho/server";
import { expect, test } from "vitest";

test.each<[options: unknown, message: string]>([
  [5, "createGateway(): options is 5; an object is wanted"],
  [{ origin: [] }, 'createGateway() has no option "origin"; did you mean "origins"?'],
  [{ port: "8080" }, "port is 8080; a whole number from 0 to 65535 is wanted"],
  [{ port: 65_536 }, "port is 65536; a whole number from 0 to 65535 is wanted"],
  [{ heartbeatMs: 0 }, "heartbeatMs is 0; a whole number from 1 to 2147483647 is wanted"],
  [{ drainMs: Number.NaN }, "drainMs is NaN; a whole number from 0 to 2147483647 is wanted"],
  [{ historyBytes: -1 }, `historyBytes is -1; a whole number from 0 to ${Number.MAX_SAFE_INTEGER} is wanted`],
  [{ origins: "http://a" }, "origins are a list, not a string"],
  [{ origins: ["viewer"] }, '"viewer" is no origin; one is like https://viewer.example'],
  [{ origins: ["localhost:5173"] }, '"localhost:5173" is no origin; one is like https://viewer.example'],
  [{ origins: ["http://A:80/b"] }, '"http://A:80/b" is no origin; did you mean http://a?'],
  [{ path: "jecho" }, '"jecho" is no path; one is like /jecho'],
  [{ path: "/" }, '"/" is no path; one is like /jecho'],
  [{ staticFolder: "/there/is/none" }, "the folder of files to serve: ENOENT"],
  [{ tokens: { keys: { keys: [] } } }, "the keys for tokens cannot be read"],
  [
    { tokens: { keys: "keys.pub", issuers: [] } },
    'no option "tokens.issuers"; did you mean "tokens.issuer"?',
  ],
  [{ tokens: { keys: "keys.pub", clockSkewMs: -1 } }, "tokens.clockSkewMs is -1"],
  [{ tls: { keyFile: "key.pem" } }, "no key and certificate that can be used"],
  [{ auditFile: "/there/is/none" }, "the audit log cannot be written"],
  [{ log: () => {} }, 'log has no function "debug"; an object with debug, info, warn, error is wanted'],
  [{ host: "0.0.0.0" }, "without keys for tokens whoever does may do anything"],
  [{ host: "::" }, "without keys for tokens whoever does may do anything"],
  [{ host: "127.evil.example" }, "without keys for tokens whoever does may do anything"],
  [{ host: "203.0.113.7", open: true }, "this machine has no address 203.0.113.7"],
  [{ host: "203.0.113.7", open: true, port: 8080 }, "this machine has no address 203.0.113.7"],
])("what is no option of a gateway's is refused by name: %o", async (options, message) => {
  await expect(createGateway(options as GatewayOptions)).rejects.toMatchObject({
    code: "ARGUMENT_INVALID",
    message: expect.stringContaining(message),
  });
});

test("options that are left undefined are as if left out", async () => {
  await using gateway = await createGateway({
    port: undefined,
    origins: undefined,
    log: undefined,
  } as object);
  expect(gateway.port).toBeGreaterThan(0);
});

test("a gateway without keys listens elsewhere than on its own machine only where that is said to be meant", async () => {
  const { checking } = await createTokenKeys();
  const allowed: GatewayOptions[] = [
    { host: "127.0.0.1" },
    { host: "127.0.0.2" },
    { host: "localhost" },
    { host: "0.0.0.0", open: true },
    { host: "0.0.0.0", tokens: { keys: checking } },
  ];
  for (const options of allowed) {
    await using gateway = await createGateway(options);
    expect(
      (await fetch(`http://127.0.0.${options.host === "127.0.0.2" ? 2 : 1}:${gateway.port}/healthz`)).status,
    ).toBe(200);
  }
});
