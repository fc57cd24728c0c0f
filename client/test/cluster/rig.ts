import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectOptions, connect, type Session } from "@jecho/client";
import { freePort, TestNats } from "@jecho/e2e/nats";
import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { expect, inject, onTestFinished } from "vitest";
import { PATIENT, PATIENT_GATEWAY } from "../rig.ts";

/** How gateways find and reach one another. */
export type Joining = "TCP" | "NATS";

type ClusterOptions = NonNullable<GatewayOptions["cluster"]>;

/** Real gateways that share channels, and sessions at them, which end with the test. */
export class ClusterRig {
  readonly gateways: Gateway[] = [];
  readonly nats: TestNats | undefined;
  readonly #options: (index: number) => GatewayOptions;
  readonly #clusters: readonly ClusterOptions[];
  readonly #sessions: Session[] = [];

  /** Made by `start`. */
  private constructor(
    options: GatewayOptions | ((index: number) => GatewayOptions),
    clusters: readonly ClusterOptions[],
    nats?: TestNats,
  ) {
    this.#options = typeof options === "function" ? options : () => options;
    this.#clusters = clusters;
    this.nats = nats;
  }

  /** So many gateways, once all of them know one another. */
  static async start(
    count: number,
    joining: Joining,
    options: GatewayOptions | ((index: number) => GatewayOptions) = {},
  ): Promise<ClusterRig> {
    const rig = await (joining === "TCP" ? listed() : byNats());
    onTestFinished(() => rig.#end());
    await Promise.all(Array.from({ length: count }, (_, index) => rig.begin(index)));
    await rig.allPresent();
    return rig;

    async function listed(): Promise<ClusterRig> {
      const folder = await mkdtemp(join(tmpdir(), "jecho-"));
      onTestFinished(() => rm(folder, { recursive: true }));
      const secretFile = join(folder, "secret");
      await writeFile(secretFile, "a secret of the cluster's own\n");
      const members: string[] = [];
      while (members.length < count) members.push(`127.0.0.1:${await freePort()}`);
      return new ClusterRig(
        options,
        members.map(self => ({ members, self, secretFile })),
      );
    }

    async function byNats(): Promise<ClusterRig> {
      const nats = await TestNats.start();
      onTestFinished(() => nats.stop());
      return new ClusterRig(options, Array(count).fill({ nats: { servers: [nats.address] } }), nats);
    }
  }

  /** Starts a gateway, at the port of its predecessor if it had one. */
  async begin(index: number): Promise<void> {
    const port = this.gateways[index]?.port ?? 0;
    const cluster = this.#clusters[index] as ClusterOptions;
    this.gateways[index] = await createGateway({
      ...PATIENT_GATEWAY,
      ...this.#options(index),
      port,
      cluster,
    });
  }

  /** Resolves when each gateway knows so many of them; by default all. */
  async allPresent(count = this.#clusters.length): Promise<void> {
    const known = (): number[] =>
      this.gateways.map(gateway => gateway.stats().gateways).filter(gateways => gateways === count);
    await expect.poll(() => known().length, { interval: 5 }).toBeGreaterThanOrEqual(count);
  }

  /** A session at one of them; the others are known to it. */
  session(index: number, options: ConnectOptions = {}): Session {
    const [first, ...others] = [...this.gateways.slice(index), ...this.gateways.slice(0, index)].map(
      ({ address }) => address,
    );
    const session = connect(first as string, {
      place: inject("place"),
      backoff: { firstMs: 20, mostMs: 100 },
      name: `session ${this.#sessions.length}`,
      others,
      ...options,
      modulators: { ...PATIENT, ...options.modulators },
    });
    this.#sessions.push(session);
    return session;
  }

  async #end(): Promise<void> {
    await Promise.all(this.#sessions.map(session => session.close()));
    await Promise.all(this.gateways.map(gateway => gateway.close()));
  }
}
