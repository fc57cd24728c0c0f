import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, TestNats } from "@jecho/e2e/nats";
import { expect, onTestFinished } from "vitest";
import type { Interconnect } from "../../src/cluster/interconnect.ts";
import { type GatewayClusterOptions, openInterconnect } from "../../src/cluster/open-interconnect.ts";
import type { CarrierEvents, TrunkCarrier } from "../../src/cluster/trunk-carrier.ts";

/** Most bytes of a frame. */
export const LIMIT_BYTES = 4 << 20;

/** One end of a carrier: the messages that came, and what else happened. */
export class End {
  readonly carrier: TrunkCarrier;
  readonly messages: Uint8Array[] = [];
  drained = 0;
  hasEnded = false;

  constructor(carrier: TrunkCarrier) {
    this.carrier = carrier;
  }

  get events(): CarrierEvents {
    return {
      message: message => void this.messages.push(message),
      drained: () => void this.drained++,
      ended: () => {
        this.hasEnded = true;
      },
    };
  }
}

/** A gateway's interconnect, and what it told. */
export class Joined {
  readonly interconnect: Interconnect;
  readonly members = new Set<number>();
  /** The newest carriers to and from each other gateway. */
  readonly opened = new Map<number, End>();
  readonly accepted: End[] = [];
  /** What became of its own membership, in order. */
  readonly history: string[] = [];
  readonly lines: string[];

  private constructor(interconnect: Interconnect, lines: string[]) {
    this.interconnect = interconnect;
    this.lines = lines;
  }

  /** @param hasFile whether it keeps histories in a file */
  static async open(options: GatewayClusterOptions, hasFile = false): Promise<Joined> {
    const lines: string[] = [];
    const log = (line: string): void => void lines.push(line);
    const joined = new Joined(await openInterconnect(options, hasFile, log), lines);
    onTestFinished(() => joined.interconnect.stop());
    await joined.interconnect.start({
      came: index => void joined.members.add(index),
      left: index => void joined.members.delete(index),
      opened: (index, carrier) => {
        const end = new End(carrier);
        joined.opened.set(index, end);
        return end.events;
      },
      accepted: (_, carrier) => {
        const end = new End(carrier);
        joined.accepted.push(end);
        return end.events;
      },
      parted: () => void joined.history.push("parted"),
      rejoined: wasReplaced => void joined.history.push(wasReplaced ? "replaced" : "rejoined"),
      expelled: () => void joined.history.push("expelled"),
    });
    return joined;
  }

  get self(): number {
    return this.interconnect.self;
  }

  /** The carrier that this gateway has opened to another one, once both ends are there. */
  async wayTo(other: Joined): Promise<{ near: End; far: End }> {
    const near = (): End | undefined => this.opened.get(other.self);
    const far = (): End | undefined => other.accepted.at(-1);
    await expect.poll(() => near()?.hasEnded === false && far()?.hasEnded === false).toBe(true);
    return { near: near() as End, far: far() as End };
  }
}

/** Options for so many gateways of one cluster. */
export type ClusterMaker = (count: number) => Promise<readonly GatewayClusterOptions[]>;

export const SECRET = "a secret of the cluster's own";

/** Gateways by a list of addresses. @param secrets one for each where they differ */
export async function listed(
  count: number,
  secrets: readonly string[] = [],
): Promise<readonly (GatewayClusterOptions & { readonly self: string })[]> {
  const folder = await mkdtemp(join(tmpdir(), "jecho-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const members: string[] = [];
  while (members.length < count) members.push(`127.0.0.1:${await freePort()}`);
  return Promise.all(
    members.map(async (self, i) => {
      const secretFile = join(folder, String(i));
      await writeFile(secretFile, secrets[i] ?? SECRET);
      return { members, self, secretFile };
    }),
  );
}

/** Gateways by a NATS server of their own. */
export async function byNats(count: number): Promise<readonly GatewayClusterOptions[]> {
  const nats = await TestNats.start();
  onTestFinished(() => nats.stop());
  return Array.from({ length: count }, () => ({ nats: { servers: [nats.address] } }));
}
