import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { expect, onTestFinished } from "vitest";

/** So many gateways in one cluster, once all of them know one another. */
export async function startCluster(count: number, options: GatewayOptions = {}): Promise<Gateway[]> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const secretFile = join(folder, "secret");
  await writeFile(secretFile, "a secret of the cluster's own\n");
  const members = await freeAddresses(count);
  const gateways = await Promise.all(
    members.map(self => createGateway({ ...options, cluster: { members, self, secretFile } })),
  );
  onTestFinished(async () => void (await Promise.all(gateways.map(gateway => gateway.close()))));
  await expect
    .poll(() => gateways.map(gateway => gateway.stats().gateways), { interval: 5, timeout: 20_000 })
    .toEqual(gateways.map(() => count));
  return gateways;
}

/** Addresses that nothing listens at. */
async function freeAddresses(count: number): Promise<string[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const addresses = await Promise.all(
    servers.map(
      server =>
        new Promise<string>(resolve => {
          server.listen(0, "127.0.0.1", () => {
            const address = server.address();
            if (typeof address === "object") resolve(`127.0.0.1:${address?.port}`);
          });
        }),
    ),
  );
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))));
  return addresses;
}
