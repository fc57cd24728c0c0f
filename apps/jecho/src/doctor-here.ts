import { connect, modulatorFrom, type } from "@jecho/client";
import type { Finding } from "./doctor.ts";

interface TestGateway {
  readonly address: string;
  close(): Promise<void>;
}

/** Starts a gateway for this machine, at a free port. */
export type SelfTest = () => Promise<TestGateway>;

const PATIENCE_MS = 20_000;

/** Tries what JEcho does, in small, on this machine alone: a gateway, a producer, and a modulator that nobody vouches for. */
export async function modulatorsHere(start: SelfTest, tell: (finding: Finding) => void): Promise<void> {
  let gateway: TestGateway;
  try {
    gateway = await start();
    tell({ check: "server", state: "ok", says: "a gateway runs here" });
  } catch (error) {
    const todo = "clients run here all the same; a gateway needs another platform or Node";
    return tell({ check: "server", state: "failure", says: (error as Error).message, todo });
  }
  try {
    tell(await tryModulator(gateway.address));
  } finally {
    await gateway.close();
  }
}

async function tryModulator(address: string): Promise<Finding> {
  const check = "modulators";
  const session = connect(address, { place: "here", name: "jecho doctor" });
  const channel = session.channel("doctor", type("Doctor", { n: "uint32" }));
  const producer = await channel.produce();
  const seen = Promise.withResolvers<number>();
  const late = setTimeout(() => seen.reject(new Error("no event came through the modulator")), PATIENCE_MS);
  try {
    // A text that nobody knows, and that does not compile, goes to the host, behind its wall.
    await channel.subscribe(({ n }) => seen.resolve(n), {
      modulator: modulatorFrom(event => /^2$/.test(String(event.n))),
    });
    for (const n of [1, 2]) producer.publish({ n });
    if ((await seen.promise) !== 2) throw new Error("the modulator let the wrong event through");
    const places = (await session.overview()).of[0]?.derived[0]?.places ?? [];
    const where = places
      .map(({ at, tier }) => `with the ${at}${tier === undefined ? "" : ` (${tier})`}`)
      .join(", ");
    return { check, state: "ok", says: `a modulator ran ${where}` };
  } catch (error) {
    const todo = "look whether child processes may be started here, and whether memory is short";
    return { check, state: "failure", says: (error as Error).message, todo };
  } finally {
    clearTimeout(late);
    await session.close();
  }
}
