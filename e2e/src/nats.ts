import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findNatsServer, NatsServer, NoNatsServer } from "@jecho/atmosphere/nats-server";

/** Why tests with NATS are skipped here, said once; undefined where they can run. */
export async function whyNoNats(): Promise<string | undefined> {
  try {
    await findNatsServer();
    return undefined;
  } catch (error) {
    if (!(error instanceof NoNatsServer)) throw error;
    console.warn(`tests with NATS are skipped: ${error.message}`);
    return error.message;
  }
}

/** A NATS server that can be ended and started again at the same port, with what it has stored. */
export class TestNats {
  readonly #folder: string;
  readonly #config: string | undefined;
  #server: NatsServer;

  private constructor(folder: string, server: NatsServer, config: string | undefined) {
    this.#folder = folder;
    this.#server = server;
    this.#config = config;
  }

  /** @param config a file with more settings */
  static async start(config?: string): Promise<TestNats> {
    const folder = await mkdtemp(join(tmpdir(), "jecho-nats-"));
    const options = { folder, port: await freePort(), ...(config !== undefined && { config }) };
    return new TestNats(folder, await NatsServer.start(options), config);
  }

  get address(): string {
    return this.#server.address;
  }

  /** Ends it as a crash would. */
  kill(): Promise<void> {
    return this.#server.stop();
  }

  async restart(): Promise<void> {
    const { port } = this.#server;
    const config = this.#config === undefined ? {} : { config: this.#config };
    this.#server = await NatsServer.start({ folder: this.#folder, port, ...config });
  }

  /** Stops it in its tracks, or lets it go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#server.child.kill(signal);
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A port that nothing listens at, below those that the system gives to whoever asks for any. */
export async function freePort(): Promise<number> {
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
