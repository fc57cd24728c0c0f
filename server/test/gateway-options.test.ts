import { createGateway, type GatewayOptions } from "@jecho/server";
import { expect, test } from "vitest";

test.each<[options: unknown, message: string]>([
  [5, "createGateway(): its options are an object, not a number"],
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
  [{ host: "203.0.113.7" }, "this machine has no address 203.0.113.7"],
  [{ host: "203.0.113.7", port: 8080 }, "this machine has no address 203.0.113.7"],
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
