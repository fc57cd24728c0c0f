// A gateway that knows how long the turns of its event loop are, in time of its process, which does not depend on what else the machine does.
import { createGateway, type Gateway } from "@jecho/server";
import { serve } from "../worker.ts";

let gateway: Gateway;
let longestUs = 0;
let isWatched = false;

function usedUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

function watch(before: number): void {
  const now = usedUs();
  longestUs = Math.max(longestUs, now - before);
  if (isWatched) setImmediate(() => watch(now));
}

serve({
  async listen() {
    gateway = await createGateway();
    return gateway.port;
  },
  watch() {
    longestUs = 0;
    isWatched = true;
    watch(usedUs());
  },
  /** Milliseconds of the longest turn since it is watched, which it is no longer. */
  longest() {
    isWatched = false;
    return longestUs / 1000;
  },
});
