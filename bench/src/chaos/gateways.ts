import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestNats } from "@jecho/e2e/nats";
import { freePort } from "../processes.ts";
import type { ChaosGatewayOptions } from "../workers/chaos-gateway.ts";
import { Cutter } from "./cutter.ts";
import { GatewayParty } from "./gateway-party.ts";

/** A way between two gateways, or between one and the server that joins them. */
export interface Between {
  readonly ends: readonly GatewayParty[];
  readonly cutter: Cutter;
}

/** Gateways, and the ways between them. */
export interface Gathering {
  readonly gateways: readonly GatewayParty[];
  readonly between: readonly Between[];
}

export async function startGateways(
  folder: string,
  nats: TestNats | undefined,
  count: number,
  options: Pick<ChaosGatewayOptions, "checksums" | "resumeWindowMs" | "modulates" | "tokens">,
): Promise<Gathering> {
  const secretFile = join(folder, "secret");
  await writeFile(secretFile, "a secret of this cluster");
  const all = await freePorts(2 * count);
  const [ports, trunks] = [all.slice(count), all.slice(0, count)];
  const members = trunks.map(port => `127.0.0.1:${port}`);
  const ways: { from: number; to: number | undefined; cutter: Cutter }[] = [];
  for (const from of trunks.keys()) {
    if (nats !== undefined)
      ways.push({
        from,
        to: undefined,
        cutter: await Cutter.start(Number(new URL(`nats://${nats.address}`).port)),
      });
    else
      for (const [to, port] of trunks.entries())
        if (from !== to) ways.push({ from, to, cutter: await Cutter.start(port) });
  }
  const optionsOf = (of: number): Partial<ChaosGatewayOptions> => {
    const own = ways.filter(({ from }) => from === of);
    if (nats !== undefined)
      return { cluster: { nats: { servers: own.map(({ cutter }) => `127.0.0.1:${cutter.port}`) } } };
    if (count === 1) return { historyFile: historyFileIn(folder) };
    return {
      cluster: { members, self: members[of] as string, secretFile },
      ways: Object.fromEntries(own.map(({ to, cutter }) => [trunks[to as number], cutter.port])),
    };
  };
  const gateways = await Promise.all(
    ports.map((port, i) => GatewayParty.start({ ...options, heartbeatMs: 1000, ...optionsOf(i) }, port)),
  );
  const between = ways.map(({ from, to, cutter }) => ({
    ends: [from, ...(to === undefined ? [] : [to])].map(i => gateways[i] as GatewayParty),
    cutter,
  }));
  return { gateways, between };
}

/** Each another one. */
async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

/** The file for histories in a world's folder. */
export function historyFileIn(folder: string): string {
  return join(folder, "history.sqlite");
}
