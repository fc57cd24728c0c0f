// Many sessions of the library, each with a connection and a consumer: they come back when their gateway has gone and is there again.
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "@jecho/client";
import { serve } from "../worker.ts";

export interface OpenSessions {
  readonly port: number;
  readonly sessions: number;
  /** Number of this part among all of them. */
  readonly part: number;
}

const CHANNEL = "connections/silence";
const OPEN_AT_ONCE = 50;
const LOOK_MS = 20;
/** The last number of an address is not 0 and not 255. */
const LAST_NUMBERS = 250;

let wanted = 0;
/** Sessions that have lost their gateway and found it again. */
let back = 0;

/** On Linux each session has an address of the gateway of its own. */
function addressOf(part: number, session: number): string {
  if (process.platform !== "linux") return "127.0.0.1";
  return `127.${1 + part}.${Math.floor(session / LAST_NUMBERS)}.${1 + (session % LAST_NUMBERS)}`;
}

/** @param name so that no two share a connection */
async function open(address: string, name: string): Promise<void> {
  const consumer = await connect(address, { place: "here", name })
    .channel(CHANNEL)
    .subscribe(() => {});
  let wasAway = false;
  let isBack = false;
  consumer.onStatus(({ state }) => {
    if (state !== "live") wasAway = true;
    else if (wasAway && !isBack) {
      isBack = true;
      back++;
    }
  });
}

serve({
  async open({ port, part, sessions }: OpenSessions) {
    wanted = sessions;
    let next = 0;
    const chain = async (): Promise<void> => {
      for (let session = next++; session < wanted; session = next++)
        await open(`${addressOf(part, session)}:${port}`, `session ${session}`);
    };
    await Promise.all(Array.from({ length: OPEN_AT_ONCE }, chain));
  },
  /** Waits until all have lost their gateway and are back. */
  async back() {
    while (back < wanted) await delay(LOOK_MS);
  },
});
