// A stranger who tries to take more of a gateway than it may.
import { setPriority } from "node:os";
import { FLOODS, PUSHES } from "../hostile/pushes.ts";
import { Stranger } from "../hostile/stranger.ts";
import { serve } from "../worker.ts";

export interface Pushing {
  readonly port: number;
  readonly token: string;
  /** Name of one of `PUSHES` or `FLOODS`. */
  readonly name: string;
  readonly ms: number;
}

// Strangers have machines of their own: here they get the processor time that nobody else wants.
setPriority(19);

const open = new Set<Stranger>();

serve({
  /** Pushes for so long; what it has opened stays until it leaves. */
  async push({ port, token, name, ms }: Pushing) {
    const act = PUSHES[name] ?? FLOODS[name];
    if (act === undefined) throw new Error(`nobody knows how to push ${name}`);
    const until = performance.now() + ms;
    await act({
      isOver: () => performance.now() >= until,
      async connect() {
        for (const one of open) if (one.isClosed) open.delete(one);
        const stranger = await Stranger.open(port, token);
        open.add(stranger);
        return stranger;
      },
    });
  },
  leave() {
    for (const stranger of open) stranger.close();
    open.clear();
  },
});
