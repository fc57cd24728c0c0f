import { randomInt } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectOptions, connect, type Session } from "@jecho/client";
import { createGateway, type Gateway, type GatewayOptions } from "@jecho/server";
import { expect, inject, onTestFinished } from "vitest";
import { PATIENT, PATIENT_GATEWAY } from "../rig.ts";

/** Real gateways that share channels, and sessions at them, which end with the test. */
export class ClusterRig {
  readonly gateways: Gateway[] = [];
  readonly #options: GatewayOptions;
  readonly #members: readonly string[];
  readonly #secretFile: string;
  readonly #sessions: Session[] = [];

  /** Made by `start`. */
  private constructor(options: GatewayOptions, members: readonly string[], secretFile: string) {
    this.#options = options;
    this.#members = members;
    this.#secretFile = secretFile;
  }

  /** So many gateways, once all of them know one another. */
  static async start(count: number, options: GatewayOptions = {}): Promise<ClusterRig> {
    const folder = await mkdtemp(join(tmpdir(), "jecho-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const secretFile = join(folder, "secret");
    await writeFile(secretFile, "a secret of the cluster's own\n");
    const members: string[] = [];
    while (members.length < count) members.push(`127.0.0.1:${await freePort()}`);
    const rig = new ClusterRig(options, members, secretFile);
    onTestFinished(() => rig.#end());
    await Promise.all(members.map((_, index) => rig.begin(index)));
    await rig.allPresent();
    return rig;
  }

  /** Starts a gateway, at the port of its predecessor if it had one. */
  async begin(index: number): Promise<void> {
    const self = this.#members[index] as string;
    const port = this.gateways[index]?.port ?? 0;
    const cluster = { members: this.#members, self, secretFile: this.#secretFile };
    this.gateways[index] = await createGateway({ ...PATIENT_GATEWAY, ...this.#options, port, cluster });
  }

  /** Resolves when each gateway knows so many of them; by default all. */
  async allPresent(count = this.#members.length): Promise<void> {
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

/** A port that nothing listens at, below those that the system gives to whoever asks for any. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>(resolve => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise(resolve => server.close(resolve));
    return port;
  }
}
